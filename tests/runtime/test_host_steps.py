"""Steps that the host computes, between kernels."""

import numpy as np
import pytest
from drawn import drawn, same, shown
from judged import each_error, error_passes, raises, unchanged

import tinyjax as jax
from tinyjax import lax
from tinyjax.core.bind import Primitive
from tinyjax.runtime.devices import Device
from tinyjax.runtime.memory import Memory
from tinyjax.runtime.numpy_queue import NumpyQueue
from tinyjax.runtime.step_program import HostStep


class ListeningQueue(NumpyQueue):
    """Where NumPy computes; `heard` lists the calls."""

    def __init__(self):
        super().__init__(Device("cpu", 0, "NumPy"))
        self.heard = []

    def upload(self, array):
        self.heard.append("upload")
        return super().upload(array)

    def read(self, memory):
        self.heard.append("read")
        return super().read(memory)


def run(function, *args):
    """The step of the one equation of a function, run: its queue, and all slots."""
    (eqn,) = jax.make_jaxpr(function)(*args).eqns
    queue = ListeningQueue()
    slots = [Memory(queue, None, x, x.shape, x.dtype, None) for x in map(np.asarray, args)]
    outputs = range(len(args), len(args) + len(eqn.outvars))
    step = HostStep(eqn, list(range(len(args))), list(outputs))
    slots += [None] * len(eqn.outvars)
    step.run(queue, slots)
    return queue, slots


X = np.float32([[3.0, 1.0, 2.0], [0.0, -1.0, 5.0]])


def test_a_host_step_reads_its_operands_computes_and_brings_the_result_back():
    queue, (_, out) = run(lax.cumsum, X)
    assert queue.heard == ["read", "upload"]
    np.testing.assert_array_equal(out.host, np.cumsum(X, axis=0))


def test_each_of_several_results_has_its_slot():
    _, slots = run(lambda x, y: lax.sort((x, y), num_keys=1), X, 10 * X)
    keys, values = [memory.host for memory in slots[2:]]
    np.testing.assert_array_equal(keys, np.sort(X))
    np.testing.assert_array_equal(values, 10 * np.sort(X))


def test_a_value_may_be_each_of_two_operands():
    (eqn,) = jax.make_jaxpr(lax.mul)(X, X).eqns
    queue = ListeningQueue()
    slots = [Memory(queue, None, X, X.shape, X.dtype, None), None]
    HostStep(eqn, [0, 0], [1]).run(queue, slots)
    np.testing.assert_array_equal(slots[1].host, X * X)


def of_ones_own(impl, **options):
    """A function that binds a primitive with this impl rule; its results have the type of its operand."""
    primitive = Primitive("of_ones_own", **options)
    primitive.def_impl(impl)
    primitive.def_abstract_eval(lambda aval: aval)
    return primitive.bind


def test_a_result_is_copied_if_it_is_a_view_of_an_operand_and_else_not():
    _, (operand, out) = run(lambda x: lax.transpose(x, (1, 0)), X)
    np.testing.assert_array_equal(out.host, X.T)
    assert not np.may_share_memory(out.host, operand.host)

    made = X + 1
    _, (_, out) = run(of_ones_own(lambda x: made), X)
    assert out.host is made, "this is no view of an operand, and must not be copied"
    _, (operand, out) = run(of_ones_own(lambda x: x[1:].T[None]), X)
    assert not np.may_share_memory(out.host, operand.host), "nor is a part of it"
    _, (operand, out) = run(of_ones_own(lambda x: x[1:]), X[:])
    assert not np.may_share_memory(out.host, operand.host), "where the operand is a view itself"


def test_numpy_says_nothing_of_what_is_no_number():
    with np.errstate(all="raise"):
        _, (_, out) = run(lax.log, X)
    assert np.isnan(out.host[1, 1])
    with np.errstate(all="raise"):
        for sign, want in [(1000, np.inf), (-1000, 0)]:
            _, (_, out) = run(lax.exp, np.full(3, sign, np.float32))
            np.testing.assert_array_equal(out.host, np.full(3, want))


def test_a_number_is_an_array_too():
    _, (_, out) = run(of_ones_own(lambda x: np.float32(2.0)), np.float32(1.0))
    assert isinstance(out.host, np.ndarray) and out.host.shape == ()


