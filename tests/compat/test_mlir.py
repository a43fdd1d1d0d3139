"""What becomes of lowering rules that are registered as for JAX."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.inlining import custom_inline_rules
from tinyjax.extend.core import Primitive
from tinyjax.interpreters import mlir, xla


@pytest.fixture
def primitive():
    """A primitive of two operands and a parameter, without rules but for its type."""
    p = Primitive("scaled_sum")
    p.def_abstract_eval(lambda x, y, *, scale: x)
    yield p
    custom_inline_rules.pop(p, None)


def scaled_sum(x, y, *, scale):
    return jnp.where(x > 0, scale * (x + y), 0.0)


X, Y = jnp.arange(-1.0, 3.0), jnp.ones(4)


def test_a_function_is_compiled_in_the_place_of_its_primitive(primitive):
    mlir.register_lowering(primitive, mlir.lower_fun(scaled_sum, multiple_results=False))
    lowered = jax.jit(lambda x, y: primitive.bind(x, y, scale=2.0)).lower(X, Y)
    assert "scaled_sum" in lowered.as_text("jaxpr")
    assert "scaled_sum" not in lowered.as_text("simplified")
    np.testing.assert_array_equal(lowered.compile()(X, Y), [0, 0, 4, 6])


def test_it_is_the_impl_rule_too_where_there_is_none(primitive):
    mlir.register_lowering(primitive, mlir.lower_fun(scaled_sum, multiple_results=False))
    np.testing.assert_array_equal(primitive.bind(X, Y, scale=2.0), [0, 0, 4, 6])
    loop = lax.fori_loop(0, 2, lambda i, x: primitive.bind(x, Y, scale=1.0), X)
    np.testing.assert_array_equal(loop, [0, 0, 3, 4])


def test_an_impl_rule_stays_and_gets_arrays(primitive):
    kinds = []
    primitive.def_impl(lambda x, y, *, scale: kinds.append(type(x)) or x.at[0].set(scale))
    mlir.register_lowering(primitive, mlir.lower_fun(scaled_sum, multiple_results=False))
    assert primitive.bind(X, Y, scale=5.0)[0] == 5
    assert issubclass(kinds[0], jax.Array)


def test_apply_primitive_runs_it(primitive):
    mlir.register_lowering(primitive, mlir.lower_fun(scaled_sum, multiple_results=False))
    np.testing.assert_array_equal(xla.apply_primitive(primitive, X, Y, scale=1.0), [0, 0, 2, 3])


def test_a_function_of_several_results_in_a_loop():
    pair_p = Primitive("pair")
    pair_p.multiple_results = True
    pair_p.def_abstract_eval(lambda x: (x, x))
    mlir.register_lowering(pair_p, mlir.lower_fun(lambda x: (x + 1, x - 1), multiple_results=True))
    step = jax.jit(lambda x: lax.fori_loop(0, 3, lambda i, x: sum(pair_p.bind(x)), x))
    assert step(1.0) == 8
    assert "host" not in step.lower(1.0).as_text()


def test_a_rule_that_writes_mlir_is_not_needed_where_there_is_an_impl_rule(primitive, recwarn):
    primitive.def_impl(scaled_sum)
    mlir.register_lowering(primitive, lambda ctx, x, y, *, scale: [x], platform="cpu")
    assert not recwarn.list
    assert jax.jit(lambda x, y: primitive.bind(x, y, scale=2.0))(X, Y)[3] == 6


def test_a_primitive_that_has_no_other_rule_says_what_to_do(primitive):
    mlir.register_lowering(primitive, lambda ctx, x, y, *, scale: [x])
    for call in (primitive.bind, jax.jit(lambda x, y, scale: primitive.bind(x, y, scale=2.0))):
        with pytest.raises(NotImplementedError, match="its MLIR lowering is not used.*lower_fun"):
            call(X, Y, scale=2.0)


def test_a_rule_that_lower_fun_made_is_not_called_by_another():
    with pytest.raises(NotImplementedError, match="Register the whole function"):
        mlir.lower_fun(lambda x: x, multiple_results=False)(None, 1.0)
