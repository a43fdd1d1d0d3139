"""Record tests/golden/ from real JAX 0.12. Run by hand, with a Python that has JAX:

    JAX_PLATFORMS=cpu python tools/record_golden.py                  # everything, about fifteen minutes
    JAX_PLATFORMS=cpu python tools/record_golden.py lax/parallel     # or one chapter or file
    JAX_PLATFORMS=cpu python tools/record_golden.py --kinds jaxprs   # the jaxprs of all, in two minutes
    JAX_PLATFORMS=cpu python tools/record_golden.py --try            # list the calls that fail, and go on

The cases stand in tests/golden_cases/, and the tests that read the data are tests/test_golden*.py.
The data is text, a case a line or a paragraph: read its diff before committing it. docs/golden.md says how
to go to another version of JAX.
"""

import argparse
import importlib
import json
import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent / "tests"
GOLDEN = TESTS / "golden"
JAX_VERSION = "0.12."

# Imported by name: neither is there for a type checker that runs without JAX.
jax: Any = importlib.import_module("jax")
jnp: Any = importlib.import_module("jax.numpy")
lax: Any = importlib.import_module("jax.lax")


# ---- calls that JAX no longer takes, or takes by now ----


class Failures:
    """What to do with a case that does not give what it is for: stop there, or (--try) list it and go on."""

    go_on = False
    found: list[str] = []

    @classmethod
    def add(cls, case: str, what: str, error: Exception | None = None) -> None:
        if not cls.go_on:
            raise ValueError(f"{what}: {case}") from error
        cls.found.append(f"{what}: {case}  {error!r}")


# ---- one recorder a kind of data ----


def record_jaxprs() -> str:
    from golden_cases import jaxprs  # type: ignore[import-not-found]

    return _texts(jaxprs.cases(jax, jnp, lax))


def _texts(thunks: dict[str, Any]) -> str:
    texts = {}
    for name, thunk in thunks.items():
        try:
            texts[name] = str(thunk())
        except Exception as e:
            Failures.add(name, "this recorded jaxpr fails in JAX", e)
    return "".join(f"== {name}\n{text.rstrip()}\n" for name, text in texts.items())


def record_values(module_name: str) -> str:
    codec = importlib.import_module("golden_cases.codec")
    groups = importlib.import_module(f"golden_cases.{module_name}").GROUPS
    return codec.dump({group.name: _record_group(group, codec) for group in groups})


def _record_group(group, codec, extra_names=None) -> dict[str, Any]:
    from golden_cases import inputs

    if len(set(group.calls)) != len(group.calls):
        raise ValueError(f"a call stands twice in {group.name!r}")
    before = {option: getattr(jax.config, option) for option in group.config}
    for option, value in group.config.items():
        jax.config.update(option, value)
    try:
        names = inputs.names(jax, jnp, lax) | (extra_names or {})
        return {call: codec.encode(_call(call, names), jax) for call in group.calls}
    finally:
        for option, value in before.items():
            jax.config.update(option, value)


def _call(call, names):
    try:
        return eval(call, dict(names))
    except Exception as e:
        Failures.add(call, "this recorded call fails in JAX", e)


def record_errors() -> str:
    codec = importlib.import_module("golden_cases.codec")
    errors = importlib.import_module("golden_cases.errors")
    inputs = importlib.import_module("golden_cases.inputs")
    names = inputs.names(jax, jnp, lax) | errors.helpers(jax, jnp, lax)
    return codec.dump(_errors(errors.SECTIONS, names))


def _errors(sections, names) -> dict[str, dict[str, list[str]]]:
    return {
        section: {call: _error_of(call, names) for call, _ in cases}
        for section, cases in sections.items()
    }


def _error_of(call, names) -> list[str]:
    """[public class, first line of the message]; memory addresses and folders of packages are left out."""
    from golden_cases import errors

    try:
        eval(call, dict(names))
    except Exception as e:
        first_line = (str(e).splitlines() or [""])[0]
        first_line = re.sub(r"/\S*/(site-packages/|(?=tests/))", "", first_line)
        return [errors.public_class(e, jax), re.sub(r"0x[0-9a-f]{6,}", "0x...", first_line)]
    Failures.add(call, "this bad call does not fail in JAX")
    return ["none", "none"]


def record_promotion(x64: bool) -> str:
    return importlib.import_module("golden_cases.promotion").table(jax, jnp, x64)


def record_two_processes() -> str:
    """What JAX answers in each of two processes."""
    two_processes = importlib.import_module("golden_cases.two_processes")
    return json.dumps(two_processes.answers_of_two_processes("jax"), indent=1) + "\n"


def record_with_many_devices(cases: str) -> str:
    """In a new process, which has several CPU devices."""
    many_devices = importlib.import_module("golden_cases.many_devices")
    return json.dumps(many_devices.answers_with_many_devices(cases, "jax"), indent=1) + "\n"