def test_a_primitive_that_takes_arrays_gets_them_in_memory_of_their_own():
    def impl(x):
        operands.append(x)
        results.append(np.asarray(x) + 1)
        return results[0]

    operands, results = [], []
    _, (operand, out) = run(of_ones_own(impl, impl_binds_primitives=True), X)
    np.testing.assert_array_equal(out.host, X + 1)
    assert isinstance(operands[0], jax.Array)
    assert not np.may_share_memory(np.asarray(operands[0]), operand.host)
    assert not np.may_share_memory(out.host, results[0]), "the user may change what the user made"
    primitive = Primitive("pair", multiple_results=True)
    primitive.def_impl(lambda x: [x, x + 1])
    primitive.def_abstract_eval(lambda x: [x, x])
    primitive.impl_binds_primitives = True
    _, (_, *outs) = run(primitive.bind, X)
    np.testing.assert_array_equal([out.host for out in outs], [X, X + 1])


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_view_of_any_operand_is_copied_and_so_is_each_of_several_results(number):
    primitive = Primitive("views", multiple_results=True)
    primitive.def_impl(lambda *xs: [xs[number][:], made, xs[number].T])
    primitive.def_abstract_eval(lambda *avals: [avals[0]] * 3)
    made, args = np.ones((2, 2), np.float32), [np.full((2, 2), k, np.float32) for k in range(3)]
    with unchanged(args=args):
        _, slots = run(primitive.bind, *args)
    outs = slots[3:]
    for out in (outs[0], outs[2]):
        assert not any(np.may_share_memory(out.host, slot.host) for slot in slots[:3]), (
            f"operand {number} of three is viewed: its memory will be used again"
        )
        np.testing.assert_array_equal(out.host, args[number])
    assert outs[1].host is made, "what is no view is brought there as it is"


@each_error
def test_an_error_of_an_impl_rule_goes_on(error):
    with error_passes(error()) as raised:
        run(of_ones_own(raises(raised)), X)


def test_operands_of_any_dtype_are_read_in_order_with_the_parameters():
    seen = []
    primitive = Primitive("noting", multiple_results=True)
    primitive.def_impl(
        lambda *xs, **params: seen.append((*(x.dtype.name for x in xs), params)) or []
    )
    primitive.def_abstract_eval(lambda *avals, **params: [])
    args = np.ones(2, np.float16), np.ones((0, 1), np.int8), np.array(True)
    queue, _ = run(lambda *xs: primitive.bind(*xs, scale=2), *args)
    assert seen == [("float16", "int8", "bool", {"scale": 2})] and queue.heard == ["read"] * 3


@drawn(20, most=6)
def test_drawn_rules_get_all_operands_and_parameters_and_no_result_is_a_view(rng, most):
    """A result may be an operand, a part of one, a new array, or a number of Python or of NumPy."""
    args = [rng.integers(0, 9, (2, 3)).astype("float32") for _ in range(most)]
    args[::2] = [rng.integers(0, 9, (3, 4)).astype("float32").T[::2] for _ in args[::2]]
    params = {f"p{n}": [n, None, 0, ""][n % 4] for n in range(rng.integers(0, 2 * most))}
    made, seen = np.full((2, 3), 7, np.float32), []
    choices = rng.integers(0, 6, most).tolist()
    of_users = bool(rng.integers(2))

    def result(kind, x):
        return [x, np.asarray(x)[1:], made, np.float32(5), 3.5, np.asarray(x).T][kind]

    def impl(*xs, **given):
        seen.append(([np.asarray(x).tolist() for x in xs], given))
        return [result(kind, xs[n]) for n, kind in enumerate(choices)]

    primitive = Primitive("drawn", multiple_results=True)
    primitive.def_impl(impl)
    primitive.def_abstract_eval(lambda *avals, **params: [*avals])
    primitive.impl_binds_primitives = of_users
    with shown(operands=most, params=params, kinds_of_results=choices, calls_users=of_users):
        _, slots = run(lambda *xs: primitive.bind(*xs, **params), *args)
        assert seen == [([x.tolist() for x in args], params)], f"the rule was called with {seen}"
        for n, (kind, memory) in enumerate(zip(choices, slots[most:], strict=True)):
            same(memory.host, result(kind, args[n]), f"result {n}", rtol=0)
            whose = [x for x in args if np.may_share_memory(memory.host, x)]
            assert not whose, f"result {n} is a view of operand {args.index(whose[0])}"
            assert of_users or kind != 2 or memory.host is made, "a new array is not copied"
