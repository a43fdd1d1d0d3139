"""Which equations share a kernel, and which values are stored."""

import numpy as np
import pytest
from lowering import aval, softmax_like, stages, total

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.codegen.program import program_text
from tinyjax.compile.fusion import fuse as fuse_module
from tinyjax.compile.fusion.cost_model import CHEAP_WORK, MAX_TRIED
from tinyjax.compile.fusion.fuse import fuse
from tinyjax.compile.fusion.groups import HostGroup, KernelGroup
from tinyjax.compile.fusion.reduction_groups import variables
from tinyjax.compile.kernel.kernel_ir import Load
from tinyjax.compile.kernel.naive_loop import for_one_item
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.compile.target import CPU
from tinyjax.core.primitives import (
    add,
    broadcast_in_dim,
    cos,
    mul,
    neg,
    reshape,
    sin,
    sin_p,
    transpose,
)
from tinyjax.core.tracing import make_jaxpr


def test_a_chain_of_elementwise_equations_is_one_kernel():
    _, groups, _ = stages(
        lambda x: sin(mul(cos(x), add(x, 1.0))),
        aval(100),
    )
    assert [len(g.eqns) for g in groups] == [4]


@pytest.mark.parametrize("swapped", [False, True])
def test_what_computes_several_values_comes_before_all_that_read_them(swapped):
    def f(x):
        a, b = lax.split(x, (4, 4))
        a, b = (b, a) if swapped else (a, b)
        return add(mul(add(a, 1.0), b), cos(a))

    ((group,), _) = stages(f, aval(8))[1:]
    made = set(group.inputs)
    for eqn in group.eqns:
        assert made.issuperset(variables(eqn)), group.eqns
        made.update(eqn.outvars)


def test_what_argmin_looks_for_again_is_not_added_up_again():
    """Two sums of the same numbers, each in another order, may differ: then no element is the least."""
    jaxpr = make_jaxpr(lambda x: jnp.argmin(jnp.sqrt((x * x).sum(-1)), -1))(aval(5, 4, 3)).jaxpr
    sums, best = fuse(jaxpr, for_one_item(CPU))
    assert sums.outputs == best.inputs == [jaxpr.eqns[-1].invars[0]]


def test_a_short_sum_in_a_loop_has_the_same_bits_wherever_it_is_read():
    jaxpr = make_jaxpr(lambda x: (s := x.sum(-1)) == s.max())(aval(5, 3)).jaxpr
    (first, *_) = fuse(jaxpr, for_one_item(CPU))
    assert first.outputs == jaxpr.eqns[0].outvars


@pytest.mark.parametrize("size", [1000, 1_000_000])
def test_a_reduction_and_its_elementwise_inputs_are_one_kernel(size):
    v = aval(size)
    _, groups, kernels = stages(lambda x, y, z: total(add(x, mul(y, z))), v, v, v)
    assert len(groups) == len(kernels) == 1
    assert program_text(kernels).count("__kernel") == 1


def test_outputs_of_one_shape_share_a_kernel():
    _, groups, _ = stages(lambda x: (sin(x), add(sin(x), 1.0)), aval(100))
    assert [len(g.outputs) for g in groups] == [2]


def test_a_costly_value_that_a_broadcast_repeats_is_stored():
    _, groups, _ = stages(lambda x: broadcast_in_dim(sin(x), (100, 50), (1,)), aval(50))
    assert len(groups) == 2, "a hundred rows would each compute all sines"
    _, groups, _ = stages(lambda x: broadcast_in_dim(sin(x), (2, 50), (1,)), aval(50))
    assert len(groups) == 2, "two rows would each compute all sines"


def test_a_cheap_value_that_a_broadcast_repeats_is_computed_again():
    _, groups, _ = stages(lambda x: broadcast_in_dim(neg(x), (100, 50), (1,)), aval(50))
    assert len(groups) == 1


@pytest.mark.parametrize("more, kernels", [(0, 1), (1, 2)])
def test_what_takes_as_long_as_to_read_it_is_computed_again(more, kernels):
    def f(x):
        y = x
        for _ in range(CHEAP_WORK + more):
            y = add(y, x)
        return broadcast_in_dim(y, (100, 50), (1,))

    _, groups, _ = stages(f, aval(50))
    assert len(groups) == kernels


def test_a_costly_value_that_is_read_at_two_places_is_stored():
    def f(x):
        y = sin(x)
        return mul(reshape(transpose(y, (1, 0)), (16,)), reshape(y, (16,)))

    _, groups, _ = stages(f, aval(4, 4))
    assert len(groups) == 2, "each sine would be computed twice"
    (reason,) = groups[0].reasons
    assert isinstance(reason, str) and reason, f"the reason must be a text, not {reason!r}"


def test_a_costly_value_that_is_read_twice_at_one_place_is_not_stored():
    _, groups, _ = stages(lambda x: mul(sin(x), add(sin(x), 1.0)), aval(4, 4))
    assert [len(g.outputs) for g in groups] == [1], "a work-item has the sine for both"


