"""README's commands in a path with a space; and in a fresh clone and environment, on the newest Python that
there is, and on Python 3.11 if another one runs the tests."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    line.partition("  #")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("python -m tinyjax ")
]
FAST = ("explain", "step", "graph tutorials", "learn start 01", "learn test")
NO_NETWORK = re.compile("connection|name resolution|network is unreachable", re.IGNORECASE)


@dataclass
class Shell:
    """A folder, and the environment that commands run in there."""

    folder: Path
    environment: dict[str, str]

    def run(self, command):
        return subprocess.run(
            command,
            shell=True,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    def check(self, command):
        """Runs a command, which must succeed; returns what it prints."""
        done = self.run(command)
        expected = 1 if command.endswith("learn test") else 0  # nothing is written yet
        assert done.returncode == expected, f"{command}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, f"{command}\n{done.stderr}"
        return done.stdout


# ---- in this environment ----


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder of somebody's programs, with the tinyjax of these tests."""
    folder = tmp_path_factory.mktemp("first hour") / "my programs"
    (folder / "tutorials").mkdir(parents=True)
    shutil.copy(ROOT / "tutorials" / "wave.py", folder / "tutorials")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return Shell(folder, os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)})


@pytest.mark.parametrize(
    "command", [c for c in COMMANDS if c.startswith(tuple(f"python -m tinyjax {f}" for f in FAST))]
)
def test_a_command_of_the_readme_runs_in_a_path_with_a_space(here, command):
    here.check(command)


# ---- from a clone ----


def pythons():
    """The interpreters on this machine that can make an environment, by version, such as (3, 11)."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders = [*pyenv.glob("versions/*/bin"), *map(Path, os.environ["PATH"].split(os.pathsep))]
    found = {sys.version_info[:2]: Path(sys.executable)}
    for path in (path for folder in folders for path in folder.glob("python3.*")):
        if number := re.fullmatch(r"python3\.(\d+)", path.name):
            found.setdefault((3, int(number[1])), path)
    return {v: p for v, p in sorted(found.items()) if v >= (3, 11) and makes_environments(p)}


def makes_environments(python):
    done = subprocess.run([python, "-c", "import ensurepip, venv"], capture_output=True)
    return done.returncode == 0


def is_no_source(folder, names):
    """What a clone doesn't have."""
    return [n for n in names if n.startswith(".") or n == "__pycache__" or n.endswith(".egg-info")]


@pytest.fixture(scope="module", params=["oldest", "newest"])
def clone(request, tmp_path_factory):
    """A clone with a fresh environment, in which README's first command has been run.

    One is enough on the oldest Python if it is the one that runs all other tests."""
    found = pythons()
    newest = max(found, default=None)
    version = newest if request.param == "newest" else (3, 11)
    if version not in found:
        pytest.skip("there is no Python 3.11 or later that makes environments")
    if request.param == "oldest" and (newest == version or sys.version_info[:2] == version):
        pytest.skip("the newest Python is tried, and all other tests run on this one")
    folder = tmp_path_factory.mktemp("first hour") / "tiny jax"
    shutil.copytree(ROOT, folder, ignore=is_no_source)
    subprocess.run([found[version], "-m", "venv", folder / ".venv"], check=True)
    dropped = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "TINYJAX_BACKGROUND_BUILD")
    environment = {name: value for name, value in os.environ.items() if name not in dropped}
    environment["PATH"] = os.pathsep.join([str(folder / ".venv" / "bin"), environment["PATH"]])
    environment["PIP_NO_COMPILE"] = "1"  # most modules of SciPy are never imported
    shell = Shell(folder, environment)
    done = shell.run("pip install -e .")
    if done.returncode and NO_NETWORK.search(done.stderr):
        pytest.skip(f"pip has no network: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return shell


@pytest.fixture
def new_clone(request, clone):
    """The one with the newest Python."""
    if request.node.callspec.params["clone"] != "newest":
        pytest.skip("takes long, and needs no old Python")
    return clone


@pytest.mark.slow
def test_the_first_two_commands_of_the_readme_are_all_that_the_tour_needs(clone):
    assert "```sh\npip install -e .\npython -m tinyjax tour\n```" in README
    printed = clone.check("python -m tinyjax tour")
    assert "held-out images are recognised" in printed and "The tour took" in printed
    assert (clone.folder / "tinyjax-tour" / "explain.html").exists()


@pytest.mark.slow
def test_every_other_command_of_the_readme_runs(new_clone):
    example = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    (new_clone.folder / "wave.py").write_text(example, encoding="utf-8")
    (new_clone.folder / "train.py").write_text(
        "import sys, jax; print(jax.numpy.sin(0.0), sys.argv)"
    )
    for command in COMMANDS:
        if command != "python -m tinyjax tour":
            new_clone.check(command)


# What is the same on any Python: compiled kernels, and the numbers that rules give.
SAME = (
    "compiled_equals_eager or never_calls_the_compiler or equals_a_loop or finite_differences"
    " or transpose_of_jvp or drawn"
)


@pytest.mark.slow
def test_the_core_and_the_transformations_pass_on_the_newest_python(new_clone):
    if max(pythons()) == sys.version_info[:2]:
        pytest.skip("it is the one that runs all other tests")
    options = '-o addopts="" --import-mode importlib -m "not slow" -q --assert=plain'
    new_clone.check(f"python -m pytest {options} -k 'not ({SAME})' tests/core tests/transform")
