"""The house does not mention its features: what it says of them is listed here, file by file."""

import re
import subprocess
import sys

import pytest
from source_imports import PACKAGE

HOUSE = ("core", "transform", "compile", "runtime", "lax", "numpy")

#: How the sources would name many devices; "varying" means something else to the compiler.
MANY_DEVICES = re.compile(
    r"\w*(?:shard|mesh)\w*|many_devices|manual_axes|pvary\w*|\bvma\b|\bvarying\b", re.IGNORECASE
)
#: Public names that are not of the feature, or arguments of many functions.
ALLOWED = {"in_shardings", "out_sharding", "out_shardings", "takes_out_sharding", "meshgrid"}
#: In single files: JAX's names of arguments, of parameters that it prints, and of lazy public names.
ALLOWED_IN = {
    "compile/kernel/naive_loop.py": "varying",
    "compile/kernel/scalarize.py": "varying",
    "compile/schedules/dependences.py": "varying",
    "compile/schedules/lanes.py": "varying",
    "compile/schedules/loop_schedule.py": "varying",
    "compile/schedules/nests.py": "varying",
    "compile/schedules/pack.py": "varying",
    "compile/schedules/update_in_place.py": "varying",
    "compile/schedules/vectorize.py": "varying",
    "core/missing_reasons.py": "sharding",
    "core/primitives.py": "sharding",
    "core/structs.py": "sharding Sharding",
    "lax/__init__.py": "many_devices sharding_constraint_p with_sharding_constraint",
    "lax/all_gather.py": "varying",
    "lax/callback.py": "sharding",
    "lax/conversion.py": "sharding",
    "lax/creation.py": "sharding",
    "lax/placing.py": "NamedSharding reshard sharding",
    "lax/transfer.py": "Sharding sharding",
    "numpy/placing.py": "NamedSharding",
    "runtime/placement.py": "many_devices",
    "transform/jit/api.py": "jit_shardings sharding",
    "transform/jit/stages.py": "input_shardings output_shardings shardings",
}


def mentions(file: str, text: str) -> list[str]:
    allowed = ALLOWED | set(ALLOWED_IN.get(file, "").split())
    return [word for word in MANY_DEVICES.findall(text) if word not in allowed]


def test_the_house_does_not_mention_many_devices():
    found = {
        file: words
        for folder in HOUSE
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        if (words := mentions(file := path.relative_to(PACKAGE).as_posix(), path.read_text()))
    }
    assert found == {}


def test_what_is_allowed_is_there():
    """A file that no longer needs a word loses its line above."""
    missing = {
        (file, word)
        for file, words in ALLOWED_IN.items()
        for word in words.split()
        if word not in MANY_DEVICES.findall((PACKAGE / file).read_text())
    }
    assert missing == set()


def loaded_by(program: str) -> set[str]:
    code = f"import sys, tinyjax\n{program}\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize(
    ("program", "module"),
    [
        ("tinyjax.numpy.ones(3).sharding", "sharding.shards"),
        ("tinyjax.numpy.ones(3).addressable_shards", "sharding.shards"),
        ("tinyjax.typeof(1.0).sharding", "sharding.shards"),
        ("tinyjax.typeof(1.0).vma", "avals"),
        ("tinyjax.core.ShapedArray((2,), 'float32', vma=frozenset())", "avals"),
    ],
)
def test_an_attribute_of_many_devices_imports_its_module(program, module):
    assert f"tinyjax.many_devices.{module}" in loaded_by(program)


def test_importing_tinyjax_imports_nothing_for_explicit_types_or_shardings_of_arrays():
    late = "sharding.shards", "sharding.types", "typed_rules", "invariant_collectives"
    assert {f"tinyjax.many_devices.{name}" for name in late} & loaded_by("") == set()
