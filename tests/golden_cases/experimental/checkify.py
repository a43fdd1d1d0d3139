"""Recorded cases of errors as results."""

import importlib

from golden_cases.codec import Group


def names(jax, jnp, lax):
    checkify = importlib.import_module(f"{jax.__name__}.experimental.checkify")

    def log(x):
        x = jnp.asarray(x)
        checkify.check(x > 0, "{x} must be positive, {}", jnp.float32(2), x=x)
        return jnp.log(x)

    def in_scan(xs):
        def body(c, y):
            checkify.check(y < 2, "y is {y}", y=y)
            return c + y, c

        return lax.scan(body, 0.0, xs)

    def in_while(n):
        def body(c):
            checkify.check(c < 3, "c {}", c)
            return c + 1

        return lax.while_loop(lambda c: c < n, body, 0)

    def in_the_condition(n):
        def cond(c):
            checkify.check(c < 3, "c {}", c)
            return c < n

        return lax.while_loop(cond, lambda c: c + 1, 0)

    def in_branches(p, x):
        def positive(x):
            checkify.check(x > 0, "a {}", x)
            return x * 2

        def negative(x):
            checkify.check(x < 0, "b")
            return x * 3

        return lax.cond(p, positive, negative, x)

    def twice(x):
        checkify.check(x > 0, "one")
        checkify.check(x > 1, "two")
        return x * 2

    def handed_on(x):
        error, out = checkify.checkify(log)(x)
        checkify.check_error(error)
        return out

    def debugged(x):
        checkify.debug_check(x > 0, "debug")
        return x * 2

    def checked(f, errors="user", wrap=lambda f: f):
        """The message and the results of f, checked; `wrap` is put around."""

        def call(*args):
            error, out = wrap(checkify.checkify(f, getattr(checkify, f"{errors}_checks")))(*args)
            return error.get(), out

        return call

    def by_argument(f):
        return jax.grad(lambda x: checkify.checkify(f)(x)[1])

    return {
        "checkify": checkify,
        "log": log,
        "in_scan": in_scan,
        "in_while": in_while,
        "in_the_condition": in_the_condition,
        "in_branches": in_branches,
        "twice": twice,
        "handed_on": handed_on,
        "debugged": debugged,
        "checked": checked,
        "by_argument": by_argument,
        "jit": jax.jit,
        "at": lambda x, i: x[i],
        "put": lambda x, i: x.at[i].set(1.0),
        "x": jnp.float32(-1),
        "row": jnp.array([1.0, -2, 3]),
        "table": jnp.ones((3, 4)),
    }


CHECKED = """
checked(log)(x)
checked(log)(-x)
checked(log, wrap=jit)(x)
checked(jit(log))(x)
checked(jit(log))(-x)
checked(jax.vmap(log))(jnp.array([1.0, -2, 3]))
checked(log, wrap=jax.vmap)(jnp.array([1.0, -2, -3]))
checked(jax.grad(log))(x)
checked(jax.checkpoint(log))(x)
checked(in_scan)(jnp.arange(5.0))
checked(in_scan, wrap=jit)(jnp.arange(5.0))
checked(jit(in_scan))(jnp.arange(2.0))
checked(in_while)(jnp.int32(5))
checked(in_while)(jnp.int32(2))
checked(in_while, wrap=jit)(jnp.int32(5))
checked(in_the_condition)(jnp.int32(5))
checked(in_the_condition)(jnp.int32(2))
checked(in_branches)(True, x)
checked(in_branches)(False, -x)
checked(in_branches)(False, x)
checked(in_branches, wrap=jit)(True, x)
checked(twice)(x)
checked(twice)(-x)
checked(handed_on)(x)
checked(handed_on, wrap=jit)(x)
handed_on(-x)
checked(debugged)(x)
debugged(x)
jit(debugged)(x)
by_argument(log)(2.0)
by_argument(jax.nn.relu)(2.0)
checked(log, 'nan')(x)
checked(log, 'nan')(-x)
checked(jnp.log, 'nan')(row)
checked(jit(jnp.log), 'float')(row)
checked(lambda x: jnp.sin(jnp.log(x)), 'nan')(row)
checked(lambda x: x - x, 'nan')(jnp.float32(jnp.inf))
checked(lambda x: x + 1, 'nan')(jnp.float32(jnp.nan))
checked(jnp.sort, 'nan')(jnp.array([1, jnp.nan]))
checked(lambda x: x[::-1], 'nan')(jnp.array([1, jnp.nan]))
checked(lambda x, y: x / y, 'div')(row, jnp.array([1.0, 0, 1]))
checked(lambda x, y: x // y, 'div')(jnp.array([1, 2]), jnp.array([1, 0]))
checked(lambda x, y: x / y, 'div')(row, row)
checked(at, 'index')(row, jnp.int32(5))
checked(at, 'index')(row, jnp.int32(-2))
checked(at, 'index')(table, (jnp.array([0, 1]), jnp.array([0, 7])))
checked(put, 'index')(row, jnp.int32(5))
checked(put, 'index')(row, jnp.array([0, 2]))
checked(lambda x, i: lax.dynamic_slice(x, (i,), (2,)), 'index')(row, jnp.int32(2))
checked(lambda x, i: lax.dynamic_update_slice(x, row[:2], (i,)), 'index')(row, jnp.int32(2))
checked(lambda x, i: jnp.log(x[i]), 'all')(row, jnp.int32(1))
checked(lambda x, i: jnp.log(x[i]), 'automatic')(row, jnp.int32(0))
sorted(len(getattr(checkify, f'{name}_checks')) for name in ('user', 'float', 'automatic', 'all'))
"""

GROUPS = [Group("checkify", CHECKED.strip().split("\n"))]

ERRORS = {
    "checkify": [
        ("log(x)", ["-1.0 must be positive, 2.0 (`check` failed)"]),
        ("handed_on(x)", ["-1.0 must be positive, 2.0 (`check` failed)"]),
        ("checkify.checkify(log)(x)[0].throw()", ["-1.0 must be positive, 2.0 (`check` failed)"]),
        ("jit(log)(x)", ["which was not functionalized", "jax.jit(checkify.checkify(f))"]),
        ("checkify.check(x, 'one')", ["takes a scalar pred", "a bool"]),
        ("checkify.check(row > 0, 'one')", ["takes a scalar pred", "jnp.all"]),
        ("checkify.check(x > 0, '{}', 'a')", ["PyTrees of arrays", "'a'"]),
        ("checkify.check(x > 0, '{}', 1.0)", ["PyTrees of arrays", "jnp.asarray"]),
    ]
}
