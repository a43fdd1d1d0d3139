"""Updates of zeros become updates of the sum that reads them."""

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.compile.passes.pipeline import run_passes
from tinyjax.core.tracing import make_jaxpr

TABLE = np.arange(12, dtype=np.float32).reshape(6, 2)
ROWS = np.array([1, 1, 5])


def zeros_with(update):
    return jnp.zeros((6, 2)).at[ROWS].add(update)


def names_of(f, *args):
    return [eqn.primitive.name for eqn in run_passes(make_jaxpr(f)(*args)).jaxpr.eqns]


def test_the_gradient_of_an_array_indexed_twice_is_one_array_with_two_updates():
    grad = jax.grad(lambda x: (x[ROWS] ** 2).sum() + jnp.sin(x[ROWS[::-1] - 1]).sum())
    names = names_of(grad, TABLE)
    assert names.count("scatter-add") == 2 and "add_any" not in names
    np.testing.assert_allclose(jax.jit(grad)(TABLE), grad(TABLE), rtol=1e-6)


def test_either_operand_is_updated_and_the_other_stays():
    for f in (lambda x: zeros_with(x[:3]) + x, lambda x: x + zeros_with(x[:3])):
        assert "add" not in names_of(f, TABLE)
        x = jnp.asarray(TABLE)
        np.testing.assert_array_equal(jax.jit(f)(x), f(x))
        np.testing.assert_array_equal(x, TABLE)


def test_what_others_read_or_begins_otherwise_is_added():
    def read_twice(x):
        y = zeros_with(x[:3])
        return x + y, y

    def of_ones(x):
        return x + jnp.ones((6, 2)).at[ROWS].add(x[:3])

    for f in (read_twice, of_ones):
        assert "add" in names_of(f, TABLE)


def test_updates_of_16_bits_are_added_up_before_they_meet_a_large_element():
    def f(y, i):
        return y + jnp.zeros_like(y).at[i].add(1)

    y, i = jnp.full(5, 256, jnp.bfloat16), jnp.zeros(100, int)
    assert float(jax.jit(f)(y, i)[0]) == 356
