"""What pages load of npm: CodeMirror, and viz.js.

Packages of npm are fetched by npm, in the versions below and no others: each tarball must have its digest.
Their files go into the site as they are, but for the names in their imports, which become names of files; so
there is no build step and no bundler.
"""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path

# For each package of npm: the version, the tarball's SHA-512, the file that pages load, and its name there.
NPM = {
    "@viz-js/viz": (
        "3.31.0",
        "r7zlQdRvcwvIpjHGgs+KNWHeE/P5/Dq7k8ZAKaMCbZqomxCBJV78gVuQYaHzFVca+kB0mX0fMW9UFevCOBG50A==",
        "dist/viz.js",
        "viz.js",
    ),
    "@codemirror/autocomplete": (
        "6.20.4",
        "yF8RhOf2SXlg00+qtupzLhrglcas61boqaONiNcbPIebHCpJocpqTBA6dyrtUrQO47hqyTdeob/3XnYilT7TaQ==",
        "dist/index.js",
        "codemirror/autocomplete.js",
    ),
    "@codemirror/commands": (
        "6.11.1",
        "O/4hG3SC1YwcmQ0d2UVNDs+AsaNWd1iHVxbTeEBuqH+6bExAiPK3iS/BvpY6rZGURALv4ZD3sIgcCmRvw3ehBg==",
        "dist/index.js",
        "codemirror/commands.js",
    ),
    "@codemirror/lang-python": (
        "6.2.1",
        "IRjC8RUBhn9mGR9ywecNhB51yePWCGgvHfY1lWN/Mrp3cKuHr0isDKia+9HnvhiWNnMpbGhWrkhuWOc09exRyw==",
        "dist/index.js",
        "codemirror/lang-python.js",
    ),
    "@codemirror/language": (
        "6.13.1",
        "zfvU2r3TyylQLMj/te+5CnQ0rSqZi8B1oTCBbQkagcLW4Xc6imab6qN+pEJhsuNOLaJqiRyBXp9UhWA1DhVvDw==",
        "dist/index.js",
        "codemirror/language.js",
    ),
    "@codemirror/state": (
        "6.7.6",
        "kAz+AncRtKuIknedxT1bq4XwXv4UowhbkHU1myPrtVb/jZtImWuV5BXzv5vK6i3kYACsdiZiQKFQQ5Mq7elW8w==",
        "dist/index.js",
        "codemirror/state.js",
    ),
    "@codemirror/streamparser": (
        "6.0.0",
        "JTFPF6xrfjt0mnfGPgzcLiMwYmvIyNaoizp8BYzv8FE8KrT6GBGDZ190rtt+O7Wke3gG/MFHyiY9YGNeimof4w==",
        "dist/index.js",
        "codemirror/streamparser.js",
    ),
    "@codemirror/view": (
        "6.43.15",
        "HHsfpqFeHyXLs983pSRe38Xajs0vFWZQ2BuX0m7Ki8w3jZ5iD8cuR3lBz2/5/X53Dhf32SBHKh6rtSTB6tKeGw==",
        "dist/index.js",
        "codemirror/view.js",
    ),
    "@lezer/common": (
        "1.5.5",
        "Pw7PVCndruF1pb3ebCxpSVpkMHSDjwRCLcTRw+RizUKco5QbWylwq2g4lnG/RYN7yTTQDXE9F77MwtkAyphrjg==",
        "dist/index.js",
        "codemirror/lezer-common.js",
    ),
    "@lezer/highlight": (
        "1.2.5",
        "O1GMVKgtf5YspFaRzpmqkVgMtIk2HG9uMAbH6wdAIdNh3TVzCsch/+cRi+6l2//UGDKe6NB9BW3cvuR5ezMQ0w==",
        "dist/index.js",
        "codemirror/lezer-highlight.js",
    ),
    "@lezer/lr": (
        "1.4.12",
        "On9HU4oMMiHPMkQDgoTnGahjgG5n/MkN38CgG77sMraKLL+3JBbeQNi1FcCXV9QRqwF9/BUXP3caHyJC1fBOTQ==",
        "dist/index.js",
        "codemirror/lezer-lr.js",
    ),
    "@lezer/python": (
        "1.1.19",
        "MhQIURHRytsNzP/YXnqpYKW6la6voAH3kyplTOOiCdjyFY6cWWGFVmYVdHIPrElqSDf4iCDktQCockB9FxuhzQ==",
        "dist/index.js",
        "codemirror/lezer-python.js",
    ),
    "@marijn/find-cluster-break": (
        "1.0.4",
        "Wy0V7+SGUjnF9/TkiM1hKVDPj7jKXduPNboMVtHTA8dySMURWqfg/JZ9E2Sq8JgSJmkl7k7Qe9FLeMSrSraWmQ==",
        "src/index.js",
        "codemirror/find-cluster-break.js",
    ),
    "crelt": (
        "1.0.7",
        "aK6BbWfhf4U/wCcLHKPJl/xa6VkVstRaPywWtMKGwuOLc/wZTyQYuoxgvZnNsBvv7Kg3YTBQYYBCggcviQczuA==",
        "index.js",
        "codemirror/crelt.js",
    ),
    "style-mod": (
        "4.1.5",
        "WQ2llCZa9sZSkJA+aOwpg5DkfbAXFKGh//t3MRTBeruFiSBC+GXUmbBzrw3bXyboCWAbtCW9InDfBsXrRD/rAg==",
        "src/style-mod.js",
        "codemirror/style-mod.js",
    ),
    "w3c-keyname": (
        "2.2.8",
        "dpojBhNsCNN7T82Tm7k26A6G9ML3NkhDsnw9n/eoxSRlVBB4CEtIQ/KTCLI2Fwf3ataSXRhYFkQi3SlnFwPvPQ==",
        "index.js",
        "codemirror/w3c-keyname.js",
    ),
}


