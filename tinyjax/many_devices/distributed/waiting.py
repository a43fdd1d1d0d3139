"""Waiting between processes of one machine, and sharing its cores.

A process that polls, as MPI does, takes a core from one that computes. So it sleeps between polls:
immediately if there are fewer cores than processes. On a core without other work, it first spins for longer
than the others may sleep: otherwise processes could forever fall asleep while others wake up. BLAS threads
wait for each other in the same way, so each process uses at most its share of the cores.

Source: Karlin et al., "Empirical studies of competitive spinning for a shared-memory multiprocessor", 1991
"""

from __future__ import annotations

import os
import time
from typing import Any

from tinyjax.lax.blas_threads import NUMPY

NAP = 20e-6  # seconds; in practice about 70 microseconds
SPIN = 200e-6  # longer than two naps
shares_a_core = False  # whether this process shares a core with another one


def wait_for(request: Any) -> None:
    """Wait for an MPI request to complete."""
    if request.Test():
        return
    until = time.perf_counter() + (0 if shares_a_core else SPIN)
    while not request.Test():
        if time.perf_counter() > until:
            time.sleep(NAP)


def share_cores(comm: Any) -> None:
    """Limit threads started from now on, OpenCL's and BLAS's, to this process's share of the cores among
    `comm`, the processes of its machine. The user's own settings are kept."""
    global shares_a_core
    if not hasattr(os, "sched_getaffinity"):  # not Linux
        return
    own = os.sched_getaffinity(0)
    rivals = sum(not own.isdisjoint(theirs) for theirs in comm.allgather(own))  # and itself
    shares_a_core = rivals > len(own)
    share = max(1, len(own) // rivals)
    os.environ.setdefault("POCL_MAX_PTHREAD_COUNT", str(share))
    if "OPENBLAS_NUM_THREADS" not in os.environ and "OMP_NUM_THREADS" not in os.environ:
        NUMPY.limit(share)
