"""With jax_debug_key_reuse, a random key that is used twice raises KeyReuseError, eagerly and jitted."""

import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax import random as R
from tinyjax.core.config import config

either_way = pytest.mark.parametrize("around", [lambda f: f, jax.jit], ids=["eager", "jit"])


@pytest.fixture(autouse=True)
def checked():
    with jax.debug_key_reuse(True):
        yield


def second_of_three(key):
    keys = R.split(key, 3)
    return R.normal(keys[0]) + R.normal(keys[1])


def carried(key):
    def step(key, _):
        key, subkey = R.split(key)
        return key, R.normal(subkey)

    return lax.scan(step, key, None, length=3)[1]


GOOD = {
    "split": lambda key: sum(R.normal(k) for k in R.split(key)),
    "parts": second_of_three,
    "folded in": lambda key: R.normal(R.fold_in(key, 1)) + R.normal(R.fold_in(key, 2)),
    "clone": lambda key: R.normal(R.clone(key)) + R.normal(key),
    "rows of a scan": lambda key: lax.scan(lambda c, k: (c + R.normal(k), None), 0.0, R.split(key))[
        0
    ],
    "carry of a scan": carried,
    "folded into a loop": lambda key: lax.fori_loop(
        0, 3, lambda i, c: c + R.normal(R.fold_in(key, i)), 0.0
    ),
    "two branches": lambda key: lax.cond(True, R.normal, R.uniform, key),
    "batch": lambda key: jax.vmap(R.normal)(R.split(key, 3)),
    "gradient": lambda key: jax.grad(lambda x: x * R.normal(key))(1.0),
    "a checkpoint": lambda key: jax.grad(jax.checkpoint(lambda x: jnp.sin(x * R.normal(key))))(1.0),
    "a checkpoint, also called": lambda key: jax.value_and_grad(
        jax.checkpoint(lambda x, key: jnp.sin(x * R.normal(key)))
    )(1.0, key),
    "poisson": lambda key: R.poisson(key, 3.0),
    "binomial": lambda key: R.binomial(key, 10, 0.5),
    "batch of multinomials": lambda key: jax.vmap(lambda k: R.multinomial(k, 10, jnp.ones(3) / 3))(
        R.split(key)
    ),
    "looked at": lambda key: (R.normal(key), R.key_data(key), key == key),
}
BAD = {
    "two samples": lambda key: R.normal(key) + R.uniform(key),
    "split after a sample": lambda key: (R.normal(key), R.split(key)),
    "sample after a split": lambda key: (R.split(key), R.normal(key)),
    "one part": lambda key: (lambda keys: R.normal(keys[0]) + R.normal(keys[0]))(R.split(key)),
    "the whole after a part": lambda key: (
        lambda keys: R.normal(keys[0]) + jax.vmap(R.normal)(keys)
    )(R.split(key)),
    "another shape": lambda key: R.normal(key) + R.normal(key.reshape(1)[0]),
    "in a scan": lambda key: lax.scan(lambda c, _: (c + R.normal(key), None), 0.0, None, length=2),
    "in a while loop": lambda key: lax.while_loop(
        lambda c: c < 9, lambda c: c + 1 + R.uniform(key), 0.0
    ),
    "after a branch": lambda key: lax.cond(True, R.normal, R.uniform, key) + R.normal(key),
    "after a jitted function": lambda key: jax.jit(R.normal)(key) + R.normal(key),
    "in a batch": lambda key: jax.vmap(lambda k: R.normal(k) + R.normal(k))(R.split(key)),
    "a sampler of its own": lambda key: R.gamma(key, 2.0) + R.normal(key),
}


@either_way
@pytest.mark.parametrize("program", GOOD)
def test_keys_that_are_used_once_raise_nothing(program, around):
    around(GOOD[program])(R.key(0))


@either_way
@pytest.mark.parametrize("program", BAD)
def test_a_key_that_is_used_twice_raises(program, around):
    with pytest.raises(jax.errors.KeyReuseError, match="used at .* already used at .*split"):
        around(BAD[program])(R.key(0))


def test_a_jitted_function_uses_its_argument_once_for_all():
    key = R.key(0)
    draw = jax.jit(R.normal)
    draw(key)
    with pytest.raises(jax.errors.KeyReuseError):
        draw(key)


def test_a_function_that_was_compiled_before_is_checked():
    twice = jax.jit(lambda key: R.normal(key) + R.normal(key))
    with jax.debug_key_reuse(False):
        twice(R.key(0))
    with pytest.raises(jax.errors.KeyReuseError):
        twice(R.key(0))


def test_a_sampler_is_at_the_line_of_its_call_whoever_called_it_before():
    jax.jit(R.normal)(R.key(0))
    with pytest.raises(jax.errors.KeyReuseError) as error:
        jax.jit(BAD["two samples"])(R.key(1))
    line = BAD["two samples"].__code__.co_firstlineno
    assert str(error.value).count(f"{__file__}:{line} (<lambda>)") == 2


def test_evaluation_while_kernels_are_built_uses_no_key_again():
    with config.set("tinyjax_background_build", True):
        jax.jit(GOOD["a checkpoint, also called"])(R.key(0))


def test_nothing_is_checked_without_the_flag():
    with jax.debug_key_reuse(False):
        BAD["two samples"](R.key(0))
