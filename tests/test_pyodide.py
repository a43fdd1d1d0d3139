"""The package in a browser's Python: Pyodide, as Node runs it, with files that npm and PyPI carry.

TINYJAX_PYODIDE names a folder that has them already (tools/fetch_pyodide.py makes one)."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import website_tools  # noqa: F401  (makes tools importable)

from tinyjax.studio.learn.exercises import load

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = """
const pyodide = %(pyodide)s;
process.on("uncaughtException", (error) => {
  console.log(JSON.stringify({ error: String(error.message) }));
  process.exit(1);
});
const { loadPyodide } = await import(pyodide + "/pyodide.mjs");
const silent = { stdout() {}, stderr() {} };
const python = await loadPyodide({ indexURL: pyodide + "/", env: { HOME: "/home" }, ...silent });
await python.loadPackage(["numpy"], { messageCallback() {} });
for (const [name, folder] of Object.entries(%(folders)s)) {
  python.FS.mkdirTree(name);
  python.FS.mount(python.FS.filesystems.NODEFS, { root: folder }, name);
}
python.runPython(%(begin)s);
for (const [name, text] of Object.entries(%(programs)s)) {
  try {
    python.globals.set("text", text);
    python.runPython("found = None; exec(text, {'__name__': '__main__', 'tell': tell})");
    console.log(JSON.stringify({ name, said: JSON.parse(python.runPython("json.dumps(found)")) }));
  } catch (error) {
    console.log(JSON.stringify({ name, error: String(error.message).slice(-1500) }));
  }
}
process.exit(0);
"""
BEGIN = """
import json, sys
sys.dont_write_bytecode = True
sys.path[:0] = ["/clone", "/clone/tutorials"]
sys.path.append("/packages")
found = None
def tell(what):
    global found
    found = what
"""
SPEED = """
import time
import numpy as np
import tinyjax as jax, tinyjax.numpy as jnp

def best(run):
    times = []
    for _ in range(20):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)

f = jax.jit(lambda x: jnp.sin(x) * x)
x = np.linspace(0, 9, 2**20, dtype=np.float32)
y = jnp.asarray(x)
error = float(np.abs(np.asarray(f(y)) - np.sin(x) * x).max())
tell({"devices": repr(jax.devices()), "cpu": repr(jax.devices("cpu")), "error": error,
      "times as fast": best(lambda: np.sin(x) * x) / best(lambda: f(y).block_until_ready())})
"""
MISSING = """
import tinyjax.numpy as jnp
try:
    jnp.zeros(3, jnp.bfloat16)
except TypeError as error:
    tell(str(error))
"""


@pytest.fixture(scope="module")
def pyodide(tmp_path_factory):
    if not shutil.which("node"):
        pytest.skip("Node runs Pyodide, and is not there")
    if given := os.environ.get("TINYJAX_PYODIDE"):
        return Path(given)
    folder, keep = (tmp_path_factory.mktemp(name) for name in ("pyodide", "kept"))
    command = [sys.executable, ROOT / "tools/fetch_pyodide.py", "-o", folder, "--keep", keep]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"fetch_pyodide.py did not find what it needs: {done.stderr.strip()[-300:]}")
    return folder


@pytest.fixture(scope="module")
def said(pyodide, tmp_path_factory):
    """What each program said, or its error: all run in one Pyodide, as it takes seconds to start."""
    packages = tmp_path_factory.mktemp("packages")
    import graphviz

    shutil.copytree(Path(graphviz.__file__).parent, packages / "graphviz")
    programs = {"speed": SPEED, "missing": MISSING}
    values = {
        "pyodide": pyodide.as_posix(),
        "folders": {"/clone": str(ROOT), "/packages": str(packages)},
        "begin": BEGIN,
        "programs": programs,
    }
    script = packages / "run.mjs"
    script.write_text(SCRIPT % {name: json.dumps(value) for name, value in values.items()})
    command = ["node", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=packages)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert lines and "name" in lines[0], (done.stdout + done.stderr)[-2000:]
    return {line["name"]: line for line in lines}


@pytest.mark.slow
def test_jitted_functions_become_webassembly_and_are_right(said):
    found = said["speed"]["said"]
    assert found["devices"] == found["cpu"] == "[WasmDevice(id=0)]"
    assert found["error"] < 1e-5
    print(f"{found['times as fast']:.1f} times as fast as NumPy there")


@pytest.mark.slow
def test_a_dtype_that_is_missing_there_is_told(said):
    assert said["missing"]["said"] == (
        "arrays of bfloat16 need the package ml_dtypes, which is not installed"
    )


@pytest.mark.slow
def test_the_judge_of_pages_knows_a_right_answer_from_a_wrong_one(pyodide):
    """Of one exercise; tools/judge_in_browser.py tries all."""
    from judge_in_browser import judged

    found = [(state, said["state"]) for _, state, said in judged(pyodide, load()[:1])]
    assert found == [("passed", "passed"), ("failed", "failed")]
