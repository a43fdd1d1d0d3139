"""Runs a program in several processes, which find each other through MPI: by mpiexec, or from a shell."""

import os
import shutil
import socket
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

MPIEXEC = shutil.which(
    "mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
)
needs_mpi = pytest.mark.skipif(
    find_spec("mpi4py") is None or MPIEXEC is None,
    reason="mpi4py or mpiexec is missing: pip install 'tinyjax-readable[mpi]'",
)
SECONDS = 100  # after which a program is ended, whatever it does


@dataclass
class Ended:
    """How a process ended, and what it said; of mpiexec, what all of them said."""

    status: int
    out: str
    err: str
    seconds: float


def by_mpiexec(code: str, count: int = 2, **environment: str) -> Ended:
    """`code` by `mpiexec -n count`."""
    command = [MPIEXEC, "-n", str(count), sys.executable, "-c", textwrap.dedent(code)]
    return _ends(time.monotonic(), [_started(command, environment)])[0]


def from_shells(code: str, count: int = 2, **environment: str) -> list[Ended]:
    """`code` in processes that are started one by one; it finds `address`, `count` and `process`."""
    began, address = time.monotonic(), f"localhost:{_free_port()}"
    code = textwrap.dedent(code)
    heads = [f"address, count, process = {address!r}, {count}, {i}\n" for i in range(count)]
    commands = [[sys.executable, "-c", head + code] for head in heads]
    return _ends(began, [_started(command, environment) for command in commands])


def _started(command: list[str], environment: dict[str, str]) -> subprocess.Popen:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, env=os.environ | environment
    )


def _ends(began: float, started: list[subprocess.Popen]) -> list[Ended]:
    try:
        said = [process.communicate(timeout=SECONDS) for process in started]
    finally:
        for process in started:
            process.kill()
    seconds = time.monotonic() - began
    return [Ended(p.returncode, *texts, seconds) for p, texts in zip(started, said)]


def _free_port() -> int:
    with socket.create_server(("localhost", 0)) as server:
        return server.getsockname()[1]
