"""Every name of JAX that is missing says why."""

import importlib

import pytest

import tinyjax as jax
from tinyjax.core.missing_names import jax_names
from tinyjax.core.missing_reasons import REASONS, reason

GIVEN = [name for names in REASONS.values() for name in names.split() if name[-1] != "*"]


def module_of(name):
    return importlib.import_module("tinyjax" + name.rpartition(".")[0].removeprefix("jax"))


@pytest.mark.parametrize("name", GIVEN)
def test_a_reason_is_of_a_name_that_is_missing(name):
    module, _, last = name.rpartition(".")
    assert last in jax_names()[module]
    assert not hasattr(module_of(name), last)


@pytest.mark.parametrize("module", jax_names())
def test_every_missing_name_has_a_reason(module):
    names = [f"{module}.{name}" for name in jax_names()[module]]
    missing = [n for n in names if not hasattr(module_of(n), n.rpartition(".")[2])]
    assert [name for name in missing if not reason(name)] == []


def test_the_error_says_the_reason():
    with pytest.raises(AttributeError, match=r"jax.lax.mulhi .* few programs need it"):
        jax.lax.mulhi  # noqa: B018
    with pytest.raises(ImportError, match=r"jax.ffi .* jax.pure_callback"):
        from tinyjax import ffi  # noqa: F401
