import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.fusion.fuse import fuse
from tinyjax.compile.fusion.groups import HostGroup, KernelGroup
from tinyjax.compile.kernel.interpret import interpret_kernel
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.passes.products import multiplications, sides_of
from tinyjax.compile.schedules.lower import lower_group
from tinyjax.compile.schedules.product_schedule import rows_at_once
from tinyjax.compile.target import CPU
from tinyjax.core.pretty_printer import variable_names
from tinyjax.core.structs import ShapeDtypeStruct
from tinyjax.core.tracing import make_jaxpr


def data(*shape, dtype="float32"):
    values = np.random.default_rng(sum(shape)).standard_normal(shape)
    return (4 * values).astype(dtype) if np.dtype(dtype).kind in "iub" else values.astype(dtype)


def simplified(f, *arrays):
    return simplify(make_jaxpr(f)(*(ShapeDtypeStruct(x.shape, x.dtype) for x in arrays)))


def groups_of(f, *arrays):
    return fuse(simplified(f, *arrays).jaxpr, CPU)


def dot(dimension_numbers, **params):
    return lambda x, y: lax.dot_general(x, y, dimension_numbers, **params)


# ---- what the axes are ----


def test_each_axis_is_batch_kept_or_summed():
    f = dot((((2,), (1,)), ((0,), (2,))))
    (eqn,) = simplified(f, data(5, 2, 3), data(4, 3, 5)).eqns
    left, right = sides_of(eqn)
    assert (left.batch, left.kept, left.summed) == ((0,), (1,), (2,))
    assert (right.batch, right.kept, right.summed) == ((2,), (0,), (1,))
    assert multiplications(eqn) == 5 * 2 * 4 * 3


# ---- transpositions ----


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: x.T @ y.T,
        lambda x, y: (x.T @ y.T).T,
        lambda x, y: (y @ x).T,
        lambda x, y: jnp.matmul(x.T, y.T).T + 1,
    ],
)
def test_transpositions_before_and_after_a_product_are_no_equations(f):
    x, y = data(40, 30), data(20, 40)
    names = [eqn.primitive.name for eqn in simplified(f, x, y).eqns]
    assert "transpose" not in names and "dot_general" in names
    np.testing.assert_allclose(jax.jit(f)(x, y), f(x, y), rtol=1e-4, atol=1e-4)


def test_a_transposition_of_what_else_is_read_stays():
    def f(x, y):
        z = x @ y
        return z, z.T

    names = [eqn.primitive.name for eqn in simplified(f, data(4, 5), data(5, 6)).eqns]
    assert names == ["dot_general", "transpose"]


def test_a_transposition_that_reorders_what_is_kept_stays():
    x, y = data(4, 5, 6), data(6, 7)
    f = lambda x, y: lax.transpose(x, (1, 0, 2)) @ y  # noqa: E731
    names = [eqn.primitive.name for eqn in simplified(f, x, y).eqns]
    assert names == ["transpose", "dot_general"]


@pytest.mark.parametrize("axes", [(1, 0, 2), (2, 1, 0), (2, 0, 1), (1, 2, 0)])
def test_a_transposition_of_a_product_that_moves_its_batch_stays(axes):
    x, y = data(3, 4, 4), data(3, 4, 4)
    f = lambda x, y: lax.transpose(x @ y, axes)  # noqa: E731
    names = [eqn.primitive.name for eqn in simplified(f, x, y).eqns]
    assert names == ["dot_general", "transpose"]
    np.testing.assert_allclose(jax.jit(f)(x, y), f(x, y), rtol=1e-4, atol=1e-4)


# ---- one kernel for a product and what follows ----


def test_a_layer_is_one_kernel():
    f = lambda x, w, b: jnp.tanh(x @ w + b)  # noqa: E731
    arrays = data(50, 30), data(30, 40), data(40)
    (group,) = groups_of(f, *arrays)
    assert group.product.primitive.name == "dot_general"
    np.testing.assert_allclose(jax.jit(f)(*arrays), f(*arrays), rtol=1e-4, atol=1e-5)


def test_a_product_whose_columns_are_summed_is_stored():
    first, _ = groups_of(lambda x, y: (x @ y).sum(0), data(50, 30), data(30, 40))
    assert [eqn.primitive.name for eqn in first.eqns] == ["dot_general"]


def test_operands_are_stored_unless_they_are_only_moved():
    groups = groups_of(lambda x, y: (x + 1) @ y[5:], data(50, 30), data(35, 40))
    assert len(groups) == 2 and len(groups[1].eqns) == 2


