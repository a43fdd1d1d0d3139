"""Arrays without elements, wherever a loop or branch makes, reads or carries them: compiled equals eager.

Each function takes a matrix of 4 x 2 and gives one.
"""

import numpy as np
import pytest

import tinyjax as jax
from tinyjax import lax
from tinyjax import numpy as jnp

X = np.linspace(0.1, 0.9, 8, dtype=np.float32).reshape(4, 2)
NONE = np.zeros(0, np.int32)


def rows(c):
    """Computed, not only sliced."""
    return jnp.sin(c[1:1] * 0.5)


def columns(c):
    return jnp.sin(c[:, :0] * 0.5)


def conv(images, kernels):
    return lax.conv(images, kernels, (1, 1), "SAME")


IN_KERNELS = {
    "concatenate": lambda c: jnp.concatenate([rows(c), c[:2], rows(c), c[2:]]),
    "sum": lambda c: c + jnp.sum(rows(c), 0),
    "sums": lambda c: c + jnp.sum(jnp.sum(rows(c), 1)),
    "product": lambda c: c * jnp.prod(rows(c)),
    "max": lambda c: c + jnp.max(rows(c), 0, initial=-1),
    "all": lambda c: jnp.where(jnp.all(rows(c) > 1), c, 0),
    "mean": lambda c: jnp.nan_to_num(jnp.mean(rows(c)), nan=2) + c,
    "argmax": lambda c: c + jnp.argmax(rows(c), 1).sum(),
    "nothing contracted": lambda c: c + columns(c) @ c[:0],
    "no dot": lambda c: c + jnp.dot(rows(c)[:, 0], rows(c)[:, 1]),
    "products without elements": lambda c: c + jnp.sum(rows(c) @ c.T),
    "outer": lambda c: c + jnp.sum(jnp.outer(rows(c), c)),
    "gather": lambda c: jnp.concatenate([c[NONE], c]),
    "dynamic slice": lambda c: c + jnp.sum(lax.dynamic_slice(c, (1, 0), (0, 2))),
    "dynamic update": lambda c: lax.dynamic_update_slice(c, rows(c), (1, 0)),
    "pad": lambda c: c + jnp.pad(rows(c), ((1, 3), (0, 0)), constant_values=1),
    "pad to nothing": lambda c: c + jnp.sum(lax.pad(c, np.float32(0), ((-2, -2, 0), (0, 0, 0)))),
    "softmax": lambda c: jnp.concatenate([jax.nn.softmax(columns(c), 1), c], 1),
    "associative scan": lambda c: lax.associative_scan(jnp.multiply, c),
    "flipped": lambda c: jnp.concatenate([rows(c)[::-1].T, c.T], 1).T,
    "select": lambda c: c + jnp.sum(jnp.where(rows(c) > 0, rows(c), 2.0)),
    "iota": lambda c: c + jnp.sum(jnp.arange(0.0) * c[0, 0]),
    "broadcast": lambda c: c + jnp.sum(jnp.broadcast_to(rows(c), (3, 0, 2)).reshape(2, 0)),
    "split": lambda c: jnp.concatenate(jnp.split(c, [0, 0, 2, 4])),
    "vmap": lambda c: c + jnp.sum(jax.vmap(jnp.exp)(rows(c))),
    "bfloat16": lambda c: jnp.concatenate([rows(c).astype(jnp.bfloat16) * 2, c]),
}
BY_STEPS = {
    "cumsum": lambda c: jnp.concatenate([jnp.cumsum(rows(c), 0), c]),
    "sort": lambda c: jnp.concatenate([jnp.sort(rows(c), 0), c]),
    "scatter": lambda c: c.at[NONE].add(1),
    "scatter to nothing": lambda c: c + jnp.sum(rows(c).at[np.array([0, 1])].add(1)),
    "window": lambda c: c + lax.reduce_window(rows(c), 0.0, lax.add, (3, 1), (1, 1), [(4, 2), (0, 0)]),
    "window too large": lambda c: c + lax.reduce_window(
        c, -np.inf, lax.max, (6, 1), (1, 1), "VALID"
    ).sum(),
    "no features": lambda c: c + conv(c[None, None][:, :0], jnp.ones((2, 0, 1, 1))).sum(),
    "no images": lambda c: c + conv(c[None, None][:0], jnp.ones((2, 1, 1, 1))).sum(),
    "no pixels": lambda c: c + conv(rows(c)[None, None], jnp.ones((1, 1, 2, 1))).sum(),
    "complex": lambda c: c + jnp.sum(jnp.real(rows(c) * 1j)),
    "segments": lambda c: c + jax.ops.segment_sum(rows(c), NONE, 4),
    "no rounds": lambda c: lax.scan(lambda a, x: (a + x, x), c, c[:0])[0],
    "rows of no rounds": lambda c: c + jnp.sum(lax.scan(lambda a, x: (a + x, x), c, rows(c))[1]),
    "xs without elements": lambda c: lax.scan(lambda a, x: (a + x.sum(), x), c, columns(c))[0],
    "carry without elements": lambda c: c + lax.fori_loop(0, 3, lambda i, a: a * 2, rows(c)).sum(),
    "one carry without elements": lambda c: lax.fori_loop(
        0, 3, lambda i, s: (s[0] * 2, s[1] + s[0].sum() + 1), (rows(c), c)
    )[1],
    "a branch's operand": lambda c: lax.cond(c[0, 0] > 0, lambda a: c + a.sum(), lambda a: c, rows(c)),
    "a branch's result": lambda c: c + lax.switch(1, [jnp.sin, jnp.cos, jnp.tan], rows(c)).sum(),
    "map": lambda c: c + jnp.sum(lax.map(lambda row: row * 2, rows(c))),
}  # fmt: skip

