"""Random programs: nested control flow over random operations, drawn by hypothesis.

A program is a tree of tuples, a value that can be printed, kept and run again: `run(program, x)` is
a function of a vector of three floats that gives one, written in jax.numpy and jax.lax alone. All
intermediate values are kept within a few units, so that rounding stays small.
tools/check_random_programs.py checks as many of them as you have patience for.
"""

from functools import cache, partial

import numpy as np
from hypothesis import strategies as st

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

SIZE = 3

UNARY = {
    "sin": jnp.sin,
    "neg": jnp.negative,
    "tanh": jnp.tanh,
    "square": lambda x: x * x / 4,
    "abs": jnp.abs,
    "reverse": lambda x: x[::-1],
    "mean": lambda x: x - jnp.mean(x),
    "cumsum": lambda x: jnp.cumsum(x) / SIZE,
    "max": lambda x: jnp.maximum(x, jnp.max(x) - 1),
    "exp": lambda x: jnp.exp(-x * x),
    "round": lambda x: x.astype(int).astype(x.dtype) / 2,
}
BINARY = {
    "add": lambda x, y: (x + y) / 2,
    "mul": lambda x, y: x * y / 2,
    "max": jnp.maximum,
    "where": lambda x, y: jnp.where(x > y, x, y / 2),
    "dot": lambda x, y: jnp.dot(x, y) * x / 8,
    "index": lambda x, y: x[jnp.argmax(y)] - y,
}

# ---- drawing a program ----

#: A program over its argument: ("x",), or a node that has programs within.
leaf = st.just(("x",))


def _nodes(inner):
    one, two = st.tuples(inner), st.tuples(inner, inner)
    rounds = st.integers(0, 4)
    node = st.one_of(
        st.tuples(st.just("unary"), st.sampled_from(sorted(UNARY)), one),
        st.tuples(st.just("binary"), st.sampled_from(sorted(BINARY)), two),
        st.tuples(st.just("cond"), st.just(""), st.tuples(inner, inner, inner)),
        st.tuples(st.just("switch"), st.just(""), st.tuples(inner, inner, inner, inner)),
        st.tuples(st.just("while"), rounds, two),
        st.tuples(st.just("fori"), rounds, two),
        st.tuples(st.just("scan"), st.booleans(), two),
        st.tuples(st.just("map"), st.just(""), two),
        st.tuples(st.just("jit"), st.just(""), two),
        st.tuples(st.just("checkpoint"), st.just(""), two),
        st.tuples(st.just("custom_jvp"), st.just(""), two),
    )
    return node


#: Lists of different programs, none of them just ("x",).
batches = partial(st.lists, _nodes(st.recursive(leaf, _nodes, max_leaves=6)), unique=True)

# ---- running one ----


def run(program, x):
    """The program's value at `x`, both vectors of SIZE floats."""
    kind, *rest = program
    if kind == "x":
        return x
    if kind == "jit":
        return _jitted(program)(x)
    how, parts = rest
    return NODES[kind](how, [partial(run, part) for part in parts], x)


def _unary(name, parts, x):
    return UNARY[name](parts[0](x))


def _binary(name, parts, x):
    return BINARY[name](parts[0](x), parts[1](x))


def _cond(_, parts, x):
    which, then, otherwise = parts
    return lax.cond(jnp.sum(which(x)) > 0.25, then, otherwise, x)


def _switch(_, parts, x):
    which, *branches = parts
    return lax.switch(jnp.floor(2 * which(x)[0]).astype(int), branches, x)


def _while(rounds, parts, x):
    until, step = parts

    def unfinished(state):
        i, y = state
        return (i <= rounds) & (jnp.sum(until(y)) < 1)

    # x is closed over, and the carry has an integer beside the floats
    return lax.while_loop(unfinished, lambda s: (s[0] + 1, (step(s[1]) + x) / 2), (0, x))[1]


def _fori(rounds, parts, x):
    start, step = parts
    return lax.fori_loop(0, rounds, lambda i, y: jnp.sin(step(y) + 0.1 * i), start(x))


def _scan(reverse, parts, x):
    step, output = parts

    def body(carry, element):
        carry = (step(carry) + element) / 2
        return carry, jnp.mean(output(carry))

    carry, ys = lax.scan(body, x, x, reverse=reverse)
    return (carry + ys) / 2


def _map(_, parts, x):
    data, f = parts
    return lax.map(lambda element: jnp.mean(f(x * element)), data(x))


@cache
def _jitted(program):
    """Made once for each program, so that it is compiled once."""
    first, second = program[2]
    return jax.jit(lambda x: (run(first, x) + run(second, x)) / 2)


def _checkpoint(_, parts, x):
    return jax.checkpoint(lambda x: parts[1](parts[0](x)))(x)


def _custom_jvp(_, parts, x):
    value, derivative = parts

    @jax.custom_jvp
    def f(x):
        return value(x)

    f.defjvp(lambda xs, ts: (f(*xs), derivative(*xs) * ts[0]))
    return f(x)


NODES = {
    "unary": _unary,
    "binary": _binary,
    "cond": _cond,
    "switch": _switch,
    "while": _while,
    "fori": _fori,
    "scan": _scan,
    "map": _map,
    "checkpoint": _checkpoint,
    "custom_jvp": _custom_jvp,
}

# ---- checking them ----

POINTS = np.array([[0.3, -0.8, 1.1], [-1.5, 0.2, 0.6], [0.9, 0.7, -0.1]], np.float32)


def disagreements(batch):
    """What is not the same eagerly, jitted, and jitted with vmap: (program, how, expected, got).

    All programs are compiled together, as building them is what takes the time."""
    fun = lambda x: [run(program, x) for program in batch]  # noqa: E731
    eager, nearby = _at_points(fun, POINTS), _at_points(fun, POINTS * np.float32(1 + 1e-6))
    jitted, batched = _at_points(jax.jit(fun), POINTS), jax.jit(jax.vmap(fun))(POINTS)
    found = []
    for program, expected, near, *results in zip(batch, eager, nearby, jitted, batched):
        if not np.allclose(near, expected, rtol=1e-3, atol=1e-4):
            continue  # at a jump, where rounding decides
        for how, got in zip(("jit", "jit of vmap"), results):
            if not np.allclose(got, expected, rtol=1e-3, atol=1e-4):
                found.append((program, how, expected, np.asarray(got)))
    return found


def _at_points(fun, points):
    """For each program, its values at all points."""
    return [np.stack(values) for values in zip(*map(fun, points))]
