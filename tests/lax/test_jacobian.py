"""Jacobians and Hessians: jvp and vjp over a standard basis."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.core import Primitive
from tinyjax.core.primitives import mul, reduce_sum, sin
from tinyjax.transform.batching import defbroadcasting
from tinyjax.transform.jvp import defjvp

x = np.array([1.0, 2.0, 3.0], np.float32)


@pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev])
def test_the_jacobian_of_an_elementwise_function_is_diagonal(jacobian):
    np.testing.assert_allclose(jacobian(sin)(x), np.diag(np.cos(x)), rtol=1e-6)


@pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev])
def test_shapes_are_the_results_then_the_arguments(jacobian):
    jac = jacobian(lambda m: reduce_sum(m, (0,)))(np.ones((2, 3), np.float32))
    assert jac.shape == (3, 2, 3)


@pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev])
def test_trees_of_arguments_and_results(jacobian):
    jac = jacobian(lambda p: {"out": mul(p["a"], p["b"])})({"a": 2.0, "b": 3.0})
    assert float(jac["out"]["a"]) == 3.0 and float(jac["out"]["b"]) == 2.0


@pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev])
def test_several_argnums_give_a_tuple(jacobian):
    by_a, by_b = jacobian(mul, argnums=(0, 1))(2.0, 3.0)
    assert float(by_a) == 3.0 and float(by_b) == 2.0


@pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev])
def test_has_aux(jacobian):
    jac, aux = jacobian(lambda x: (sin(x), x), has_aux=True)(x)
    assert jac.shape == (3, 3) and aux.shape == (3,)


@pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev])
def test_what_is_no_function_is_refused_before_the_first_call(jacobian):
    with pytest.raises(TypeError, match="callable"):
        jacobian(3)


def test_a_jacobian_by_reverse_mode_has_the_arguments_type_by_forward_mode_the_results():
    @jax.custom_jvp
    def twice(x):
        return 2.0 * x

    twice.defjvp(lambda primals, tangents: (twice(*primals), jnp.float32(2) * tangents[0]))
    assert jax.jacfwd(twice)(1.0).weak_type
    assert not jax.jacfwd(lambda x: jnp.float32(2) * x)(1.0).weak_type
    assert jax.jacrev(lambda x: jnp.float32(2) * x)(1.0).weak_type


def test_the_hessian_is_the_jacobian_of_the_gradient():
    cubed = lambda x: reduce_sum(mul(x, mul(x, x)), (0,))  # noqa: E731
    np.testing.assert_allclose(jax.hessian(cubed)(x), np.diag(6 * x), rtol=1e-6)


def test_a_hessian_by_two_arguments_has_a_table_for_each_pair():
    (xx, xy), (yx, yy) = jax.hessian(lambda x, y: mul(x, mul(x, y)), argnums=(0, 1))(2.0, 3.0)
    assert [float(h) for h in (xx, xy, yx, yy)] == [6.0, 4.0, 4.0, 0.0]


def test_a_hessian_has_aux_and_complex_arguments_too():
    cubed = lambda x: x * x * x  # noqa: E731
    hessian, aux = jax.hessian(lambda x: (cubed(x), x), has_aux=True)(2.0)
    assert (float(hessian), float(aux)) == (12.0, 2.0)
    assert complex(jax.hessian(cubed, holomorphic=True)(1 + 2j)) == 6 + 12j


def test_the_hessian_is_forward_over_reverse():
    cube, slope, moved = (Primitive(name) for name in ("cube", "slope", "moved"))
    cube.def_impl(lambda x: x * x * x)
    slope.def_impl(lambda x: 3 * x * x)
    moved.def_impl(lambda x_dot, x: 6 * x * x_dot)
    for primitive in (cube, slope, moved):
        primitive.def_abstract_eval(lambda x, *_: x)
        defbroadcasting(primitive)
    defjvp(cube, lambda x_dot, x: mul(x_dot, slope.bind(x)))
    defjvp(slope, lambda x_dot, x: moved.bind(x_dot, x))  # forward alone: it has no transpose rule
    assert float(jax.hessian(cube.bind)(2.0)) == 12.0


def test_jacrev_takes_complex_inputs_of_a_real_function_as_grad_does():
    squared = lambda z: jnp.abs(z) ** 2  # noqa: E731
    assert jax.jacrev(squared)(1 + 2j) == jax.grad(squared)(1 + 2j) == 2 - 4j


def test_a_holomorphic_jacobian_needs_complex_results():
    with pytest.raises(TypeError, match="jacfwd requires .*complex.* got float32"):
        jax.jacfwd(jnp.abs, holomorphic=True)(1 + 2j)


@pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev])
def test_integers_have_no_jacobian(jacobian):
    with pytest.raises(TypeError, match="real.*-valued inputs.*int32"):
        jacobian(lambda n: n)(np.arange(3))


def test_the_jacobian_of_an_integer_result_is_zeros_of_its_dtype():
    x, i = jnp.ones(2), jnp.arange(3, dtype="uint8")
    of_x, of_i = jax.jacfwd(lambda x: (2 * x, i))(x)
    assert of_x.tolist() == [[2, 0], [0, 2]]
    assert (of_i.shape, of_i.dtype, of_i.sum()) == ((3, 2), "uint8", 0)
    by_integers = jax.jacrev(lambda i: i * 2.0, allow_int=True)(i)
    assert (by_integers.shape, by_integers.dtype) == ((3, 3), "uint8")
