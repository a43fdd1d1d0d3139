"""Run in Pyodide by compile.mjs: write into /out what Python has compiled of the modules that it imported."""

import importlib.util
import struct
import sys
import zipfile
from pathlib import Path

STDLIB, OUT = "/lib/python314.zip", Path("/out")
IS_HASHED, CHECKS_SOURCE = 1, 2  # flags of a .pyc, see PEP 552


def pyc(source: bytes, code: bytes, flags: int) -> bytes:
    magic, digest = importlib.util.MAGIC_NUMBER, importlib.util.source_hash(source)
    return magic + struct.pack("<L", IS_HASHED | flags) + digest + code


def keep(files: list[str]) -> None:
    """Python wrote a .pyc beside each source that it imported; its first 16 bytes name the source's time,
    for which the digest is put. Of an archive's modules nothing is written: those are compiled again."""
    import marshal

    with zipfile.ZipFile(STDLIB) as given:
        library = {name: given.read(name) for name in given.namelist()}
    for file in files:
        if file.startswith(f"{STDLIB}/"):
            name = file.removeprefix(f"{STDLIB}/")
            code = compile(library[name], file, "exec", dont_inherit=True)
            library[f"{name}c"] = pyc(library[name], marshal.dumps(code), 0)
        else:
            cached = importlib.util.cache_from_source(file)
            kept = OUT / cached.lstrip("/")
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(
                pyc(Path(file).read_bytes(), Path(cached).read_bytes()[16:], CHECKS_SOURCE)
            )
    with zipfile.ZipFile(OUT / "python_stdlib.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(library.items()):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


modules = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
keep(sorted({file for file in modules if file and file.endswith(".py")}))