def test_a_costly_value_that_is_read_once_at_another_place_is_not_stored():
    _, groups, _ = stages(lambda x: transpose(sin(x), (1, 0)), aval(4, 4))
    assert len(groups) == 1, "each sine is computed once anyway"


def test_a_costly_value_that_two_results_read_at_one_place_is_not_stored():
    _, groups, _ = stages(lambda x: (mul(sin(x), add(sin(x), 1.0)), cos(sin(x))), aval(4, 4))
    assert [len(g.outputs) for g in groups] == [2], "a work-item has the sine for both"


def test_what_the_host_reads_is_stored():
    _, groups, _ = stages(lambda x: lax.sort(neg(x)), aval(100))
    assert [type(g) for g in groups] == [KernelGroup, HostGroup]


@pytest.mark.parametrize("place", range(4))
def test_of_four_readers_each_may_be_the_one_for_which_a_value_is_stored(place):
    def readers(other, y):
        others = [lambda y: add(y, 1.0), lambda y: mul(y, 2.0), neg]
        return [f(y) for f in (*others[:place], other, *others[place:])]

    _, groups, _ = stages(lambda x: readers(lax.sort, add(x, 1.0)), aval(100))
    assert [type(g) for g in groups].count(HostGroup) == 1
    assert_that_each_group_finds_what_it_reads(groups)
    of_host = next(g for g in groups if isinstance(g, HostGroup))
    assert any(v in of_host.inputs for g in groups for v in g.outputs), "the host reads y"
    for other in (
        lambda y: transpose(y, (1, 0)),
        lambda y: broadcast_in_dim(y, (9, 4, 4), (1, 2)),
    ):
        _, groups, _ = stages(lambda x, f=other: readers(f, sin(x)), aval(4, 4))
        assert sum(eqn.primitive is sin_p for g in groups for eqn in g.eqns) == 1


@pytest.mark.parametrize("place", range(3))
def test_of_three_operands_each_may_be_the_one_that_is_read_at_another_place(place):
    def f(x, a, b):
        s = sin(x)
        turned = transpose(s, (1, 0))
        others = [a, b]
        operands = [*others[:place], turned, *others[place:]]
        return s, add(mul(operands[0], operands[1]), operands[2])

    _, groups, _ = stages(f, *[aval(4, 4)] * 3)
    assert [len(g.outputs) for g in groups] == [1, 1]
    assert_that_each_group_finds_what_it_reads(groups)


def assert_that_each_group_finds_what_it_reads(groups):
    made = set()
    all_made = {v for group in groups for v in group.outputs}
    for group in groups:
        assert made.issuperset(all_made.intersection(group.inputs)), "it is read before it is made"
        made.update(group.outputs)


def test_a_value_that_reads_another_at_another_place_is_in_a_kernel_of_its_own():
    _, groups, _ = stages(lambda x: (sin(x), transpose(sin(x), (1, 0))), aval(4, 4))
    shared = "a sine may be needed that another work-item computes later"
    assert [len(g.outputs) for g in groups] == [1, 1], shared
    assert_that_each_group_finds_what_it_reads(groups)


def test_another_place_of_an_argument_may_be_read_by_any_kernel():
    _, groups, _ = stages(lambda x: (add(x, 1.0), transpose(x, (1, 0))), aval(4, 4))
    assert [len(g.outputs) for g in groups] == [2], "an argument is there before all of them"


def test_a_kernel_is_not_shared_with_what_needs_another_that_may_run_after_it():
    def f(x, y):
        return sin(x), sin(y), add(x, broadcast_in_dim(sin(y), x.shape, (1,)))

    _, groups, _ = stages(f, aval(4, 4), aval(4))
    assert [len(g.outputs) for g in groups] == [1, 1, 1], "the kernel of sin(y) may run later"
    assert_that_each_group_finds_what_it_reads(groups)


def test_what_reads_the_result_of_a_host_step_shares_a_kernel():
    def f(x):
        y = sin(x)
        placed = lax.sort(y)
        return y, add(x, placed), mul(placed, 2.0)

    _, groups, _ = stages(f, aval(100))
    assert [len(g.outputs) for g in groups] == [1, 1, 2]
    assert_that_each_group_finds_what_it_reads(groups)


def test_index_maps_cost_no_kernel():
    def f(x):
        return sin(transpose(reshape(x, (4, 6)), (1, 0)))

    assert len(stages(f, aval(24))[1]) == 1


def test_a_costly_value_read_by_two_kernels_is_computed_once():
    _, groups, _ = stages(softmax_like, aval(8, 8))
    assert sum(eqn.primitive is sin_p for g in groups for eqn in g.eqns) == 1


def test_no_work_is_repeated_exponentially():
    def f(x):
        for _ in range(30):
            x = add(transpose(x, (1, 0)), x)
        return x

    assert max(len(k.body) for k in stages(f, aval(4, 4))[2]) < 100