CONTEXTS = {
    "plain": lambda f: f,
    "fori_loop": lambda f: (
        lambda c: lax.fori_loop(0, 2, lambda i, s: (s[0] * 0.5, f(s[0])), (c, f(c)))[1]
    ),
    "while_loop": lambda f: (
        lambda c: lax.while_loop(
            lambda s: s[0][0, 0] > 0.04, lambda s: (s[0] * 0.5, f(s[0])), (c, f(c))
        )[1]
    ),
    "scan": lambda f: lambda c: lax.scan(lambda c, x: (c * x, f(c)), c, np.ones(2, "f"))[1],
    "scan of length 0": lambda f: lambda c: lax.scan(lambda c, x: (c * x, f(c)), c, c[:0, 0]),
    "map": lambda f: lambda c: lax.map(lambda k: f(c * k), np.array([1, 2], "f")),
    "cond": lambda f: lambda c: lax.cond(c[0, 0] < 1, f, lambda c: f(c) * 2, c),
    "switch": lambda f: lambda c: lax.switch(jnp.int32(c[0, 0] < 1), [lambda c: f(c) * 2, f], c),
    "map in a scan": lambda f: CONTEXTS["scan"](CONTEXTS["map"](f)),
}
AROUND = {
    "vmap": lambda f: lambda c: jax.vmap(f)(jnp.stack([c, c * 2])),
    "vmap of nothing": lambda f: lambda c: jax.vmap(f)(c[None][:0]),
    "grad": lambda f: jax.grad(lambda c: jnp.sum(f(c) ** 2)),
}
BOTH = pytest.mark.parametrize("functions", [IN_KERNELS, BY_STEPS], ids=["kernels", "steps"])


def all_of(functions):
    return lambda c: jnp.stack([f(c) for f in functions.values()])


def compare(f):
    for got, want in zip(jax.tree.leaves(jax.jit(f)(X)), jax.tree.leaves(f(jnp.asarray(X)))):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@BOTH
@pytest.mark.parametrize("context", CONTEXTS)
def test_compiled_equals_eager(context, functions):
    compare(CONTEXTS[context](all_of(functions)))


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("transformation", AROUND)
def test_transformed_loops_and_branches(transformation, functions):
    f = all_of(functions)
    compare(lambda c: [AROUND[transformation](CONTEXTS[name](f))(c) for name in ("scan", "cond")])


def test_a_loop_with_parts_without_elements_is_one_kernel():
    lowered = jax.jit(CONTEXTS["scan"](all_of(IN_KERNELS))).lower(X)
    assert "one kernel" in lowered.as_text("schedule")


def test_a_carry_without_elements_goes_through_a_while_loop():
    def rounds(c):
        init = rows(c), c, 0
        return lax.while_loop(lambda s: s[2] < 3, lambda s: (s[0], s[1] * 2, s[2] + 1), init)

    compare(rounds)
    compare(jax.vmap(rounds, in_axes=1))


def test_a_convolution_of_no_examples():
    images, kernels = jnp.ones((0, 2, 1, 4, 2)), jnp.ones((0, 3, 1, 2, 2))
    for in_axes in ((0, 0), (0, None), (None, 0)):
        args = [
            x if axis == 0 else jnp.ones(x.shape[1:]) for x, axis in zip((images, kernels), in_axes)
        ]
        assert jax.vmap(conv, in_axes)(*args).shape == (0, 2, 3, 4, 2)
