"""What is computed before the program runs."""

import numpy as np

import tinyjax.core.primitives as primitives
import tinyjax.numpy as jnp
from tinyjax import debug, random
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.core.jaxpr import eval_jaxpr
from tinyjax.core.tracing import make_jaxpr
from tinyjax.transform.jit.api import jit
from tinyjax.transform.vjp import grad


def primitive_names(f, *args):
    return [eqn.primitive.name for eqn in simplify(make_jaxpr(f)(*args)).eqns]


def test_what_is_made_of_constants_is_computed_before():
    table = np.arange(3.0, dtype=np.float32)

    def f(x):
        return primitives.mul(x, primitives.mul(primitives.sin(table), primitives.cos(2.0)))

    closed = simplify(make_jaxpr(f)(table))
    assert [eqn.primitive.name for eqn in closed.eqns] == ["mul"]
    (found,) = eval_jaxpr(closed.jaxpr, closed.consts, table)
    np.testing.assert_array_equal(found, f(table))


def test_large_constants_are_left_to_the_program():
    table = np.ones(10_000, np.float32)
    assert primitive_names(lambda x: primitives.mul(x, primitives.sin(table)), table) == [
        "sin",
        "mul",
    ]


def test_arrays_that_repeat_numbers_are_computed_as_one_number():
    def f(x):
        rate = jnp.broadcast_to(jnp.float32(3), (10_000,))
        is_small = (jnp.sqrt(rate) < 10) & ~jnp.isnan(rate)
        return jnp.where(is_small, x + rate, jnp.sin(x))

    x = np.ones(10_000, np.float32)
    assert primitive_names(f, x) == ["broadcast_in_dim", "add"]
    np.testing.assert_array_equal(jit(f)(x), f(x))


def test_a_sampler_with_a_constant_rate_runs_one_of_its_loops():
    def f(key):
        return random.poisson(key, 3.0, (2_000,))

    assert primitive_names(f, random.key(0)).count("while") == 1
    np.testing.assert_array_equal(jit(f)(random.key(0)), f(random.key(0)))


def test_effects_and_random_bits_of_constants_stay():
    def f(x):
        debug.print("{}", np.float32(2.0))
        return random.uniform(random.key(0), (3,)) + x

    names = primitive_names(f, np.ones(3, np.float32))
    assert "debug_print" in names and any(name.startswith("random") for name in names)


def test_a_sum_of_equal_numbers_that_rewriting_made_is_folded():
    def f(x):
        return -jnp.sum(-(jnp.log(x) + jnp.ones(3) * x) / 2)

    assert jit(grad(f))(2.0) == 2.25  # 3 * (1 / 2 + 1) / 2
