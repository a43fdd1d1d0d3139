"""Random kernels give what JAX's interpret mode gives: interpreted, compiled, in other engines.

tools/record_random_kernels.py records what JAX gives.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import random_kernels
from random_programs.contenders import CONTENDERS, kernels_run_by
from slow_params import slow_params

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.experimental import pallas as pl

RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text())


def load(seed):
    return random_kernels.load(seed, jax=jax, jnp=jnp, pl=pl)


def assert_recorded(seed, out):
    expected = np.array(RECORDED[str(seed)], np.float64)
    np.testing.assert_array_equal(np.asarray(out).astype(np.float64).reshape(-1), expected)


@pytest.mark.parametrize("first", [0, 20, *slow_params(*range(40, 200, 20))])
def test_interpreted_kernels_give_what_jax_gives(first):
    for seed in range(first, first + 20):
        program = load(seed)
        assert_recorded(seed, program["call"](True, *program["args"]))


@pytest.mark.parametrize("seed", [*range(8), *slow_params(*range(8, 40))])
def test_compiled_kernels_give_what_jax_gives(seed):
    program = load(seed)
    if program["is_race"]:
        with pytest.raises(ValueError, match="^race: programs "):
            program["call"](False, *program["args"])
    else:
        assert_recorded(seed, program["call"](False, *program["args"]))


@pytest.mark.parametrize("engine", ["WebAssembly", "naive loop nests"])
@pytest.mark.parametrize("seed", [7, *slow_params(8, 9)])
def test_compiled_kernels_agree_in_other_engines(engine, seed):
    program, contender = load(seed), CONTENDERS[engine]
    with kernels_run_by(contender):
        lowered = jax.jit(lambda *args: program["call"](False, *args)).lower(*program["args"])
        assert_recorded(seed, contender.lowered(lowered).compile()(*program["args"]))
