"""Programs evaluated on NumPy arrays: the same bits as by `bind`."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.core.jaxpr import jaxpr_as_fun
from tinyjax.fast.numpy_evaluation import Evaluation, OutOfTime

X = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)


def halve_until(least):
    return lambda x: lax.while_loop(lambda x: abs(x) > least, lambda x: x / 2, x)


PROGRAMS = {
    "consts and literals": lambda x: (x * X + 2, 3.0, x),
    "a literal of another type": lambda x: x.astype(jnp.bfloat16) * 0.1,
    "several results": lambda x: jnp.linalg.qr(x),
    "scan": lambda x: lax.scan(lambda c, row: (c * 2 + row.sum(), (c, row)), 0.5, x),
    "scan in reverse": lambda x: lax.scan(lambda c, row: (c + row, c * row), x[0], x, reverse=True),
    "scan of nothing": lambda x: lax.scan(lambda c, row: (c + row, c), x[0], x[:0]),
    "while": lambda x: halve_until(x[0, 0])(x.sum()),
    "while of several examples": jax.vmap(jax.vmap(halve_until(0.1))),
    "cond": lambda x: lax.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, x),
    "switch": lambda x: lax.switch(7, [jnp.sin, jnp.cos, jnp.exp], x),
    "a general reduction": lambda x: lax.reduce(x, 1.0, lambda a, b: a * b + a, (1,)),
    "a solve": lambda x: jnp.linalg.solve(x[:, :3], x[:, 3]),
    "keys": lambda x: jax.random.split(jax.random.key(x[0, 0].astype(int))),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_the_results_are_those_of_bind(program):
    closed = simplify(jax.make_jaxpr(program)(X))
    expected = jaxpr_as_fun(closed)(X)
    got = Evaluation().function(closed)(X)
    for x, y, aval in zip(got, expected, closed.out_avals, strict=True):
        assert (x.shape, x.dtype) == (aval.shape, aval.dtype)
        np.testing.assert_array_equal(x, np.asarray(getattr(y, "_value", y), aval.dtype))


def test_a_loop_of_unknown_length_ends_after_the_trial():
    closed = simplify(jax.make_jaxpr(halve_until(-1.0))(1.0))
    with pytest.raises(OutOfTime):
        Evaluation(trial=1e-3).function(closed)(np.float32(1))


def test_a_loop_ends_when_its_first_iterations_show_that_it_takes_too_long():
    closed = simplify(jax.make_jaxpr(lambda x: lax.fori_loop(0, 10**9, lambda i, x: x + 1, x))(0))
    with pytest.raises(OutOfTime):
        Evaluation(seconds=1e-3, trial=1e-3).function(closed)(np.int32(0))
