"""Each pass left out in turn: what a program gives is the same, to the bit where the pass says so.

Only lower_prng_keys can't be left out, where a program is given random keys, or gives some.
"""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from random_programs import draw

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.kernel.kernel_ir import KernelError
from tinyjax.compile.passes import pipeline
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.tracing import make_jaxpr

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
TABLE = np.arange(12, dtype=np.float32).reshape(3, 4)

each_pass = pytest.mark.parametrize("left_out", pipeline.PASSES, ids=lambda p: p.name)


def calls(x):
    layer = jax.jit(lambda x: jnp.tanh(x * 1.0) / 4)
    return layer(layer(x)) + layer(x), jnp.sin(TABLE) * x


def loops(x):
    def step(c, row):
        c = jax.jit(jnp.sin)(c) * TABLE[1] + jnp.sin(c) / 2
        return c, c + row * 1.0

    def grow(c):
        return c[0] + 1, lax.cond(c[1].sum() > 3, lambda c: c * TABLE[0], lambda c: c + 1.0, c[1])

    c, rows = lax.scan(step, x[0], x)
    return lax.while_loop(lambda c: c[0] < 4, grow, (0, c)), rows


def gradients(x):
    loss = jax.checkpoint(lambda w: jnp.sum(jnp.tanh(x @ w.T) ** 2))
    return jax.value_and_grad(loss)(TABLE / 9)


PROGRAMS = (calls, loops, gradients)


def same_bits(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def without(monkeypatch, left_out):
    others = tuple(p for p in pipeline.PASSES if p is not left_out)
    monkeypatch.setattr(pipeline, "PASSES", others)


@each_pass
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_compiled_program_needs_no_pass(monkeypatch, left_out, program):
    expected = jax.jit(lambda x: program(x))(X)
    without(monkeypatch, left_out)
    found = jax.jit(lambda x: program(x))(X)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_a_program_of_random_keys_needs_lower_prng_keys(monkeypatch):
    assert pipeline.KEYS.name == "lower_prng_keys" and pipeline.KEYS not in pipeline.PASSES
    draws = lambda key: jax.random.normal(jax.random.split(key)[0], (3,))  # noqa: E731
    key = jax.random.key(0)
    assert same_bits(jax.jit(draws)(key), draws(key))
    left_out = replace(pipeline.KEYS, function=lambda closed: closed)
    monkeypatch.setattr(pipeline, "KEYS", left_out)
    assert same_bits(jax.jit(lambda: draws(key))(), draws(key)), "within a program, NumPy has keys"
    for f, args in [(lambda key: draws(key) * 2, [key]), (lambda: jax.random.key(1), [])]:
        with pytest.raises(KernelError, match="lower_prng_keys .* can't be left out"):
            jax.jit(f)(*args)


@each_pass
def test_evaluated_equation_by_equation_no_bit_differs(monkeypatch, left_out):
    traced = [(make_jaxpr(f)(X), [X]) for f in PROGRAMS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for program in map(draw, range(20)):
            args = [values[0] for values in program.values()]
            traced.append((make_jaxpr(program.function(jax))(*args), args))
        expected = [eager_jaxpr_fun(pipeline.run_passes(closed))(*args) for closed, args in traced]
        without(monkeypatch, left_out)
        found = [eager_jaxpr_fun(pipeline.run_passes(closed))(*args) for closed, args in traced]
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        if left_out.same_bits:
            assert same_bits(a, b)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