def record_shard_map() -> str:
    """In a new process, which has eight CPU devices."""
    return importlib.import_module("golden_cases.shard_map").answers_of_jax()


def record_optax() -> str:
    """In a new process, as the tests do: needs optax."""
    with_optax = importlib.import_module("golden_cases.with_optax")
    found = with_optax.answers("jax")
    failed = {
        call: x for calls in with_optax.groups() for call, x in found[calls].items() if "error" in x
    }
    if failed:
        raise ValueError(f"these recorded calls fail in JAX: {failed}")
    codec = importlib.import_module("golden_cases.codec")
    return codec.dump({name: found[name] for name in with_optax.groups()})


def record_chapter(chapter: str, kinds: list[str]) -> None:
    """Writes data files of a chapter (golden_cases/chapters.py lists them)."""
    codec = importlib.import_module("golden_cases.codec")
    chapters = importlib.import_module("golden_cases.chapters")
    inputs = importlib.import_module("golden_cases.inputs")
    module = chapters.modules()[chapter]
    names = chapters.names(chapter, jax, jnp, lax)
    if hasattr(module, "jaxprs") and "jaxprs" in kinds:
        _write(f"{chapter}.jaxprs.txt", _texts(module.jaxprs(jax, jnp, lax)))
    if hasattr(module, "GROUPS") and "values" in kinds:
        values = {group.name: _record_group(group, codec, names) for group in module.GROUPS}
        _write(f"{chapter}.values.json", codec.dump(values))
    if hasattr(module, "ERRORS") and "errors" in kinds:
        errors = _errors(module.ERRORS, inputs.names(jax, jnp, lax) | names)
        _write(f"{chapter}.errors.json", codec.dump(errors))


def _write(file_name: str, text: str) -> None:
    (GOLDEN / file_name).parent.mkdir(parents=True, exist_ok=True)
    (GOLDEN / file_name).write_text(text)
    print(f"wrote {GOLDEN / file_name}")


KINDS = ("jaxprs", "values", "errors")
FILES = {
    "jaxprs": ("jaxprs.txt", record_jaxprs),
    "values": ("values.json", lambda: record_values("values")),
    "derivatives": ("derivatives.json", lambda: record_values("derivatives")),
    "errors": ("errors.json", record_errors),
    "promotion": ("promotion.txt", lambda: record_promotion(False)),
    "placement": ("placement.json", lambda: record_with_many_devices("placement")),
    "pmap": ("pmap.json", lambda: record_with_many_devices("pmap")),
    "meshes": ("meshes.json", lambda: record_with_many_devices("meshes")),
    "two_processes": ("two_processes.json", record_two_processes),
    "explicit_rules": ("explicit_rules.json", lambda: record_with_many_devices("explicit_rules")),
    "explicit_types": ("explicit_types.json", lambda: record_with_many_devices("explicit_types")),
    "sharded_programs": (
        "sharded_programs.json",
        lambda: record_with_many_devices("sharded_programs"),
    ),
    "shard_map": ("shard_map.json", record_shard_map),
    "optax": ("optax.json", record_optax),
    "promotion_x64": ("promotion_x64.txt", lambda: record_promotion(True)),
}


def main() -> None:
    if (
        os.environ.get("PYTHONHASHSEED") != "0"
    ):  # some errors of JAX print a set: in one order each time
        os.execve(
            sys.executable, [sys.executable, *sys.argv], {**os.environ, "PYTHONHASHSEED": "0"}
        )
    parser = argparse.ArgumentParser(description="Record tests/golden/ from real JAX.")
    sys.path.insert(0, str(TESTS))
    chapters = importlib.import_module("golden_cases.chapters").CHAPTERS
    known = [*FILES, *chapters]
    parser.add_argument("only", nargs="*", help=f"some of: {', '.join(known)}")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="kinds of data")
    parser.add_argument("--try", action="store_true", dest="go_on", help="go on where a case fails")
    options = parser.parse_args()
    chosen = options.only or (known if options.kinds == KINDS else [*options.kinds, *chapters])
    if unknown := set(chosen) - set(known):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(known)}")
    if not jax.__version__.startswith(JAX_VERSION):
        parser.error(f"the golden data is of JAX {JAX_VERSION}x, this is {jax.__version__}")
    warnings.simplefilter("ignore")
    importlib.import_module("golden_cases.scan_params").print_as_numbers()
    Failures.go_on = options.go_on
    for name in chosen:
        if name in FILES:
            file_name, record = FILES[name]
            _write(file_name, record())
        else:
            record_chapter(name, options.kinds)
    print("\n".join(Failures.found))


if __name__ == "__main__":
    main()
