"""Record what JAX's interpret mode gives for the random kernels of tests/random_kernels.py.

    python tools/record_random_kernels.py 200     # in an environment with JAX 0.12

tests/pallas/test_random_kernels.py compares tinyjax with it.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

TESTS = Path(__file__).resolve().parent.parent / "tests"


def main() -> None:
    sys.path.insert(0, str(TESTS))
    random_kernels = importlib.import_module("random_kernels")
    jax = importlib.import_module("jax")
    names = {
        "jax": jax,
        "jnp": importlib.import_module("jax.numpy"),
        "pl": importlib.import_module("jax.experimental.pallas"),
    }
    lines = []
    for seed in range(int(sys.argv[1])):
        program = random_kernels.load(seed, **names)
        out = np.asarray(program["call"](True, *program["args"]), np.float64)
        lines.append(f'"{seed}": {json.dumps(_compact(out))}')
    (TESTS / "pallas" / "recorded.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"recorded {len(lines)} kernels with JAX {jax.__version__}")


def _compact(out: np.ndarray) -> list[Any]:
    """Integers, and null for NaN."""
    return [None if np.isnan(x) else int(x) for x in out.reshape(-1)]


if __name__ == "__main__":
    main()
