"""The house does not mention its features: the words that it needs anyway are listed here."""

import re
import subprocess
import sys
from typing import NamedTuple

import pytest
from source_imports import PACKAGE

HOUSE = ("core", "transform", "compile", "runtime", "lax", "numpy")


class Words(NamedTuple):
    """How sources would name a feature, and where the house may: in messages and docstrings for users, in
    JAX's names of arguments and attributes, and in tables of what is imported on first use."""

    pattern: str
    allowed: str  # everywhere
    allowed_in: dict[str, str]


MANY_DEVICES = Words(
    r"\w*(?:shard|mesh)\w*|many_devices|manual_axes|pvary\w*|\bvma\b|\bvarying\b",
    "in_shardings out_sharding out_shardings takes_out_sharding meshgrid",
    {
        # "varying" means something else to the compiler.
        "compile/schedules/dependences.py": "varying",
        "compile/schedules/lanes.py": "varying",
        "compile/schedules/nests.py": "varying",
        "compile/schedules/hoist.py": "varying",
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
        "transform/jit/stages.py": "input_shardings output_shardings",
        "transform/jit/wrong_arguments.py": "shardings",
    },
)
REFS = Words(
    r"(?<!weakref\.)\b(?:refs?|is_ref|AbstractRef|with_refs|new_ref)\b",
    "",
    {},
)
WASM = Words(
    r"\w*(?:wasm|webassembly|browser|emscripten|pyodide)\w*",
    "",
    {
        "compile/lowered.py": "wasm webassembly",
        "runtime/devices.py": "wasm IN_BROWSER emscripten browser",
    },
)
SPARSE = Words(
    r"\w*(?:bcoo|bcsr)\w*|\bsparse\b",
    "",
    # NumPy's argument of meshgrid
    {"numpy/choosing.py": "sparse", "numpy/editing.py": "sparse", "numpy/grids.py": "sparse"},
)
PALLAS = Words(r"\w*pallas\w*|\bgrid_mapping\b", "", {"core/missing_reasons.py": "pallas"})
OTHERS = Words(
    r"\b(?:compat|fast|studio)(?=/|\.\w)",
    "",
    {"core/config.py": "studio", "core/missing_names.py": "compat"},
)
FEATURES = {
    "many_devices": MANY_DEVICES,
    "refs": REFS,
    "wasm": WASM,
    "sparse": SPARSE,
    "pallas": PALLAS,
    "compat, fast and studio": OTHERS,
}


def mentions(words: Words, file: str) -> list[str]:
    return re.findall(words.pattern, (PACKAGE / file).read_text(encoding="utf-8"), re.IGNORECASE)


@pytest.mark.parametrize("feature", FEATURES)
def test_the_house_does_not_mention(feature):
    words = FEATURES[feature]
    found = {}
    for path in (path for folder in HOUSE for path in sorted((PACKAGE / folder).rglob("*.py"))):
        file = path.relative_to(PACKAGE).as_posix()
        allowed = {*words.allowed.split(), *words.allowed_in.get(file, "").split()}
        if mentioned := {*mentions(words, file)} - allowed:
            found[file] = mentioned
    assert found == {}


@pytest.mark.parametrize("feature", FEATURES)
def test_what_is_allowed_is_there(feature):
    """A file that no longer needs a word loses its line above."""
    words = FEATURES[feature]
    missing = {
        (file, word)
        for file, allowed in words.allowed_in.items()
        for word in {*allowed.split()} - {*mentions(words, file)}
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


def test_importing_tinyjax_imports_nothing_for_refs():
    assert [name for name in loaded_by("") if name.startswith("tinyjax.ref")] == []
