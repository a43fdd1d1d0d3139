import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.codegen.codegen import CPU, GPU, kernel_text, program_text
from tinyjax.compile.fusion import fuse as fuse_module
from tinyjax.compile.fusion.cost_model import MAX_EQUATIONS_IN_ALL, MAX_TRIED, combined
from tinyjax.compile.fusion.fuse import fuse
from tinyjax.compile.fusion.groups import HostGroup, KernelGroup
from tinyjax.compile.kernel.interpret import interpret_kernel
from tinyjax.compile.kernel.rules import lowering_of
from tinyjax.compile.passes.simplify import simplify
from tinyjax.compile.schedules.lower import lower_group
from tinyjax.core.jaxpr import eval_jaxpr
from tinyjax.core.pretty_printer import variable_names
from tinyjax.core.primitives import (
    add,
    broadcast_in_dim,
    cos,
    mul,
    neg,
    reduce_sum,
    reshape,
    sin,
    sin_p,
    transpose,
)
from tinyjax.core.tracing import ShapeDtypeStruct, make_jaxpr


def aval(*shape, dtype="float32"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


def stages(f, *avals, target=CPU):
    closed = simplify(make_jaxpr(f)(*avals))
    groups = fuse(closed.jaxpr, target)
    names = variable_names(closed.jaxpr)
    kernels = [
        lower_group(g, f"k{n}", names, target)
        for n, g in enumerate(groups)
        if not isinstance(g, HostGroup)
    ]
    return closed, groups, kernels


def interpreted(f, *args, target=CPU):
    """Runs f through fusion and the kernel interpreter, without a device."""
    args = [np.asarray(x) for x in args]
    closed, groups, kernels = stages(
        f, *(aval(*x.shape, dtype=x.dtype) for x in args), target=target
    )
    memory = dict(zip(closed.jaxpr.invars, args))
    for group, kernel in zip(groups, kernels, strict=True):
        for v in group.outputs:
            memory[v] = np.zeros(v.aval.shape, v.aval.dtype)
        buffers = [memory[v].reshape(-1) for v in (*group.inputs, *group.outputs)]
        scratch = kernel.buffers[len(buffers) :]
        interpret_kernel(kernel, buffers + [np.zeros(b.size, b.dtype) for b in scratch])
    expected = [np.asarray(x) for x in eval_jaxpr(closed.jaxpr, closed.consts, *args)]
    return [memory[v] for v in closed.jaxpr.outvars], expected


def total(x, axes=(0,)):
    return reduce_sum(x, axes)


def softmax_like(x):
    e = sin(x)
    row_sums = broadcast_in_dim(total(e, (1,)), x.shape, (0,))
    return mul(e, row_sums)


def data(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


# ---- fusion ----


def test_a_chain_of_elementwise_equations_is_one_kernel():
    _, groups, _ = stages(
        lambda x: sin(mul(cos(x), add(x, 1.0))),
        aval(100),
    )
    assert [len(g.eqns) for g in groups] == [4]


@pytest.mark.parametrize("size", [1000, 1_000_000])
def test_a_reduction_and_its_elementwise_inputs_are_one_kernel(size):
    v = aval(size)
    _, groups, kernels = stages(lambda x, y, z: total(add(x, mul(y, z))), v, v, v)
    assert len(groups) == len(kernels) == 1
    assert program_text(kernels).count("__kernel") == 1


def combined_for(f, *avals):
    """How many elements are combined for one element of an equation's result."""
    (eqn,) = make_jaxpr(f)(*avals).eqns
    return combined(eqn, lowering_of(eqn, CPU))


def test_an_element_of_a_sum_is_made_of_all_elements_along_the_axes():
    assert combined_for(lambda x: total(x, (0, 2)), aval(3, 4, 5)) == 15
    assert combined_for(lambda x: lax.argmax(x, 1, np.int32), aval(3, 4)) == 4


def test_an_element_of_a_product_is_made_of_a_row_and_a_column():
    assert combined_for(lambda x, y: x @ y, jnp.ones((3, 4)), jnp.ones((4, 5))) == 4


def test_an_element_of_all_else_is_made_of_one():
    assert combined_for(sin, aval(3)) == 1
    assert combined_for(lambda x: transpose(x, (1, 0)), aval(3, 4)) == 1


def test_outputs_of_one_shape_share_a_kernel():
    _, groups, _ = stages(lambda x: (sin(x), add(sin(x), 1.0)), aval(100))
    assert [len(g.outputs) for g in groups] == [2]


def test_a_costly_value_that_a_broadcast_repeats_is_stored():
    _, groups, _ = stages(lambda x: broadcast_in_dim(sin(x), (100, 50), (1,)), aval(50))
    assert len(groups) == 2, "a hundred rows would each compute all sines"


def test_a_cheap_value_that_a_broadcast_repeats_is_computed_again():
    _, groups, _ = stages(lambda x: broadcast_in_dim(neg(x), (100, 50), (1,)), aval(50))
    assert len(groups) == 1


def test_a_costly_value_that_is_read_at_two_places_is_stored():
    def f(x):
        y = sin(x)
        return mul(reshape(transpose(y, (1, 0)), (16,)), reshape(y, (16,)))

    _, groups, _ = stages(f, aval(4, 4))
    assert len(groups) == 2, "each sine would be computed twice"


def test_a_costly_value_that_is_read_twice_at_one_place_is_not_stored():
    _, groups, _ = stages(lambda x: mul(sin(x), add(sin(x), 1.0)), aval(4, 4))
    assert len(groups) == 1


def test_what_the_host_reads_is_stored():
    _, groups, _ = stages(lambda x: lax.sort(neg(x)), aval(100))
    assert [type(g) for g in groups] == [KernelGroup, HostGroup]


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
    can_join = fuse_module._Plan._can_join
    monkeypatch.setattr(
        fuse_module._Plan, "_can_join", lambda *args: tried.append(0) or can_join(*args)
    )
    f = lambda x: [mul(x, np.float32(n + 2)) for n in range(1000)]  # noqa: E731
    assert len(fuse(make_jaxpr(f)(aval(3)).jaxpr, CPU)) > MAX_TRIED
    assert len(tried) <= MAX_TRIED * 1000


# ---- kernels, interpreted ----


@pytest.mark.parametrize("target", [CPU, GPU])
@pytest.mark.parametrize(
    "f, shapes",
    [
        (lambda x, y: mul(add(x, y), neg(x)), [(5, 3), (5, 3)]),
        (softmax_like, [(3, 70)]),
        (lambda x: total(x, (0,)), [(7, 4)]),
        (lambda x: total(x, (0, 2)), [(3, 4, 5)]),
        (lambda x: total(x), [(131,)]),
        (lambda x: total(transpose(x, (2, 0, 1)), (1,)), [(2, 3, 4)]),
        (lambda x, y: add(x, y), [(3, 1), (1, 4)]),
        (lambda x: mul(total(x, ()), 2.0), [(4,)]),
        (lambda x: total(reshape(x, (6, 4)), (1,)), [(2, 3, 4)]),
        (lambda x: total(x, (0,)), [(0, 3)]),
    ],
)
def test_an_interpreted_kernel_equals_eager(f, shapes, target):
    results, expected = interpreted(f, *(data(*shape) for shape in shapes), target=target)
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


def test_work_items_share_out_a_large_reduction():
    x = data(40_003)
    (result,), (expected,) = interpreted(lambda x: total(mul(x, x)), x)
    np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_a_chain_longer_than_the_stack_lowers_to_kernels_of_bounded_size():
    def f(x):
        for _ in range(3000):
            x = add(x, 1.0)
        return x

    groups = stages(f, aval(3))[1]
    assert len({eqn for group in groups for eqn in group.eqns}) == 3000
    assert max(len(group.eqns) for group in groups) <= MAX_EQUATIONS_IN_ALL


# ---- text ----


@pytest.mark.parametrize(
    "shape, permutation",
    [((300, 333), (1, 0)), ((2, 300, 333), (2, 0, 1)), ((333, 2, 300), (2, 1, 0))],
)
def test_a_large_transposed_array_is_read_in_tiles(shape, permutation):
    f = lambda x: add(transpose(x, permutation), np.float32(1))  # noqa: E731
    _, _, (kernel,) = stages(f, aval(*shape))
    assert "* 32 + 32" in str(kernel)
    x = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)
    np.testing.assert_array_equal(jax.jit(f)(x), x.transpose(permutation) + 1)


def test_the_text_is_the_same_from_run_to_run():
    def text():
        return program_text(stages(softmax_like, aval(20, 30))[2])

    assert text() == text()


def test_kernels_use_the_names_of_the_jaxpr():
    closed, _, (kernel,) = stages(lambda x: add(sin(x), 1.0), aval(10))
    assert "b:f32[10] = sin a" in str(closed)
    assert "const float b = tj_sin(a);" in program_text([kernel])


def test_a_variable_named_like_a_keyword_builds_under_another_name():
    def f(x):
        for _ in range(200):  # names reach past "do" and "if"
            x = sin(add(x, 1.0))
        return x

    text = "".join(map(kernel_text, stages(f, aval(3))[2]))
    assert " do " not in text and " if " not in text


def test_large_arrays_are_indexed_with_64_bits():
    _, _, (kernel,) = stages(lambda x: neg(x), aval(3, 2**30))
    assert "long item" in program_text([kernel])


def test_the_smaller_of_two_64_bit_indices_has_no_operand_of_32_bits():
    def f(x, y):
        return add(
            broadcast_in_dim(x, (70000, 40000), (0,)), broadcast_in_dim(y, (70000, 40000), (1,))
        )

    _, _, (kernel,) = stages(f, aval(70000), aval(40000))
    text = program_text([kernel])
    assert "min((long)(item" in text and "(long)(70000))" in text


def test_a_kernel_has_no_more_parameters_than_devices_allow():
    def f(*xs):
        total = xs[0]
        for x in xs[1:]:
            total = add(total, x)
        return total

    _, groups, _ = stages(f, *[aval(3)] * 200)
    assert all(len(g.inputs) + len(g.outputs) <= 64 for g in groups)


def test_long_rows_are_shared_out():
    _, _, (kernel,) = stages(lambda x, y: add(x, y), aval(2, 1_000_000), aval(1, 1_000_000))
    assert kernel.items == 64


def test_a_variable_called_t_keeps_its_name_where_another_one_is_equal_to_it():
    def f(x):
        for _ in range(19):  # the jaxpr's variables a, b, ..., t
            x = x + 1
        return lax.stop_gradient(x) * x

    np.testing.assert_array_equal(jax.jit(f)(np.zeros(3, np.float32)), [361, 361, 361])