def write_scripts(static: Path, keep: Path) -> None:
    """Put what is npm's into the folder `_static`; `keep` keeps what was fetched."""
    fetch({package: version for package, (version, *_) in NPM.items()}, keep)
    for package, (version, digest, file, name) in NPM.items():
        text = from_npm(package, version, digest, file, keep)
        (static / name).parent.mkdir(parents=True, exist_ok=True)
        (static / name).write_text(with_files_for_names(text), encoding="utf-8")
    setup = static / "codemirror" / "setup.js"
    setup.write_text(with_files_for_names(setup.read_text(encoding="utf-8")), encoding="utf-8")


def from_npm(package: str, version: str, digest: str, file: str, keep: Path) -> str:
    """A file of a package."""
    with tarfile.open(tarball(package, version, digest, keep)) as archive:
        member = archive.extractfile(f"package/{file}")
        assert member is not None, f"{package} has no {file}"
        return member.read().decode("utf-8")


def tarball(package: str, version: str, digest: str, keep: Path) -> Path:
    """A package as npm gives it, which must have this digest; it stays in the folder `keep`."""
    fetch({package: version}, keep)
    path = keep / file_name(package, version)
    found = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
    if found != digest:
        raise SystemExit(f"{path.name} is not the file that was looked at: its SHA-512 is {found}")
    return path


def fetch(versions: Mapping[str, str], keep: Path) -> None:
    """Put packages into the folder `keep`, those that are not there: by one call, as npm starts slowly."""
    keep.mkdir(parents=True, exist_ok=True)
    asked = [f"{p}@{v}" for p, v in versions.items() if not (keep / file_name(p, v)).exists()]
    if asked:
        command = ["npm", "pack", "--silent", *asked]
        subprocess.run(command, cwd=keep, check=True, stdout=subprocess.DEVNULL)


def file_name(package: str, version: str) -> str:
    return f"{package.removeprefix('@').replace('/', '-')}-{version}.tgz"


def with_files_for_names(text: str) -> str:
    """A module that imports files of the site where it imported packages."""
    files = {package: f"./{Path(name).name}" for package, (_, _, _, name) in NPM.items()}

    def rewritten(found: re.Match[str]) -> str:
        if found[3].startswith("."):
            return found[0]
        if found[3] not in files:
            raise SystemExit(
                f"A file of npm's imports {found[3]}: add it to NPM in tools/website/assets.py."
            )
        return f"{found[1]}{found[2]}{files[found[3]]}{found[2]}"

    return re.sub(
        r"""^((?:import|export)\b(?:[^;'"]*?\bfrom)?\s*)(['"])([^'"]+)\2""",
        rewritten,
        text,
        flags=re.MULTILINE,
    )
