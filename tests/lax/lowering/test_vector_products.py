import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.core.tracing import make_jaxpr


def data(*shape, dtype="float32"):
    return jnp.asarray(np.random.default_rng(sum(shape)).integers(-4, 5, shape)).astype(dtype)


def names(f, *args):
    return [eqn.primitive.name for eqn in simplify(make_jaxpr(f)(*args)).eqns]


def einsum(spec, **params):
    return lambda x, y: jnp.einsum(spec, x, y, **params)


@pytest.mark.parametrize(
    "f, x, y",
    [
        (jnp.dot, (40,), (40,)),
        (jnp.dot, (9, 40), (40,)),
        (jnp.dot, (40,), (40, 9)),
        (lambda x, y: x.T @ y, (40, 9), (40,)),
        (jnp.matmul, (3, 1, 40), (3, 40, 7)),
        (jnp.matmul, (3, 7, 40), (3, 40, 1)),
        (einsum("abc,cab->b"), (5, 3, 8), (8, 5, 3)),
        (einsum("abc,ca->b"), (5, 3, 8), (8, 5)),
        (einsum("iba,ab->bi"), (4, 3, 20), (20, 3)),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "int8", "bfloat16"])
def test_a_product_of_a_vector_is_a_sum(f, x, y, dtype):
    x, y = data(*x, dtype=dtype), data(*y, dtype=dtype)
    assert "dot_general" not in names(f, x, y)
    found, wanted = jax.jit(f)(x, y), f(x, y)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    np.testing.assert_array_equal(found, wanted)


def test_the_sum_has_the_wanted_dtype():
    f = einsum("ij,j->i", preferred_element_type=np.int32)
    x, y = data(9, 40, dtype="int8") * 30, data(40, dtype="int8") * 30
    np.testing.assert_array_equal(jax.jit(f)(x, y), f(x, y))


def test_matrices_and_short_sums_stay_products():
    assert "dot_general" in names(jnp.dot, data(9, 40), data(40, 9))
    assert "dot_general" in names(jnp.dot, data(9, 4), data(4))