def test_two_products_are_two_kernels():
    f = lambda x, y: (x @ y) * (x @ (y + 1))  # noqa: E731
    arrays = data(50, 30), data(30, 40)
    products = [g.product for g in groups_of(f, *arrays) if g.product is not None]
    assert len(products) == 2
    np.testing.assert_allclose(jax.jit(f)(*arrays), f(*arrays), rtol=1e-3, atol=1e-3)


def test_a_training_step_of_a_layer_has_a_kernel_for_each_product():
    def step(w, x, y):
        loss = lambda w: ((jnp.tanh(x @ w) - y) ** 2).sum()  # noqa: E731
        return w - 0.1 * jax.grad(loss)(w)

    groups = groups_of(step, data(30, 40), data(50, 30), data(50, 40))
    assert sum(g.product is not None for g in groups) == 2
    assert all(isinstance(g, KernelGroup) for g in groups)


@pytest.mark.parametrize(
    "follow",
    [
        lambda z, b: z + b,
        lambda z, b: z * b[None, :] + jnp.arange(60.0),
        lambda z, b: jnp.where(z > 0, 1.0, z),
        lambda z, b: z > 0,
        lambda z, b: (z[:, ::2], z[::-1] + z),
        lambda z, b: (z * 2).astype(jnp.bfloat16),
        lambda z, b: z.reshape(25, 2, 60) + b,
        lambda z, b: jnp.broadcast_to(z, (3, 50, 60)),
    ],
)
def test_what_follows_a_product_is_as_without_jit(follow):
    f = lambda x, y, b: follow(x @ y, b)  # noqa: E731
    arrays = data(50, 33), data(33, 60), data(60)
    for found, expected in zip(jax.tree.leaves(jax.jit(f)(*arrays)), jax.tree.leaves(f(*arrays))):
        assert found.dtype == expected.dtype
        found, expected = np.asarray(found, np.float32), np.asarray(expected, np.float32)
        np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-4)


# ---- all shapes ----

SHAPES = {
    "a matrix by one that is transposed": ("ij,kj->ik", (65, 30), (33, 30)),
    "a transposed matrix by a matrix": ("ji,jk->ik", (300, 65), (300, 33)),
    "a row by a matrix": ("ij,jk->ik", (1, 300), (300, 200)),
    "a matrix by a column": ("ij,j->i", (300, 200), (200,)),
    "a vector by a matrix": ("j,jk->k", (300,), (300, 200)),
    "vectors": ("i,i->", (5000,), (5000,)),
    "outer": ("i,j->ij", (50,), (70,)),
    "a batch": ("bij,bjk->bik", (5, 20, 30), (5, 30, 40)),
    "a batch along the last axis": ("ijb,jkb->bik", (20, 30, 5), (30, 40, 5)),
    "two batches": ("abij,abkj->abik", (2, 3, 20, 30), (2, 3, 40, 30)),
    "outer in a batch": ("bi,bj->bij", (50, 70), (50, 33)),
    "several axes summed": ("bthd,hde->bte", (3, 7, 4, 20), (4, 20, 24)),
    "several axes summed in another order": ("hbtd,dhe->bte", (3, 7, 4, 20), (20, 3, 24)),
    "several columns axes": ("ij,jkl->ikl", (20, 30), (30, 5, 7)),
    "eight axes": ("abcdefgh,hi->abcdefgi", (2, 1, 2, 2, 1, 2, 2, 9), (9, 17)),
    "more to sum than a panel has": ("ij,jk->ik", (20, 700), (700, 20)),
    "many rows": ("ij,jk->ik", (1000, 20), (20, 20)),
    "one column beyond a vector": ("ij,jk->ik", (20, 20), (20, 17)),
}


@pytest.mark.parametrize("case", SHAPES)
def test_a_product_is_what_einsum_gives(case):
    letters, *shapes = SHAPES[case]
    x, y = (data(*shape) for shape in shapes)
    found = jax.jit(lambda x, y: jnp.einsum(letters, x, y))(x, y)
    expected = np.einsum(letters, x.astype(float), y.astype(float))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("shapes", [((0, 5), (5, 7)), ((3, 0), (0, 7)), ((3, 5), (5, 0))])
def test_products_without_elements(shapes):
    x, y = (data(*shape) for shape in shapes)
    np.testing.assert_array_equal(jax.jit(jnp.matmul)(x, y), x @ y)


def test_an_outer_product_in_a_batch_is_one_kernel_without_a_product():
    f = lambda x, y: jnp.einsum("bi,bj->bij", x, y) * 2  # noqa: E731
    (group,) = groups_of(f, data(50, 70), data(50, 33))
    assert isinstance(group, KernelGroup) and group.product is None


# ---- all dtypes ----


