"""Printed jaxprs equal JAX's letter for letter."""

from functools import cache
from pathlib import Path

import pytest
from golden_cases import jaxprs
from golden_cases.differences import DIFFERENCES

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

TEXT = (Path(__file__).parent / "golden" / "jaxprs.txt").read_text()
EXPECTED = dict(part.split("\n", 1) for part in TEXT.removeprefix("== ").split("\n== "))


@cache
def _section(index):
    return jaxprs.SECTIONS[index](jax, jnp, lax)


def _thunk(name):
    for index in range(len(jaxprs.SECTIONS)):
        if name in _section(index):
            return _section(index)[name]
    raise KeyError(f"{name!r} is recorded, but is no case any more: run tools/record_golden.py")


def _case(name):
    marks = []
    if name in jaxprs.LATER:
        marks = [pytest.mark.skip(reason=f"needs {jaxprs.LATER[name]}, a later stage")]
    elif name in DIFFERENCES:
        marks = [pytest.mark.xfail(reason=DIFFERENCES[name], strict=True)]
    return pytest.param(name, id=name, marks=marks)


@pytest.mark.parametrize("name", [_case(name) for name in EXPECTED])
def test_jaxpr(name):
    text = str(_thunk(name)()).rstrip()
    expected = EXPECTED[name].rstrip()
    assert text == expected, f"\n---- JAX prints ----\n{expected}\n---- tinyjax ----\n{text}"


def test_every_case_is_recorded():
    assert set(jaxprs.cases(jax, jnp, lax)) == set(EXPECTED)
