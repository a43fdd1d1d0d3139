"""Libraries from PyPI, unmodified, on tinyjax: a program with one prints what it prints on JAX."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOOL = runpy.run_path(str(ROOT / "tools" / "check_libraries.py"))


@pytest.mark.slow
@pytest.mark.parametrize("name", TOOL["programs"]())
def test_a_program_prints_what_it_prints_on_jax(name):
    if not TOOL["installed"](name):
        pytest.skip(f"{name} is not installed: pip install -e '.[libraries]'")
    assert (
        TOOL["difference"](TOOL["output"](name), (ROOT / f"tests/golden/{name}.txt").read_text())
        == ""
    )


@pytest.mark.parametrize(
    "got, want",
    [
        ("loss 1.25", "loss 1.2502"),
        ("loss nan", "loss 1.0"),
        ("loss [1. 2.]", "loss [1. 2. 3.]"),
        ("loss 1e-05", "loss 0.0"),
        ("Loss 1.0", "loss 1.0"),
        ("loss 1.0", "loss 1.0\nend"),
    ],
)
def test_what_differs_is_found(got, want):
    assert TOOL["difference"](got, want) != ""


@pytest.mark.parametrize("got", ["loss 1.25003", "loss  1.25000"])
def test_rounding_is_no_difference(got):
    assert TOOL["difference"](got, "loss 1.25") == ""


def test_the_table_names_every_library_that_has_a_program():
    assert list(TOOL["rows_written"]()) == TOOL["programs"]()
