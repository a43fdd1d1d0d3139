"""Build tinyjax's wheel without a network: what a browser's Python installs.

    python tools/build_wheel.py -o FOLDER     # prints the wheel's path

It has no lessons and exercises, which the site has already; `python -m build` makes a wheel with them. It is
pure Python, so one wheel serves all: pip has setuptools of this environment build it from a copy of the
tree, as a build leaves folders behind. Files have one date, so the same tree gives the same bytes.
In Pyodide: `await micropip.install("https://.../tinyjax_readable-VERSION-py3-none-any.whl")`.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEEDED = ("setup.cfg", "pyproject.toml", "README.md", "LICENSE", "setup.py")
DATE = "315532800"  # the first that a zip archive can hold: 1980-01-01


def build_wheel(folder: Path) -> Path:
    """The path of a new wheel in `folder`. Raises CalledProcessError, whose text pip has printed."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        source, made = Path(temporary, "source"), Path(temporary, "made")
        source.mkdir()
        for name in NEEDED:
            shutil.copy(ROOT / name, source)
        without = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "tinyjax", source / "tinyjax", ignore=without)
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
        alone = ["--no-deps", "--no-build-isolation", "--no-index"]
        environment = os.environ | {"SOURCE_DATE_EPOCH": DATE}
        subprocess.run([*command, *alone, "-w", made, source], check=True, env=environment)
        (wheel,) = made.glob("*.whl")
        return Path(shutil.copy(wheel, folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-o", dest="folder", type=Path, default=Path("dist"))
    print(build_wheel(parser.parse_args().folder))


if __name__ == "__main__":
    main()