def test_the_time_to_group_grows_as_the_program_does(monkeypatch):
    tried = []
    why_not = fuse_module._Plan._why_not_join
    monkeypatch.setattr(
        fuse_module._Plan, "_why_not_join", lambda *args: tried.append(0) or why_not(*args)
    )
    f = lambda x: [mul(x, np.float32(n + 2)) for n in range(1000)]  # noqa: E731
    assert len(fuse(make_jaxpr(f)(aval(3)).jaxpr, CPU)) > MAX_TRIED
    assert len(tried) <= MAX_TRIED * 1000


def test_operands_that_a_loop_has_no_use_for_are_none_of_its_work():
    def program(x):
        keys = jax.random.split(jax.random.key(3), 9)  # carried along, and read by nobody

        def step(state):
            n, keys, x = state
            return n + 1, keys, jnp.sin(x + 0.5)

        return lax.while_loop(lambda state: state[0] < 4, step, (0, keys, x))[2]

    x = np.ones((1, 4), np.float32)
    np.testing.assert_allclose(jax.jit(program)(x), program(x), rtol=1e-6)


def test_of_two_products_the_same_one_ends_each_time():
    def program(x, w):
        for _ in range(8):
            x = (x @ w) * (w @ x)
        return x

    def made(kept):
        closed = make_jaxpr(program)(aval(64, 64), aval(64, 64))
        kept += [closed, [[] for _ in range(len(kept))]]  # the next one's variables are elsewhere
        numbers = {v: n for n, eqn in enumerate(closed.eqns) for v in eqn.outvars}
        return tuple(numbers[v] for group in fuse(closed.jaxpr, CPU) for v in group.outputs)

    kept = []
    assert len({made(kept) for _ in range(10)}) == 1


@pytest.mark.parametrize("width", [2, 3])
def test_an_image_with_a_border_is_stored_for_many_readers(width):
    def f(x):
        padded = jnp.pad(x, 1, mode="wrap")
        return sum(padded[i : i + 9, j : j + 9] for i in range(width) for j in range(width))

    _, groups, _ = stages(f, aval(9, 9))
    assert len(groups) == (2 if width == 3 else 1)


def _stencil(x):
    padded = jnp.pad(x, 1)
    return padded[:-2, 1:-1] + padded[2:, 1:-1] - 2.0 * x + padded[1:-1, :-2] + padded[1:-1, 2:]


@pytest.mark.parametrize("f", [
    lambda x: jnp.sum(x * _stencil(x)),
    lambda x: jnp.vdot(x, _stencil(x)),
    lambda x: jnp.max(jnp.abs(_stencil(x)), 1),
    lambda x: jnp.mean((jnp.roll(x, 1, 1) - x) ** 2),
    lambda x: jnp.sum(jnp.diff(x, axis=0, prepend=0.0) ** 2),
])  # fmt: skip
def test_a_reduction_has_vectors_across_borders(f):
    """Its loop is cut at the borders: so the terms don't have to be stored first."""
    _, (group,), (kernel,) = stages(f, aval(80, 80))
    assert group.form is not None
    assert any(isinstance(s, Load) and s.target.width > 1 for s in every_statement(kernel.body))


def test_a_chain_of_reshapes_and_transpositions_is_cut():
    """Each multiplies the text of the indices."""

    def f(x):
        for shape in [(6, 10, 7), (5, 12, 7)] * 5:
            x = x.reshape(shape).transpose(2, 0, 1)
        return x * 2.0

    _, groups, kernels = stages(f, aval(420))
    assert len(groups) > 1 and max(len(str(kernel)) for kernel in kernels) < 5000


def test_a_joined_column_that_an_outer_product_repeats_is_computed_again():
    def f(x, y):
        return jnp.stack([x, -x])[:, None] @ y[None]

    _, groups, _ = stages(f, aval(), aval(512))
    assert len(groups) == 1


@pytest.mark.parametrize("f", [
    lambda x, i: jnp.roll(x, i[0], 0) * 2,
    lambda x, i: lax.dynamic_slice(jnp.pad(x, 3), (i[0], i[1]), (60, 60)) * 2,
    lambda x, i: jnp.pad(x, ((0, 1), (0, 0)))[i].sum(1),
])  # fmt: skip
def test_joined_values_are_stored_for_readers_at_places_of_the_data(f):
    """No border can cut these readers' loops, so they would choose among arrays for each element."""
    places = aval(500, dtype=np.int32)
    _, groups, kernels = stages(f, aval(64, 64), places)
    assert any("joined" in reason for group in groups for reason in group.reasons)
    loads = [[s for s in every_statement(k.body) if isinstance(s, Load)] for k in kernels]
    assert any(s.target.width > 1 for s in loads[-1])


def test_joined_values_are_not_stored_for_few_elements_of_them():
    _, groups, _ = stages(
        lambda x, i: lax.dynamic_slice(jnp.pad(x, 3), (i[0], i[1]), (10, 10)) * 2,
        aval(64, 64),
        aval(2, dtype=np.int32),
    )
    assert not any("joined" in reason for group in groups for reason in group.reasons)
