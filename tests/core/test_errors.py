"""Errors about tracers name the function and its argument, and their advice works where it is followed."""

import inspect
import math

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

v = jnp.arange(1.0, 4.0)


def magnitude(x):
    return x if x > 0 else -x


def custom_jvp_of(fun):
    function = jax.custom_jvp(fun)
    function.defjvp(lambda primals, tangents: (function(*primals), *tangents))
    return function


def message(fun, *args, **kwargs):
    with pytest.raises((TypeError, IndexError)) as raised:
        fun(*args, **kwargs)
    return str(raised.value)


# ---- whose value it is ----


def line_of(fun):
    return f"{__file__}:{inspect.getsourcelines(fun)[1]}"


@pytest.mark.parametrize(
    ("traced", "name"),
    [
        (lambda f: jax.jit(f)(1.0), "jax.jit"),
        (lambda f: jax.make_jaxpr(f)(1.0), "jax.make_jaxpr"),
        (lambda f: jax.eval_shape(f, 1.0), "jax.eval_shape"),
        (lambda f: jax.checkpoint(f)(1.0), "jax.checkpoint"),
        (lambda f: jax.grad(jax.jit(f))(1.0), "jax.jit"),
        (lambda f: jax.jit(jax.grad(f))(1.0), "jax.jit"),
        (lambda f: jax.jit(lambda y: jax.jit(f)(y))(1.0), "jax.jit"),
        (lambda f: lax.cond(True, f, f, 1.0), "lax.cond"),
        (lambda f: lax.switch(0, [f, f], 1.0), "lax.switch"),
        (lambda f: lax.while_loop(lambda x: x < 0, f, 1.0), "lax.while_loop"),
        (lambda f: lax.map(f, v), "lax.map"),
        (lambda f: jax.jit(custom_jvp_of(f))(1.0), "jax.custom_jvp"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_the_traced_function_its_place_and_the_argument_are_named(traced, name):
    said = message(traced, magnitude)
    assert f"{name} traces magnitude once" in said
    assert "depends on the argument x" in said and f"magnitude at {line_of(magnitude)}" in said


def test_arguments_are_named_as_they_were_given():
    @jax.jit
    def f(params, *rest, scale):
        return params if params["w"] * rest[1] * scale > 0 else 0

    said = message(f, {"w": 1.0, "b": 2.0}, 3.0, 4.0, scale=5.0)
    assert "the arguments params['w'] and rest[1] and scale of f" in said


def test_an_empty_array_is_neither_true_nor_false():
    for is_true in bool, jax.jit(bool):
        with pytest.raises(ValueError, match="an empty array is ambiguous.*Use x.size > 0"):
            is_true(jnp.zeros(0))


def test_wrappers_that_wrap_each_other_have_a_name():
    class Loop:
        def __call__(self, x):
            return magnitude(x)

    loop = Loop()
    loop.__wrapped__ = loop
    assert "of Loop at" in message(jax.jit(loop), 1.0)


def test_an_object_that_can_be_called_is_named_by_its_class():
    class Layer:
        def __call__(self, x):
            return magnitude(x)

    said = message(jax.jit(Layer()), 1.0)
    assert f"the argument x of Layer at {line_of(Layer.__call__)}" in said


def test_a_loops_carry_and_slices_are_named():
    carry = message(lax.scan, lambda c, x: (c if c > 0 else x, x), 0.0, v)
    assert "the argument c (the carry)" in carry
    xs = message(lax.scan, lambda c, x: (c, c if x > 0 else x), 0.0, v)
    assert "the argument x (one slice of xs)" in xs
    fori = message(lax.fori_loop, 0, 3, lambda i, total: total + [1, 2, 3][i], 0)
    assert "the argument i (the loop index)" in fori


def test_a_closed_over_value_is_that_of_the_outer_function():
    @jax.jit
    def outer(x, y):
        return lax.cond(y > 0, lambda: 1 if x > 0 else 2, lambda: 3)

    assert "the argument x of outer" in message(outer, 1.0, 2.0)


def test_what_depends_on_no_argument_says_so():
    said = message(jax.jit(lambda x: 1 if jnp.zeros(()) > 0 else x), 1.0)
    assert "depends on" not in said and "NumPy computes at once" in said


def test_a_leaked_tracer_names_its_line_and_what_was_traced():
    leaked = []

    def leaky(x):
        leaked.append(jnp.sin(x))
        return x

    jax.jit(leaky)(1.0)
    said = message(lambda: leaked[0] + 1)
    assert f"{__file__}:{inspect.getsourcelines(leaky)[1] + 1} (leaky)" in said
    assert f"while jax.jit traced leaky at {line_of(leaky)}" in said


# ---- advice that works where it is followed ----


@pytest.mark.parametrize(
    ("fails", "advice", "works"),
    [
        # if, while, and
        (
            lambda: jax.jit(magnitude)(1.0),
            ["jnp.where(condition, a, b)", "jax.jit(..., static_argnames='x')"],
            [
                lambda: jax.jit(lambda x: jnp.where(x > 0, x, -x))(1.0),
                lambda: jax.jit(magnitude, static_argnames="x")(1.0),
            ],
        ),
        (
            lambda: jax.vmap(magnitude)(v),
            ["one value per example", "jax.vmap", "jnp.where(condition, a, b)", "lax.cond"],
            [
                lambda: jax.vmap(lambda x: jnp.where(x > 0, x, -x))(v),
                lambda: jax.vmap(lambda x: lax.cond(x > 0, lambda: x, lambda: -x))(v),
            ],
        ),
        (
            lambda: jax.jit(lambda x: x > 0 and x < 1)(1.0),
            ["& | ~ for and, or, not"],
            [lambda: jax.jit(lambda x: (x > 0) & (x < 1))(1.0)],
        ),
        (
            lambda: lax.scan(lambda c, x: (c if c > 0 else x, x), 0.0, v),
            ["lax.cond"],
            [lambda: lax.scan(lambda c, x: (lax.cond(c > 0, lambda: c, lambda: x), x), 0.0, v)],
        ),
        (
            lambda: jax.checkpoint(lambda x, flag: x if flag else -x)(1.0, True),
            ["jax.checkpoint(..., static_argnums=1)"],
            [
                lambda: jax.checkpoint(lambda x, flag: x if flag else -x, static_argnums=1)(
                    1.0, True
                )
            ],
        ),
        (
            lambda: jax.make_jaxpr(lambda x, flag: x if flag else -x)(1.0, True),
            ["jax.make_jaxpr(..., static_argnums=1)"],
            [
                lambda: jax.make_jaxpr(lambda x, flag: x if flag else -x, static_argnums=1)(
                    1.0, True
                )
            ],
        ),
        (
            lambda: jax.jit(lambda *xs: xs[0] if xs[1] else -xs[0])(1.0, True),
            ["jax.jit(..., static_argnums=1)"],
            [lambda: jax.jit(lambda *xs: xs[0] if xs[1] else -xs[0], static_argnums=1)(1.0, True)],
        ),
        # Python numbers
        (
            lambda: jax.grad(lambda x: math.sin(x))(1.0),
            ["carries a tangent", "jnp.sin(x) for math.sin(x)"],
            [lambda: jax.grad(lambda x: jnp.sin(x))(1.0)],
        ),
        (
            lambda: jax.vmap(lambda x: float(x))(v),
            ["x.astype(float)"],
            [lambda: jax.vmap(lambda x: x.astype(float))(v)],
        ),
        (
            lambda: jax.jit(lambda x: int(x))(1.5),
            ["x.astype(int)"],
            [lambda: jax.jit(lambda x: x.astype(int))(1.5)],
        ),
        (
            lambda: jax.jit(lambda x: x.tolist())(v),
            ["outside of the function", 'jax.debug.print("{}", x)'],
            [
                lambda: jax.jit(lambda x: x)(v).tolist(),
                lambda: jax.jit(lambda x: jax.debug.print("{}", x))(v),
            ],
        ),
        (
            lambda: jax.jit(lambda i: [1, 2][i])(1),
            ["jnp.array(values)[i]", "static_argnames='i'"],
            [
                lambda: jax.jit(lambda i: jnp.array([1, 2])[i])(1),
                lambda: jax.jit(lambda i: [1, 2][i], static_argnames="i")(1),
            ],
        ),
        (
            lambda: jax.jit(lambda n: sum(range(n)))(3),
            ["lax.fori_loop(0, n, body, init)"],
            [lambda: jax.jit(lambda n: lax.fori_loop(0, n, lambda i, total: total + i, 0))(3)],
        ),
        # NumPy
        (
            lambda: jax.jit(lambda x: np.sin(x))(v),
            ["jnp.sin for np.sin", "jax.pure_callback"],
            [
                lambda: jax.jit(lambda x: jnp.sin(x))(v),
                lambda: jax.jit(lambda x: jax.pure_callback(np.sin, x, x))(v),
            ],
        ),
        (
            lambda: jax.grad(lambda x: x * np.sin(x))(1.0),
            ["jnp.sin for np.sin", "jax.lax.stop_gradient(x)"],
            [
                lambda: jax.grad(lambda x: x * jnp.sin(x))(1.0),
                lambda: jax.grad(lambda x: x * np.sin(lax.stop_gradient(x)))(1.0),
            ],
        ),
        # shapes
        (
            lambda: jax.jit(lambda n: jnp.zeros(n))(3),
            ["jax.jit(..., static_argnames='n')"],
            [lambda: jax.jit(lambda n: jnp.zeros(n), static_argnames="n")(3)],
        ),
        (
            lambda: jax.jit(lambda x, n: x.reshape(n, -1))(v, 3),
            ["the argument n of", "jax.jit(..., static_argnames='n')"],
            [lambda: jax.jit(lambda x, n: x.reshape(n, -1), static_argnames="n")(v, 3)],
        ),
        (
            lambda: jax.vmap(lambda n, x: jnp.zeros(n) + x)(jnp.array([2, 2, 2]), v),
            ["in_axes=None"],
            [lambda: jax.vmap(lambda n, x: jnp.zeros(n) + x, in_axes=(None, 0))(2, v)],
        ),
        (
            lambda: jax.jit(lambda x, n: x[:n])(v, 2),
            ["lax.dynamic_slice_in_dim(x, start, size)", "jnp.where(jnp.arange(len(x)) < n, x, 0)"],
            [
                lambda: jax.jit(lambda x, n: lax.dynamic_slice_in_dim(x, n, 1))(v, 2),
                lambda: jax.jit(lambda x, n: jnp.where(jnp.arange(len(x)) < n, x, 0))(v, 2),
            ],
        ),
        (
            lambda: jax.jit(jnp.unique)(v),
            ["size=", "fill_value="],
            [lambda: jax.jit(lambda x: jnp.unique(x, size=3, fill_value=0))(v)],
        ),
        (
            lambda: jax.jit(jnp.nonzero)(v),
            ["size=", "fill_value="],
            [lambda: jax.jit(lambda x: jnp.nonzero(x, size=3, fill_value=0))(v)],
        ),
        (
            lambda: jax.jit(jnp.bincount)(jnp.arange(3)),
            ["length="],
            [lambda: jax.jit(lambda x: jnp.bincount(x, length=3))(jnp.arange(3))],
        ),
        (
            lambda: jax.jit(lambda x, n: jnp.repeat(x, n))(v, 2),
            ["total_repeat_length=", "static_argnames='n'"],
            [
                lambda: jax.jit(lambda x, n: jnp.repeat(x, n, total_repeat_length=6))(v, 2),
                lambda: jax.jit(lambda x, n: jnp.repeat(x, n), static_argnames="n")(v, 2),
            ],
        ),
        (
            lambda: jax.jit(lambda x: x[x > 1])(v),
            ["jnp.where(mask, x, fill)", "size=n", "where=mask"],
            [
                lambda: jax.jit(lambda x: jnp.where(x > 1, x, 0))(v),
                lambda: jax.jit(lambda x: x[jnp.nonzero(x > 1, size=2, fill_value=0)])(v),
                lambda: jax.jit(lambda x: jnp.sum(x, where=x > 1))(v),
            ],
        ),
    ],
)
def test_advice_works_where_it_is_followed(fails, advice, works):
    said = message(fails)
    assert [text for text in advice if text not in said] == []
    for program in works:
        program()


@pytest.mark.parametrize(
    "fails",
    [
        lambda: jax.grad(lambda x: math.sin(x))(1.0),
        lambda: jax.vmap(magnitude)(v),
        lambda: jax.jit(lambda x: magnitude(x.sum()))(v),
        lambda: jax.jit(lambda x: x.tolist())(v),
        lambda: jax.jit(lambda x: x.item())(1.0),
        lambda: jax.jit(jnp.unique)(v),
        lambda: jax.jit(jnp.nonzero)(v),
        lambda: jax.jit(lambda p: magnitude(p["x"]))({"x": 1.0}),
        lambda: jax.grad(jax.jit(magnitude))(1.0),
        lambda: jax.grad(jax.checkpoint(magnitude))(1.0),
        lambda: jax.vmap(jax.jit(magnitude))(v),
        lambda: jax.eval_shape(magnitude, 1.0),
        lambda: lax.scan(lambda c, x: (magnitude(c), x), 0.0, v),
    ],
)
def test_static_arguments_are_no_advice_where_there_can_be_none(fails):
    assert "static" not in message(fails)