@pytest.mark.parametrize(
    "dtype", "int8 uint8 int16 int32 uint32 float16 bfloat16 float32 bool".split()
)
def test_a_product_of_each_dtype_is_as_without_jit(dtype):
    x, y = (jnp.asarray(data(*shape)).astype(dtype) for shape in [(40, 50), (50, 30)])
    found, expected = jax.jit(jnp.matmul)(x, y), jnp.matmul(x, y)
    assert found.dtype == expected.dtype
    found, expected = np.asarray(found, np.float32), np.asarray(expected, np.float32)
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("dtype", ["int64", "float64", "complex64", "complex128"])
def test_products_of_64_bits_and_of_complex_numbers(dtype):
    with jax.enable_x64(True):
        x, y = (jnp.asarray(data(*shape)).astype(dtype) for shape in [(40, 50), (50, 30)])
        np.testing.assert_allclose(jax.jit(jnp.matmul)(x, y), np.asarray(x) @ y, rtol=1e-5)


def test_sums_of_halves_are_kept_in_32_bits():
    x = jnp.ones((20, 5000), jnp.bfloat16)
    np.testing.assert_array_equal(jax.jit(lambda x: x @ x.T)(x).astype(jnp.float32), 4992)


def test_the_preferred_type_is_that_of_sums_and_result():
    x, y = data(20, 900, dtype="int8"), data(900, 20, dtype="int8")
    f = dot((((1,), (0,)), ((), ())), preferred_element_type=np.int32)
    np.testing.assert_array_equal(jax.jit(f)(x, y), x.astype(np.int32) @ y.astype(np.int32))


# ---- the kernel ----


@pytest.mark.parametrize("shapes", [((13, 9), (9, 21)), ((2, 300), (300, 16)), ((20, 20), (20, 5))])
def test_a_kernel_run_in_python_gives_the_product(shapes):
    x, y = (data(*shape) for shape in shapes)
    b = data(shapes[1][1])
    closed = simplified(lambda x, y, b: x @ y + b, x, y, b)
    (group,) = fuse(closed.jaxpr, CPU)
    kernel = lower_group(group, "k0", variable_names(closed.jaxpr), CPU)
    memory = dict(zip(closed.jaxpr.invars, (x, y, b)))
    out = np.zeros((shapes[0][0], shapes[1][1]), np.float32)
    interpret_kernel(kernel, [*(memory[v].reshape(-1) for v in group.inputs), out.reshape(-1)])
    np.testing.assert_allclose(out, x @ y + b, rtol=1e-4, atol=1e-4)


def test_as_many_rows_as_registers_hold_go_through_a_panel_together():
    assert [rows_at_once(n, 6, False) for n in (1, 2, 5, 6, 8, 10, 128, 127)] == [
        1,
        2,
        5,
        6,
        4,
        5,
        6,
        6,
    ]


def test_they_divide_the_rows_where_results_may_be_in_place():
    assert [rows_at_once(n, 6, True) for n in (8, 10, 128, 127)] == [4, 5, 4, 6]


# ---- large products ----


def test_a_large_product_of_few_rows_is_one_step_of_blas():
    def f(x, y):
        return x @ y.T

    (group,) = groups_of(f, data(100, 900), data(900, 900))
    assert isinstance(group, HostGroup)
    schedule = jax.jit(f).lower(data(100, 900), data(900, 900)).as_text("schedule")
    assert "0: matmul  f32[100,900] x f32[900,900] (a, b) -> " in schedule
    (group,) = groups_of(f, data(900, 900), data(900, 900))
    assert not isinstance(group, HostGroup)


@pytest.mark.parametrize("f", [lambda x: x.T @ x, lambda x: x @ x.T])
def test_a_large_product_with_its_transpose_is_one_step_of_blas(f):
    (group,) = groups_of(f, data(500, 500))
    assert isinstance(group, HostGroup)
    (group,) = groups_of(lambda x: x @ x, data(500, 500))
    assert not isinstance(group, HostGroup)


def test_blas_writes_into_the_result_and_copies_nothing(monkeypatch):
    calls = []

    def matmul(x, y, out):
        calls.append((x, y, out))
        return real(x, y, out=out)

    real = np.matmul
    x, y = jnp.asarray(data(100, 900)), jnp.asarray(data(900, 900))
    f = jax.jit(lambda x, y: x @ y.T).lower(x, y).compile()
    monkeypatch.setattr(np, "matmul", matmul)
    z = np.asarray(f(x, y))
    ((left, right, out),) = calls
    assert np.shares_memory(left, np.asarray(x)) and np.shares_memory(right, np.asarray(y))
    assert np.shares_memory(out, z)
