"""Processes that meet, disagree and end. Each test starts some, so all are slow."""

import textwrap

import pytest
from processes import by_mpiexec, from_shells, needs_mpi

pytestmark = [pytest.mark.slow, needs_mpi]

START = """
import numpy as np
import tinyjax as jax
from tinyjax.many_devices.distributed.processes import Meeting, everybody
jax.distributed.initialize(*globals().get("place", ()))
"""
FROM_SHELL = "place = address, count, process\n" + START
LIST = (
    START
    + """
told = jax.process_index(), jax.process_count(), jax.devices(), jax.local_devices()
print(" ".join(map(str, told)) + "\\n", end="", flush=True)  # at once: several print
"""
)
LISTED = (
    "{} 2 [CpuDevice(id=0), CpuDevice(id=1), CpuDevice(id=2048), CpuDevice(id=2049)] "
    "[CpuDevice(id={}), CpuDevice(id={})]"
)


def test_mpiexec_starts_processes_that_know_each_others_devices():
    ended = by_mpiexec(LIST, JAX_NUM_CPU_DEVICES="2")
    assert ended.status == 0, ended.err
    assert sorted(ended.out.splitlines()) == [LISTED.format(0, 0, 1), LISTED.format(1, 2048, 2049)]


def test_processes_that_are_started_one_by_one_find_each_other():
    ended = from_shells("place = address, count, process\n" + LIST, JAX_NUM_CPU_DEVICES="2")
    assert [e.status for e in ended] == [0, 0], ended
    assert [e.out.strip() for e in ended] == [LISTED.format(0, 0, 1), LISTED.format(1, 2048, 2049)]


def test_processes_that_differ_in_their_number_are_told_so():
    code = "place = address, 2 + process, process\n" + START
    ended = from_shells(code)
    assert all("process 1 says num_processes=3, process 0 2" in e.err for e in ended)


def test_who_is_missing_is_named(tmp_path):
    """The two that are there call at the same time, however long their imports take."""
    code = """
    import os, time
    import tinyjax as jax
    folder = os.environ["STARTED"]
    os.mkdir(f"{folder}/{process}")
    while len(os.listdir(folder)) < count:
        time.sleep(0.01)
    jax.distributed.initialize(address, 3, process, initialization_timeout=2)
    """
    ended = from_shells(code, STARTED=str(tmp_path))
    assert all("after 2 s, of 3 processes these have not called" in e.err for e in ended)
    assert all("initialize: [2]" in e.err for e in ended)


def test_a_mismatch_says_which_process_is_where():
    code = START + "with Meeting(f'psum of float32[{jax.process_index()}]', everybody()): pass"
    ended = by_mpiexec(code)
    assert ended.status != 0
    assert "process 0: psum of float32[0]\n  process 1: psum of float32[1]" in ended.err


def test_a_process_that_has_ended_is_not_waited_for():
    code = START + "if jax.process_index(): Meeting('psum of float32[8]', everybody()).__enter__()"
    ended = by_mpiexec(code)
    assert ended.status != 0
    assert "process 0: the end of the program\n  process 1: psum of float32[8]" in ended.err


FAILING = """
if jax.process_index() == 0:
    {}
with Meeting('psum of float32[8]', everybody()):
    pass
"""


@pytest.mark.parametrize("count", [2, 4])
def test_an_exception_ends_all_processes_with_its_message(count):
    ended = by_mpiexec(START + FAILING.format("raise ValueError('no data')"), count)
    assert ended.status != 0
    assert "ValueError: no data" in ended.err


def test_an_exception_is_heard_in_other_shells():
    ended = from_shells(FROM_SHELL + FAILING.format("raise ValueError('no data')"))
    assert all(e.status for e in ended)
    assert "process 1 ends: process 0 failed: ValueError: no data" in ended[1].err


KILLED = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"


def test_when_a_process_is_killed_the_others_end_with_an_error():
    ended = by_mpiexec(START + FAILING.format(KILLED))
    assert ended.status != 0
    assert "signal 9" in (ended.out + ended.err).lower()


def test_when_a_process_is_killed_those_in_other_shells_end_with_an_error():
    ended = from_shells(FROM_SHELL + FAILING.format(KILLED))
    assert all(e.status for e in ended)
    assert "process 1 ends: process 0 failed: it was killed" in ended[1].err


def test_a_process_waits_for_others_only_so_long_and_names_them():
    slow = FAILING.format("import time; time.sleep(60)")
    ended = by_mpiexec(START + slow, TINYJAX_COLLECTIVE_TIMEOUT_SECONDS="1")
    assert ended.status != 0
    assert ended.seconds < 50
    assert (
        "it has waited for 1 s at: psum of float32[8]. It waits for process 0, which is at no"
        in ended.err
    )


def test_a_program_parts_by_itself_and_by_shutdown():
    ended = by_mpiexec(
        START + "jax.distributed.shutdown(); print(jax.distributed.is_initialized())"
    )
    assert (ended.status, ended.out.count("False")) == (0, 2)


CROSSED = """
process = jax.process_index()
with Meeting('psum over i', ((0, 1), (1, 2), (0, 2))[process]):
    pass
"""


def test_processes_that_wait_for_each_other_end_within_seconds():
    ended = by_mpiexec(START + CROSSED, 3)
    assert ended.status != 0 and ended.seconds < 30
    told = "process 0: psum over i, of processes 0, 1\n  process 1: psum over i, of processes 1, 2"
    assert "The processes wait for each other: each has to come" in ended.err
    assert told in ended.err


def test_who_comes_late_is_waited_for():
    code = """
    import time
    if jax.process_index() == 1:
        time.sleep(4)
    ranks = (0, 1), (1, 2), (0, 1, 2)
    for which in ranks:
        if jax.process_index() in which:
            with Meeting('psum over i', which):
                pass
    """
    ended = by_mpiexec(START + textwrap.dedent(code), 3)
    assert (ended.status, ended.err) == (0, "")


def test_a_killed_program_leaves_no_shared_memory_of_its_own():
    code = """
    import re
    maps = open("/proc/self/maps").read()
    names = re.findall("/dev/shm/mpich_shm_.*", maps)
    print(*names, sep=";")
    with Meeting("here", everybody()): pass
    """
    ended = by_mpiexec(START + textwrap.dedent(code))
    assert ended.status == 0, ended.err
    assert all(name.endswith(" (deleted)") for name in ended.out.strip().split(";"))
