"""The message of a failed build: the compiler's first error, and where its full log is."""

from __future__ import annotations

import re
from typing import Any

from tinyjax.runtime.errors import KernelBuildError
from tinyjax.runtime.pocl.cache import pocl_folder, what_to_do, why_unwritable


def build_error(cl_device: Any, text: str, log: str) -> KernelBuildError:
    """The error for a program that the driver can't build: its cause in a few lines. The program and the
    driver's log, which may be hundreds of lines, go to a file."""
    what = f"INTERNAL: {cl_device.name} can't build a kernel"
    is_pocl = cl_device.platform.name == "Portable Computing Language"
    if is_pocl and (reason := why_unwritable(pocl_folder())):
        where = f"{pocl_folder()} can't be written to ({reason})"
        return KernelBuildError(f"{what}: {where}. {what_to_do('POCL_CACHE_DIR')}")
    return KernelBuildError(f"{what}: {_first_error(text, log)}\n{_written_to_file(text, log)}")


def _first_error(text: str, log: str) -> str:
    """The first error in the driver's log, and the line of the program that it names."""
    said = [line for line in log.splitlines() if re.search(r"\berror\b", line)]
    if not said:
        return "the driver gives no reason"
    message = re.sub(r"\S*?(?=\d+:\d+: )", "", said[0], count=1)
    place = re.search(r"(\d+):\d+: ", said[0])
    lines = text.splitlines()
    if not place or not 0 < int(place[1]) <= len(lines):
        return message
    return f"{message}\n{place[1]:>4} {lines[int(place[1]) - 1]}"


def _written_to_file(text: str, log: str) -> str:
    import tempfile  # here, as importing it takes a while

    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="tinyjax-kernel-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            file.writelines(f"{n:4} {line}\n" for n, line in enumerate(text.splitlines(), 1))
            file.write(f"\n{log}\n")
    except OSError as error:
        return f"The driver's log and the program can't be written to a file: {error}."
    return f"The program and the driver's log are in {file.name}."
