"""Bodies of control flow: functions as jaxprs."""

import gc
import weakref

from judged import each_error, error_passes, raises, unchanged

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.avals import get_aval
from tinyjax.core.bodies import trace_body
from tinyjax.core.tree_util import tree_structure
from tinyjax.lax.control_flow.bodies import fixed_point, with_common_consts

X = jnp.array([-1.0, 2.0, 3.0])


def traced(fun, *args):
    return trace_body(fun, tree_structure((args, {})), [get_aval(x) for x in args])


# ---- functions as jaxprs ----


def test_what_a_body_closes_over_is_its_first_argument():
    body, consts, _ = traced(lambda x: x + X, 1.0)
    assert [aval.shape for aval in body.in_avals] == [(3,), ()]
    assert body.consts == []
    assert consts[0] is X


def test_bodies_share_what_several_of_them_close_over():
    y = jnp.arange(2)
    bodies, consts, _ = zip(*[traced(lambda x: X * x, 1.0), traced(lambda x: (y, X + x), 1.0)])
    common, shared = with_common_consts(bodies, consts)
    assert {id(x) for x in shared} == {id(X), id(y)}
    assert [len(body.in_avals) for body in common] == [3, 3]


def test_bodies_may_read_the_same_values_in_different_orders():
    x, y = jnp.float32(10), jnp.float32(1)
    branches = lambda: x - y, lambda: y - x
    assert [float(lax.cond(pred, *branches)) for pred in (True, False)] == [9, -9]


def test_a_property_may_need_many_iterations_to_arrive():
    hand_on = lambda flags: (flags[0], *flags[:-1])  # noqa: E731
    assert fixed_point(hand_on, (True, *5 * [False])) == (True,) * 6
    assert fixed_point(hand_on, (True, *40 * [False])) == (True,) * 41


def test_what_a_part_of_the_carry_has_once_it_has_always():
    """Each step hands a property on to the next part."""
    step = lambda carry: (False, *carry[:-1])  # noqa: E731
    got = fixed_point(step, (False, True, False, False))
    assert got == (False, True, True, True), f"the second part has it, and hands it on: {got}"


@each_error
def test_an_error_of_the_step_goes_on(error):
    with error_passes(error()) as raised:
        fixed_point(raises(raised), (True, False))


def test_the_step_is_asked_until_nothing_is_added_and_each_time_with_flags():
    asked = []

    def step(flags):
        asked.append(flags)
        return [any(flags[:i]) for i in range(len(flags))]

    carry = (False, True, False, False)
    with unchanged(carry=carry):
        assert fixed_point(step, carry) == (False, True, True, True)
    assert asked == [carry, (False, True, True, True)]
    assert fixed_point(lambda flags: flags, ()) == ()
    assert fixed_point(lambda flags: [False] * 3, (False,) * 3) == (False,) * 3


# ---- a function is traced once ----


def counted():
    """A body, and the list of what it was called with."""
    calls = []

    def body(carry, x):
        calls.append(carry)
        return carry + 1, x

    return body, calls


def test_a_function_that_comes_again_is_not_traced_again():
    body, calls = counted()
    for init in (0.0, 1.0):
        lax.scan(body, init, None, length=3)
    assert len(calls) == 1


def test_other_types_of_arguments_are_traced_anew():
    body, calls = counted()
    for init in (0.0, 1):
        lax.scan(body, init, None, length=3)
    assert len(calls) == 2


def test_fori_loop_and_checkpoint_trace_a_function_once_too():
    body, calls = counted()
    for _ in range(2):
        lax.fori_loop(0, 3, lambda i, x: x, 0.0)
        jax.checkpoint(body)(1.0, 2.0)
    assert len(calls) == 1


def test_a_body_that_closes_over_a_traced_value_is_traced_each_time():
    holder = {}
    body = lambda carry, x: (carry + holder["y"], x)  # noqa: E731

    @jax.jit
    def f(y):
        holder["y"] = y
        return lax.scan(body, 0.0, None, length=3)[0]

    assert (f(1.0), f(2)) == (3.0, 6.0)


def test_what_is_remembered_of_a_function_dies_with_it():
    def body(i, x):
        return x + i

    alive = weakref.ref(body)
    lax.fori_loop(0, 3, body, 0.0)
    del body
    gc.collect()
    assert alive() is None
