"""Run libraries' own tests, from their source distributions, on tinyjax: writes docs/library_tests.md.

    pip install -e ".[libraries]" scikit-learn
    python tools/run_library_tests.py                 # optax's and chex's, on tinyjax and on JAX: an hour
    python tools/run_library_tests.py --folder DIR    # leaves its reports there, and goes on from them
    python tools/run_library_tests.py optax -k muon   # only these tests, on tinyjax: writes nothing

Each file of tests is run in a new process, as it is, and a file in which something fails is run on
JAX, too: what fails there as well is not tinyjax's. A file that takes longer than TIME_LIMIT counts as one
failure.
"""

import argparse
import importlib.metadata
import os
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "library_tests.md"
LIBRARIES = ("optax", "chex")
TIME_LIMIT = 3600  # seconds

ON_TINYJAX = "import tinyjax; tinyjax.install_as_jax(); "
RUN_PYTEST = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"

HEADING = """# Libraries' own tests on tinyjax

Those of their source distributions on PyPI, unmodified. Written by `python tools/run_library_tests.py`.

| library | tests | pass | skipped | fail | fail on JAX as well |
|---|---|---|---|---|---|
"""


class Result(NamedTuple):
    """What became of a test: "passed", "skipped" or "failed", and why in a line."""

    outcome: str
    reason: str


def sources(library: str, folder: Path) -> Path:
    """The source distribution of the version that is installed, unpacked."""
    unpacked = folder / f"{library}-{importlib.metadata.version(library)}"
    if unpacked.exists():
        return unpacked
    wanted = f"{library}=={importlib.metadata.version(library)}"
    options = ["--quiet", "--no-deps", "--no-binary", library, "--dest", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, wanted], check=True)
    (archive,) = folder.glob(f"{library}-*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return unpacked


def results(folder: Path, files: list[str], on_jax: bool, options: list[str]) -> dict[str, Result]:
    """Of every test of the files, by its file and name."""
    found: dict[str, Result] = {}
    for name in files:
        new = results_of_file(folder, name, on_jax, options)
        failed = [test for test, result in new.items() if result.outcome == "failed"]
        where = "JAX" if on_jax else "tinyjax"
        print(f"{where} {name}: {len(new)} tests, {len(failed)} failed", flush=True)
        for test in failed:
            print(f"    {test}: {new[test].reason}", flush=True)
        found |= new
    return found


def results_of_file(folder: Path, name: str, on_jax: bool, options: list[str]) -> dict[str, Result]:
    report = folder / f"{name}.{'jax' if on_jax else 'tinyjax'}.xml"
    if report.exists() and not options:
        return read_report(report, name)
    report.unlink(missing_ok=True)
    arguments = [name, "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *options]
    command = [sys.executable, "-c", ("" if on_jax else ON_TINYJAX) + RUN_PYTEST, *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    try:
        subprocess.run(command, cwd=folder, env=env, capture_output=True, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return {name: Result("failed", f"took longer than {TIME_LIMIT} s")}
    if not report.exists():
        return {name: Result("failed", "the process ended without a report")}
    return read_report(report, name)


def read_report(report: Path, name: str) -> dict[str, Result]:
    cases = ElementTree.parse(report).iter("testcase")
    return {f"{name} {case.get('classname')}.{case.get('name')}": _result(case) for case in cases}


def _result(case: ElementTree.Element) -> Result:
    for kind, outcome in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
        if (element := case.find(kind)) is not None:
            return Result(outcome, (element.get("message") or "").strip().partition("\n")[0][:150])
    return Result("passed", "")


def section(library: str, ours: dict[str, Result], theirs: dict[str, Result]) -> tuple[str, str]:
    """The library's row of the table, and a line for each reason for which tests fail on tinyjax alone."""

    def number(outcome: str) -> int:
        return sum(result.outcome == outcome for result in ours.values())

    failed = {name for name, result in ours.items() if result.outcome == "failed"}
    failed_on_jax = {name for name, result in theirs.items() if result.outcome == "failed"}
    version = importlib.metadata.version(library)
    counts = [len(ours), *map(number, ("passed", "skipped", "failed")), len(failed & failed_on_jax)]
    row = f"| {library} {version} | " + " | ".join(map(str, counts)) + " |\n"
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    for name in sorted(failed - failed_on_jax):
        reasons[ours[name].reason][name.rstrip("0123456789")] += 1  # parameters have numbers
    lines = [
        f"- `{reason}`: {', '.join(f'`{name}` ({n})' for name, n in names.items())}\n"
        for reason, names in reasons.items()
    ]
    return row, f"\n## {library}: what fails on tinyjax alone\n\n" + (
        "".join(lines) or "Nothing.\n"
    )


def run(library: str, folder: Path, keyword: str | None) -> tuple[str, str] | None:
    """Its row and list, from the reports of its files; None where only some tests are asked for."""
    source = sources(library, folder)
    files = [str(file.relative_to(source)) for file in sorted(source.rglob("*_test.py"))]
    if keyword:
        ours = results(source, files, False, ["-k", keyword])
        print(*(f"{name}: {result}" for name, result in ours.items()), sep="\n")
        return None
    ours = results(source, files, False, [])
    failed = {name.split()[0] for name, result in ours.items() if result.outcome == "failed"}
    return section(library, ours, results(source, sorted(failed), True, []))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("libraries", nargs="*", default=LIBRARIES, help="optax, chex: default both")
    parser.add_argument(
        "--folder", type=Path, help="where the sources and the reports of their files stay"
    )
    parser.add_argument("-k", help="only tests whose names have this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        sections = [run(library, folder, options.k) for library in options.libraries]
    whole = [section for section in sections if section]
    if whole:
        rows, lists = zip(*whole, strict=True)
        TABLE.write_text(HEADING + "".join(rows) + "".join(lists))


if __name__ == "__main__":
    main()
