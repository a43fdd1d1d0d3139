"""Forward mode: tangents are pushed through a function."""

import numpy as np
import pytest

import tinyjax as jax
from tinyjax import core, primitives
from tinyjax.interpreters.jvp import Zero, defjvp, jvp_rules
from tinyjax.primitives import add, cos, gt, mul, sin


def f(x):
    return mul(sin(x), x)


def df(x):
    return np.cos(x) * x + np.sin(x)


def test_jvp_gives_the_value_and_the_derivative_along_the_tangent():
    y, y_dot = jax.jvp(f, (3.0,), (1.0,))
    np.testing.assert_allclose(y, np.sin(3.0) * 3.0, rtol=1e-6)
    np.testing.assert_allclose(y_dot, df(3.0), rtol=1e-6)


def test_jvp_is_linear_in_the_tangent():
    _, once = jax.jvp(f, (3.0,), (1.0,))
    _, thrice = jax.jvp(f, (3.0,), (3.0,))
    np.testing.assert_allclose(thrice, 3 * once, rtol=1e-6)


def test_a_result_that_does_not_depend_on_the_input_has_a_zero_tangent():
    assert float(jax.jvp(lambda x: cos(1.0), (3.0,), (1.0,))[1]) == 0.0


def test_a_rule_gets_symbolic_zeros_for_operands_that_do_not_move():
    seen = []
    rule = jvp_rules[primitives.add_p]
    try:
        jvp_rules[primitives.add_p] = lambda primals, tangents: (
            seen.append(tangents),
            rule(primals, tangents),
        )[1]
        jax.jvp(lambda x: add(x, 2.0), (1.0,), (1.0,))
    finally:
        jvp_rules[primitives.add_p] = rule
    assert type(seen[0][1]) is Zero


def test_nested_differentiation_keeps_its_tangents_apart():
    """d/dx (x * d/dy (x + y)) is 1; confusing the two perturbations would give 2."""

    def derivative(g, x):
        return jax.jvp(g, (x,), (1.0,))[1]

    assert float(derivative(lambda x: mul(x, derivative(lambda y: add(x, y), 1.0)), 1.0)) == 1.0


def test_second_derivatives_come_from_nesting():
    first = lambda x: jax.jvp(f, (x,), (1.0,))[1]  # noqa: E731
    _, second = jax.jvp(first, (3.0,), (1.0,))
    np.testing.assert_allclose(second, 2 * np.cos(3.0) - 3.0 * np.sin(3.0), rtol=1e-5)


def test_python_control_flow_sees_the_primal():
    def relu(x):
        return x if gt(x, 0.0) else mul(x, 0.0)

    assert float(jax.jvp(relu, (2.0,), (1.0,))[1]) == 1.0
    assert float(jax.jvp(relu, (-2.0,), (1.0,))[1]) == 0.0


def test_primals_and_tangents_are_trees():
    def g(pair):
        return {"sum": add(pair[0], pair[1])}

    out, tangent = jax.jvp(g, ((1.0, 2.0),), ((10.0, 20.0),))
    assert float(out["sum"]) == 3.0 and float(tangent["sum"]) == 30.0


def test_has_aux_passes_a_value_that_is_not_differentiated():
    y, y_dot, aux = jax.jvp(lambda x: (sin(x), "note"), (0.0,), (1.0,), has_aux=True)
    assert float(y_dot) == 1.0 and aux == "note"


def test_a_tangent_must_have_the_primals_dtype():
    with pytest.raises(TypeError, match="primal dtype float32.*tangent dtype int32"):
        jax.jvp(f, (3.0,), (1,))


def test_a_tangent_must_have_the_primals_shape():
    with pytest.raises(ValueError, match=r"primal shape \(3,\).*\(4,\)"):
        jax.jvp(f, (np.ones(3, np.float32),), (np.ones(4, np.float32),))


def test_primals_and_tangents_come_in_tuples_of_one_structure():
    with pytest.raises(TypeError, match="must be tuples or lists"):
        jax.jvp(f, 3.0, 1.0)
    with pytest.raises(TypeError, match="same tree structure"):
        jax.jvp(f, ((3.0, 3.0),), (1.0,))
    with pytest.raises(TypeError, match="same tree structure"):
        jax.jvp(f, [3.0], (1.0,))


def test_a_missing_rule_names_the_primitive_and_the_table():
    cube_p = core.Primitive("cube")
    cube_p.def_impl(lambda x: x**3)
    cube_p.def_abstract_eval(lambda aval: aval)
    with pytest.raises(NotImplementedError, match="primitive 'cube' has no jvp rule"):
        jax.jvp(cube_p.bind, (2.0,), (1.0,))
    defjvp(cube_p, lambda g, x: mul(g, mul(3.0, mul(x, x))))
    assert float(jax.jvp(cube_p.bind, (2.0,), (1.0,))[1]) == 12.0
