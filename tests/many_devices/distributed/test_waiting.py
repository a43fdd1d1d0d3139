"""How a process waits, and what it leaves to the others of its machine."""

import os

import pytest

from tinyjax.many_devices.distributed import waiting


class Request:
    """Done when it has been asked so often."""

    def __init__(self, times):
        self.left = times

    def Test(self):
        self.left -= 1
        return self.left <= 0


class Machine:
    """The processes of a machine, by the cores that each may use."""

    def __init__(self, *cores):
        self.cores = cores

    def allgather(self, own):
        return self.cores


def test_what_is_done_is_not_asked_again(monkeypatch):
    naps = []
    monkeypatch.setattr(waiting.time, "sleep", naps.append)
    request = Request(1)
    waiting.wait_for(request)
    assert request.left == 0 and naps == []


def test_who_waits_longer_sleeps_between_questions(monkeypatch):
    naps = []
    monkeypatch.setattr(waiting.time, "sleep", naps.append)
    monkeypatch.setattr(waiting, "SPIN", -1)
    waiting.wait_for(Request(5))
    assert len(naps) == 3


def test_who_shares_a_core_sleeps_at_once(monkeypatch):
    naps = []
    monkeypatch.setattr(waiting.time, "sleep", naps.append)
    monkeypatch.setattr(waiting, "SPIN", 1e9)
    monkeypatch.setattr(waiting, "shares_a_core", True)
    waiting.wait_for(Request(5))
    assert len(naps) == 3


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="not Linux")
@pytest.mark.parametrize(
    "cores, share",
    [
        ([{0, 1, 2, 3}] * 2, "2"),
        ([{0, 1, 2, 3}] * 8, "1"),
        ([{0, 1, 2, 3}, {4, 5, 6, 7}], "4"),  # the launcher has shared them out
    ],
)
def test_processes_share_out_the_cores_that_several_may_use(monkeypatch, cores, share):
    found = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: cores[0])
    monkeypatch.setattr(waiting.NUMPY, "limit", lambda count: found.append(str(count)))
    for name in ("POCL_MAX_PTHREAD_COUNT", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("POCL_MAX_PTHREAD_COUNT", "")  # is taken back after the test
    del os.environ["POCL_MAX_PTHREAD_COUNT"]
    monkeypatch.setattr(waiting, "shares_a_core", None)
    waiting.share_cores(Machine(*cores))
    assert waiting.shares_a_core == (len(cores) > 4)
    assert [*found, os.environ["POCL_MAX_PTHREAD_COUNT"]] == [share, share]


def test_what_the_user_has_set_stays(monkeypatch):
    monkeypatch.setenv("POCL_MAX_PTHREAD_COUNT", "7")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setattr(waiting.NUMPY, "limit", lambda count: pytest.fail("set"))
    monkeypatch.setattr(waiting, "shares_a_core", None)
    waiting.share_cores(Machine({0}, {0}))
    assert os.environ["POCL_MAX_PTHREAD_COUNT"] == "7"
