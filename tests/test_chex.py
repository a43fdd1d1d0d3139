"""chex from PyPI, unmodified, on tinyjax: a program that uses it prints what it prints on JAX."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("chex") is None, reason="chex is not installed: pip install chex"
)
def test_a_program_that_uses_chex_prints_what_it_prints_on_jax():
    command = [sys.executable, "-m", "tinyjax", "run", TESTS / "programs" / "with_chex.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    recorded = (TESTS / "golden" / "chex.txt").read_text()
    assert done.stdout.splitlines() == recorded.splitlines(), done.stderr
