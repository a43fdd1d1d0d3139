"""A rule may say that a derivative is zero in any way, within a pytree, in every transformation."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.custom_derivatives import zero_from_primal
from tinyjax.interpreters import ad


def wave(x, count):
    """A float and an integer, in a pytree."""
    return {"wave": jnp.sin(x), "count": [count + 1]}


INTEGER_TANGENTS = {
    "float0": lambda count: np.zeros(np.shape(count), jax.dtypes.float0),
    "zeros of the primal": lambda count: zero_from_primal(count),
    "a symbolic zero": lambda count: zero_from_primal(count, symbolic_zeros=True),
}
INTEGER_COTANGENTS = INTEGER_TANGENTS | {"None": lambda count: None}


def with_jvp(zero, symbolic_zeros):
    def rule(primals, tangents):
        out = wave(*primals)
        tangent = {"wave": jnp.cos(primals[0]) * tangents[0], "count": [zero(out["count"][0])]}
        return out, tangent

    f = jax.custom_jvp(wave)
    f.defjvp(rule, symbolic_zeros=symbolic_zeros)
    return f


def with_jvps(zero, has_second_rule):
    def of_x(tangent, out, x, count):
        return {"wave": jnp.cos(x) * tangent, "count": [zero(out["count"][0])]}

    def of_count(tangent, out, x, count):
        return zero_from_primal(out, symbolic_zeros=True)

    f = jax.custom_jvp(wave)
    f.defjvps(of_x, of_count if has_second_rule else None)
    return f


def with_vjp(zero, symbolic_zeros):
    def fwd(x, count):
        x, count = (x.value, count.value) if symbolic_zeros else (x, count)
        return wave(x, count), (x, count)

    def bwd(residuals, ct):
        x, count = residuals
        return jnp.cos(x) * ct["wave"], zero(count)

    f = jax.custom_vjp(wave)
    f.defvjp(fwd, bwd, symbolic_zeros=symbolic_zeros)
    return f


TRANSFORMATIONS = {  # the gradient at 0.5, by each
    "grad": lambda f: jax.grad(f)(0.5, 1),
    "jit of grad": lambda f: jax.jit(jax.grad(f))(0.5, 1),
    "grad of jit": lambda f: jax.grad(jax.jit(f))(0.5, 1),
    "vmap of grad": lambda f: jax.vmap(jax.grad(f))(jnp.full(2, 0.5), jnp.arange(2))[1],
    "grad of vmap": lambda f: jax.grad(
        lambda x: jax.vmap(f, (None, 0))(x, jnp.arange(2)).sum() / 2
    )(0.5),
    "grad of checkpoint": lambda f: jax.grad(jax.checkpoint(f))(0.5, 1),
    "grad of scan": lambda f: jax.grad(
        lambda x: lax.scan(lambda c, i: (c + f(x, i) / 2, None), 0.0, jnp.arange(2))[0]
    )(0.5),
    "grad of cond": lambda f: jax.grad(lambda x: lax.cond(x < 1, f, f, x, 1))(0.5),
    "gradient of all": lambda f: jax.grad(f, (0, 1), allow_int=True)(0.5, 1)[0],
}


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("option", [False, True])
@pytest.mark.parametrize(
    "make, zero",
    [(make, zero) for make in (with_jvp, with_jvps) for zero in INTEGER_TANGENTS]
    + [(with_vjp, zero) for zero in INTEGER_COTANGENTS],
)
def test_a_rule_may_give_a_zero_within_a_pytree(make, zero, option, transformation):
    f = make(INTEGER_COTANGENTS[zero], option)
    gradient = TRANSFORMATIONS[transformation](lambda x, count: f(x, count)["wave"])
    np.testing.assert_allclose(gradient, np.cos(0.5), rtol=1e-6)


def test_a_vmapped_rule_of_a_primitive_may_take_and_give_a_zero():
    zero = ad.Zero(jax.core.ShapedArray((), jnp.float32))
    rule = lambda primal, tangents: (primal, [2 * tangents[0], tangents[1]])  # noqa: E731
    out, (first, second) = jax.vmap(rule)(jnp.ones(3), [jnp.ones(3), zero])
    assert first.shape == (3,) and type(second) is ad.Zero


def test_zeros_and_undefined_primals_have_no_leaves():
    aval = jax.core.ShapedArray((3,), jnp.float32)
    assert jax.tree.leaves([ad.Zero(aval), ad.UndefinedPrimal(aval)]) == []
    assert jax.tree.map(lambda x: x, ad.Zero(aval)).aval == aval
