"""Products as naive loop nests, run in Python."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.fusion.fuse import fuse
from tinyjax.compile.kernel.interpret import interpret_kernel
from tinyjax.compile.kernel.product_nest import product_nest
from tinyjax.compile.passes.pipeline import run_passes
from tinyjax.compile.target import CPU
from tinyjax.core.pretty_printer import variable_names
from tinyjax.core.tracing import make_jaxpr


def data(*shape, dtype="float32"):
    values = np.random.default_rng(sum(shape)).standard_normal(shape)
    return jnp.asarray(4 * values if np.dtype(dtype).kind in "iu" else values).astype(dtype)


def nest_of(f, *arrays):
    """The naive nest of the product in f, its inputs, and where its results come."""
    closed = run_passes(make_jaxpr(f)(*arrays))
    (group,) = (group for group in fuse(closed.jaxpr, CPU) if getattr(group, "product", None))
    inputs = [arrays[closed.jaxpr.invars.index(v)] for v in group.inputs]
    return product_nest(group, "k0", variable_names(closed.jaxpr), CPU), inputs


def assert_is_as_without_jit(f, *arrays, rtol=1e-5):
    kernel, inputs = nest_of(f, *arrays)
    results = jax.tree.leaves(f(*arrays))
    stored = [np.zeros(result.size, result.dtype) for result in results]
    interpret_kernel(kernel, [*(np.array(x).reshape(-1) for x in inputs), *stored])
    for found, expected in zip(stored, results, strict=True):
        found, expected = (np.asarray(x, np.float64).reshape(-1) for x in (found, expected))
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max())


def test_a_layer_reads_like_c():
    kernel, _ = nest_of(lambda x, w, b: jnp.tanh(x @ w + b), data(20, 30), data(30, 40), data(40))
    assert kernel.items == 1
    assert str(kernel).splitlines()[1:] == [
        "  for row in 0 .. 20:",
        "    for column in 0 .. 40:",
        "      acc1:f32 = variable of 0.0",
        "      for k in 0 .. 30:",
        "        a:f32 = a_in[row * 30 + k]",
        "        b:f32 = b_in[k * 40 + column]",
        "        t1:f32 = acc1",
        "        t2:f32 = mul_add a b t1",
        "        acc1 = t2",
        "      t3:f32 = acc1",
        "      c:f32 = c_in[column]",
        "      f:f32 = add t3 c",
        "      g:f32 = tanh f",
        "      g_out[row * 40 + column] = g",
    ]


@pytest.mark.parametrize(
    "product, shapes",
    [
        (jnp.matmul, [(12, 20), (20, 11)]),
        (lambda x, y: lax.conv(x, y, (1, 1), "VALID"), [(2, 3, 4, 5), (11, 3, 2, 3)]),
    ],
)
def test_a_variable_named_k_is_not_the_loop_over_k(product, shapes):
    f = lambda x, y: (product(x, y) * 2 + 3).astype(jnp.int32) - 4  # noqa: E731
    many = lambda x, y: jnp.abs(-(jnp.sin(f(x, y) / 3) + 1) * 7)  # noqa: E731
    assert_is_as_without_jit(many, *(data(*shape) for shape in shapes))


@pytest.mark.parametrize(
    "letters, shapes",
    [
        ("ij,jk->ik", [(2, 200), (200, 20)]),
        ("ij,kj->ik", [(9, 20), (13, 20)]),
        ("ji,jk->ik", [(20, 9), (20, 13)]),
        ("bij,bjk->bik", [(3, 5, 12), (3, 12, 13)]),
        ("ijb,jkb->bik", [(5, 12, 3), (12, 13, 3)]),
        ("hbtd,dhe->bte", [(4, 3, 2, 9), (9, 4, 10)]),
        ("ij,jkl->ikl", [(7, 20), (20, 3, 5)]),
    ],
)
def test_a_nest_is_what_einsum_gives(letters, shapes):
    assert_is_as_without_jit(lambda x, y: jnp.einsum(letters, x, y), *(data(*s) for s in shapes))


@pytest.mark.parametrize("dtype", "int32 uint32 bfloat16".split())
def test_a_nest_of_each_dtype_is_as_without_jit(dtype):
    x, y = data(10, 30, dtype=dtype), data(30, 11, dtype=dtype)
    assert_is_as_without_jit(jnp.matmul, x, y, rtol=1e-2 if "float" in dtype else 1e-9)


@pytest.mark.parametrize("depth, sums", [(1023, "f32"), (1030, "f64")])
def test_sums_of_small_integers_are_exact_in_floats(depth, sums):
    x, y = np.full((6, depth), -128, np.int8), np.full((depth, 18), -128, np.int8)
    y[0, 3:] = 127
    f = lambda x, y: jnp.matmul(x, y, preferred_element_type=np.int32)  # noqa: E731
    assert f"acc1:{sums} " in jax.jit(f).lower(x, y).as_text("loop nests")
    np.testing.assert_array_equal(jax.jit(f)(x, y), x.astype(np.int32) @ y)


def test_the_sums_are_of_the_preferred_type():
    numbers = (((1,), (0,)), ((), ()))
    f = lambda x, y: lax.dot_general(x, y, numbers, preferred_element_type=jnp.float32)  # noqa: E731
    assert_is_as_without_jit(f, data(10, 30, dtype="bfloat16"), data(30, 11, dtype="bfloat16"))


@pytest.mark.parametrize(
    "follow",
    [lambda z: z > 0, lambda z: (z * 2).astype(jnp.int8)],
)
def test_what_follows_is_computed_from_each_sum(follow):
    assert_is_as_without_jit(lambda x, y: follow(x @ y), data(20, 15), data(15, 11))
