"""What kernels import where WebAssembly has no instruction. Kernels themselves run in test_queue.py."""

import math
import subprocess
import sys

import pytest

from tinyjax.wasm.engines import math_function


@pytest.mark.parametrize("name", ["exp", "acos", "erf", "lgamma", "cbrt"])
def test_a_function_is_the_hosts(name):
    found = math_function(name)(0.5)
    assert type(found) is float
    assert found == pytest.approx(getattr(math, name)(0.5), rel=1e-15)


def test_powers_of_one_are_one_as_in_numpy():
    assert math_function("pow")(1.0, math.nan) == 1.0


def test_the_engine_is_closed_before_python_clears_the_modules():
    pytest.importorskip("wasmtime")
    code = "import sys; from tinyjax.wasm import engines; engines.engine(); sys.kept = engines"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
