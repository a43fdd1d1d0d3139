"""Every transformation takes every kind of callable, and gives the result the callable's name."""

import functools

import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.sharding import Mesh, PartitionSpec


def square(x):
    return x * x


def scaled(scale, x):
    return scale * x * x


class Model:
    """Its attributes have the names of attributes that the transformed functions have."""

    def __init__(self):
        self.fun = self.device = self.cache = self.params = "the user's"

    def __call__(self, x):
        return x * x

    def method(self, x):
        return x * x


class NumberedModel(Model):
    __name__ = 3


class Slotted:
    __slots__ = ()

    def __call__(self, x):
        return x * x


class Unhashable(Model):
    __hash__ = None


class Squared:
    def __new__(cls, x):
        return x * x


@functools.wraps(square)
def wrapped(*args):
    return square(*args)


def with_jvp(f):
    """custom_jvp of f: the derivative is 3, so that the rule is seen to be used."""
    called = jax.custom_jvp(f)
    called.defjvp(lambda primals, tangents: (f(*primals), 3 * tangents[0]))
    return called


def with_vjp(f):
    called = jax.custom_vjp(f)
    called.defvjp(lambda x: (f(x), None), lambda _, g: (3 * g,))
    return called


def on_one_device(f):
    spec = PartitionSpec("i")
    return jax.shard_map(f, mesh=Mesh(jax.devices()[:1], ("i",)), in_specs=spec, out_specs=spec)


UNNAMED = "<unnamed function>"
CALLABLES = {  # kind -> the callable, and its name
    "function": (square, "square"),
    "lambda": (lambda x: x * x, "<lambda>"),
    "partial": (functools.partial(scaled, 1.0), "scaled"),
    "partial of a partial": (functools.partial(functools.partial(scaled), 1.0), "scaled"),
    "partial of an instance": (functools.partial(Model()), UNNAMED),
    "bound method": (Model().method, "method"),
    "instance": (Model(), UNNAMED),
    "instance whose name is a number": (NumberedModel(), UNNAMED),
    "instance without a dict": (Slotted(), UNNAMED),
    "unhashable instance": (Unhashable(), UNNAMED),
    "class": (Squared, "Squared"),
    "wrapped function": (wrapped, "square"),
    "jnp function": (jnp.square, "square"),
    "jitted function": (jax.jit(square), "square"),
    "jitted partial": (jax.jit(functools.partial(scaled, 1.0)), "scaled"),
    "checkpointed function": (jax.checkpoint(square), "square"),
    "tree partial": (jax.tree_util.Partial(scaled, 1.0), "scaled"),
}
FRONT_DOORS = {  # transformation -> how it makes a function of f, and that function's value at 2.0
    "jit": (jax.jit, 4),
    "grad": (jax.grad, 4),
    "value_and_grad": (jax.value_and_grad, (4, 4)),
    "vmap": (jax.vmap, 4),
    "jacfwd": (jax.jacfwd, 4),
    "jacrev": (jax.jacrev, 4),
    "hessian": (jax.hessian, 2),
    "checkpoint": (jax.checkpoint, 4),
    "named_call": (jax.named_call, 4),
    "pmap": (jax.pmap, 4),
    "shard_map": (on_one_device, 4),
    "vectorize": (jnp.vectorize, 4),
    "custom_jvp": (with_jvp, 4),
    "custom_vjp": (with_vjp, 4),
}
MAPS = ("vmap", "pmap", "shard_map", "vectorize")
CALLS = {  # how f is called, or derived, at 2.0, and the result
    "jvp": (lambda f: jax.jvp(f, (2.0,), (1.0,)), (4, 4)),
    "vjp": (lambda f: jax.vjp(f, 2.0)[1](1.0), (4,)),
    "linearize": (lambda f: jax.linearize(f, 2.0)[1](1.0), 4),
    "grad of jit": (lambda f: jax.grad(jax.jit(f))(2.0), 4),
    "jit of grad": (lambda f: jax.jit(jax.grad(f))(2.0), 4),
    "grad of checkpoint": (lambda f: jax.grad(jax.checkpoint(f))(2.0), 4),
    "grad of custom_jvp": (lambda f: jax.grad(with_jvp(f))(2.0), 3),
    "grad of custom_vjp": (lambda f: jax.grad(with_vjp(f))(2.0), 3),
    "make_jaxpr": (lambda f: len(jax.make_jaxpr(f)(2.0).jaxpr.outvars), 1),
    "eval_shape": (lambda f: jax.eval_shape(f, 2.0).shape, ()),
    "closure_convert": (lambda f: jax.closure_convert(f, 2.0)[0](2.0), 4),
    "lower": (lambda f: jax.jit(f).lower(2.0).compile()(2.0), 4),
    "scan": (lambda f: lax.scan(lambda c, _: (f(c), None), 2.0, None, length=2)[0], 16),
    "map": (lambda f: lax.map(f, jnp.full(1, 2.0))[0], 4),
    "while_loop": (lambda f: lax.while_loop(lambda c: c < 9, f, 2.0), 16),
    "cond": (lambda f: lax.cond(True, f, f, 2.0), 4),
    "switch, jitted": (lambda f: jax.jit(lambda i, x: lax.switch(i, [f, f], x))(1, 2.0), 4),
}


def same(got, expected):
    assert jax.tree.map(float, got) == jax.tree.map(float, expected)


@pytest.mark.parametrize("kind", CALLABLES)
@pytest.mark.parametrize("transformation", FRONT_DOORS)
def test_a_transformed_callable_has_its_name(transformation, kind):
    f, name = CALLABLES[kind]
    transform, expected = FRONT_DOORS[transformation]
    transformed = transform(f)
    assert transformed.__name__ == name
    if transformation in MAPS:
        same(transformed(jnp.full(1, 2.0))[0], expected)
    else:
        same(transformed(2.0), expected)


@pytest.mark.parametrize("kind", CALLABLES)
@pytest.mark.parametrize("call", CALLS)
def test_a_callable_is_transformed_and_called(call, kind):
    run, expected = CALLS[call]
    same(run(CALLABLES[kind][0]), expected)


def test_a_jaxpr_names_what_a_partial_calls():
    assert "name=scaled" in str(jax.make_jaxpr(CALLABLES["jitted partial"][0])(2.0))
