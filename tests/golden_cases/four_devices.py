"""Calls with four CPU devices: answered in a process of its own, as their number is settled once.

    JAX_NUM_CPU_DEVICES=4 python tests/golden_cases/four_devices.py placement tinyjax    # or: pmap, jax

prints {call: what it gives, as text; of an error the class} as JSON."""

import importlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path


def answers_with_four_devices(cases: str, library: str) -> dict[str, str]:
    """What a library, "jax" or "tinyjax", answers to the CALLS of a module beside this one."""
    result = subprocess.run(
        [sys.executable, "-P", __file__, cases, library],
        # -P: the folders of chapters have names of modules, such as random.
        env=os.environ | {"JAX_NUM_CPU_DEVICES": "4", "JAX_PLATFORMS": "cpu"},
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
    return {call: answer(call, names) for call in cases.CALLS}


def answer(call, names) -> str:
    try:
        value = eval(call, dict(names))
    except Exception as error:
        return type(error).__name__
    return str(value) if hasattr(value, "jaxpr") else repr(value)


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))
    warnings.simplefilter("ignore")
    cases, library = map(importlib.import_module, sys.argv[1:])
    print(json.dumps(answers(cases, library), indent=1))
