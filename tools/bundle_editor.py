"""Bundles CodeMirror, as the site has it, into the one file that `tinyjax explain --live` serves.

    python tools/bundle_editor.py      # after a change of the versions in tools/website/assets.py

It needs npm, which fetches the packages (their digests are checked) and esbuild.
"""

import argparse
import runpy
import subprocess
import tarfile
import tempfile
from pathlib import Path

TOOLS = Path(__file__).parent
SETUP = TOOLS / "website" / "static" / "codemirror" / "setup.js"
BUNDLE = TOOLS.parent / "tinyjax" / "studio" / "viz" / "page" / "codemirror.js"
ESBUILD = "esbuild@0.28.2"
HEAD = """\
/* Written by tools/bundle_editor.py. CodeMirror and what it needs:
{packages}

{licence}
*/
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--keep", type=Path, help="the folder for what is fetched (a temporary one)"
    )
    keep = parser.parse_args().keep
    assets = runpy.run_path(str(TOOLS / "website" / "assets.py"))
    packages = codemirror(assets["NPM"])
    with tempfile.TemporaryDirectory() as folder:
        modules = Path(folder) / "node_modules"
        for package, (version, digest, *_) in packages.items():
            packed = assets["tarball"](package, version, digest, (keep or Path(folder)).resolve())
            with tarfile.open(packed) as archive:
                archive.extractall(modules, filter="data")
            (modules / package).parent.mkdir(exist_ok=True)
            (modules / "package").rename(modules / package)
        (Path(folder) / "setup.js").write_text(SETUP.read_text(encoding="utf-8"), encoding="utf-8")
        command = (
            f"npx --yes {ESBUILD} setup.js --bundle --minify --format=iife --global-name=editor"
        )
        command += " --charset=utf8 --legal-comments=none"
        made = subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
        licence = (modules / "@codemirror" / "state" / "LICENSE").read_text(encoding="utf-8")
    head = HEAD.format(packages=listed(packages), licence=licence.strip())
    BUNDLE.write_text(head + made.stdout.decode("utf-8"), encoding="utf-8")
    print(f"wrote {BUNDLE}, {BUNDLE.stat().st_size // 1000} kB")


def codemirror(npm: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The packages of the editor, of all that the site loads."""
    return {name: what for name, what in npm.items() if what[-1].startswith("codemirror/")}


def listed(packages: dict[str, tuple[str, ...]]) -> str:
    return ", ".join(f"{name} {version}" for name, (version, *_) in packages.items())


if __name__ == "__main__":
    main()
