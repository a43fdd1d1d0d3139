"""Freed memory is kept: the next array of the size is not new to the process."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import resource
import numpy as np
import tinyjax

def page_faults_of_four_arrays():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    arrays = [np.ones(200_000, np.float32) for _ in range(4)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(min([page_faults_of_four_arrays() for _ in range(5)]))
"""


@pytest.mark.skipif(
    "CS_GNU_LIBC_VERSION" not in getattr(os, "confstr_names", {}), reason="about the GNU C library"
)
def test_arrays_in_memory_that_was_freed_cost_no_page_faults():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.stderr == ""
    assert int(done.stdout) < 100, "four arrays of 200 pages each"
