import numpy as np
import pytest
from lowering import aval, data, interpreted, softmax_like, stages, total

import tinyjax as jax
from tinyjax.compile.fusion.cost_model import MAX_EQUATIONS_IN_ALL
from tinyjax.compile.target import CPU, GPU
from tinyjax.core.primitives import add, mul, neg, reshape, transpose

# ---- kernels, interpreted ----


@pytest.mark.parametrize("form", ["naive", "scheduled"])
@pytest.mark.parametrize("target", [CPU, GPU], ids=["CPU", "GPU"])
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
def test_an_interpreted_kernel_equals_eager(f, shapes, target, form):
    change = lambda kernel: kernel.naive if form == "naive" else kernel  # noqa: E731
    args = [data(*shape) for shape in shapes]
    results, expected = interpreted(f, *args, target=target, change=change)
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
    assert "_inner in 0 .. 3" in str(kernel)  # 30 or 31 rows: the tiles are equally high
    x = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)
    np.testing.assert_array_equal(jax.jit(f)(x), x.transpose(permutation) + 1)


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
    assert kernel.items == 490  # of about 4,096 elements
