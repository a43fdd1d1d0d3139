"""A name that is not there: Python suggests one, and nothing is imported for it."""

import subprocess
import sys

import pytest
from mistakes import printed

import tinyjax as jax
import tinyjax.numpy as jnp


@pytest.mark.parametrize(
    ("module", "name", "meant"),
    [(jnp, "zeroes", "zeros"), (jax, "vmapp", "vmap"), (jnp.linalg, "nom", "norm")],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_a_similar_name_is_suggested(module, name, meant):
    with pytest.raises(AttributeError) as raised:
        getattr(module, name)
    assert f"Did you mean: '{meant}'?" in printed(raised.value)


def test_an_arrays_attributes_are_suggested_also_while_tracing():
    for transform in (lambda f: f, jax.jit, jax.vmap):
        with pytest.raises(AttributeError) as raised:
            transform(lambda x: x.sumn())(jnp.ones(3))
        assert "Did you mean: 'sum'?" in printed(raised.value)


def test_a_suggestion_imports_no_module():
    program = """
import sys, tinyjax
before = set(sys.modules)
try:
    tinyjax.numpy.zeroes
except AttributeError as error:
    sys.__excepthook__(AttributeError, error, None)
print(*[name for name in set(sys.modules) - before if name.startswith("tinyjax")])
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "Did you mean: 'zeros'" in result.stderr
    assert set(result.stdout.split()) <= {"tinyjax.compat.older_spellings"}
