"""Calls with several CPU devices: answered in a process of its own, as their number is settled once.

    JAX_NUM_CPU_DEVICES=4 python tests/golden_cases/many_devices.py placement tinyjax    # or: pmap, jax

prints {call: what it gives, as text; of an error the class} as JSON. A module of cases has CALLS, names(jax,
jnp), and if it needs more than four of them, DEVICES; with ERROR_WORDS, that many words of an error's message
are part of the answer."""

import contextlib
import importlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path


def answers_with_many_devices(cases: str, library: str) -> dict[str, str]:
    """What a library, "jax" or "tinyjax", answers to the CALLS of a module beside this one."""
    count = getattr(importlib.import_module(f"golden_cases.{cases}"), "DEVICES", 4)
    result = subprocess.run(
        [sys.executable, "-P", __file__, cases, library],
        # -P: the folders of chapters have names of modules, such as random.
        env=os.environ | {"JAX_NUM_CPU_DEVICES": str(count), "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def answers(cases, jax) -> dict[str, str]:
    """What each call of a module with CALLS and names gives, as text."""
    jnp = importlib.import_module(f"{jax.__name__}.numpy")
    names = {"jax": jax, "jnp": jnp, "lax": jax.lax} | cases.names(jax, jnp)
    words = getattr(cases, "ERROR_WORDS", 0)
    return {call: answer(call, names, words) for call in cases.CALLS}


def answer(call, names, words) -> str:
    try:
        value = eval(call, names | {})
        with contextlib.suppress(ValueError):  # a dict of devices is no pytree
            names["jax"].block_until_ready(value)
    except Exception as error:
        return " ".join([type(error).__name__, *str(error).split()[:words]])
    return str(value) if hasattr(value, "jaxpr") else repr(value)


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))
    warnings.simplefilter("ignore")
    cases, library = map(importlib.import_module, sys.argv[1:])
    if library.__name__ == "jax":
        importlib.import_module("scan_params").print_as_numbers()
    with contextlib.redirect_stdout(sys.stderr):  # JAX prints lines of its own
        found = answers(cases, library)
    print(json.dumps(found, indent=1))
