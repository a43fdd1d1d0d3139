"""The reading order: no step needs a later one, and none needs the breadth."""

import ast
import importlib.util
from pathlib import Path

import pytest
from source_imports import PACKAGE, imported_modules

import tinyjax as jax


def path_of(step: str) -> Path:
    return PACKAGE.joinpath(*step.split(".")).with_suffix(".py")


@pytest.mark.parametrize("step", jax.STEPS)
def test_a_step_imports_earlier_steps_only(step):
    earlier = set(jax.STEPS[: jax.STEPS.index(step)])
    assert imported_modules(path_of(step)) <= earlier


@pytest.mark.parametrize("step", jax.STEPS)
def test_a_step_opens_with_what_the_reader_can_do_after_it(step):
    docstring = ast.get_docstring(ast.parse(path_of(step).read_text()))
    assert docstring and "Builds on" in docstring


def test_every_step_is_a_module():
    assert all(importlib.util.find_spec(f"tinyjax.{step}") for step in jax.STEPS)
