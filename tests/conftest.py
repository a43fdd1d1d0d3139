"""Settings of all tests."""

import gc
import importlib.util
import os
import sys
from collections import Counter

import numpy as np
import pytest

gc.disable()  # while tests are collected: nothing of theirs is rubbish, and all is looked through again

# Tests compare compiled with eager: calls wait for their kernels, unless a test says otherwise.
os.environ.setdefault("TINYJAX_BACKGROUND_BUILD", "0")

if importlib.util.find_spec("poisoned_memory"):  # not in a learner's folder
    import definite_assignment
    import poisoned_memory

    from tinyjax.runtime.pocl.linker import link_with_tcc

    poisoned_memory.install()
    definite_assignment.install()
    link_with_tcc()  # thousands of kernels, each in a tenth of the time that the system's linker takes

# The files that take longest, with the slow tests: begun first, so that the processes end together.
LONG = [
    "tests/test_site_in_browser.py",
    "tests/studio/learn/test_wrong_answers.py",
    "tests/test_first_hour.py",
    "tests/studio/learn/test_exercises.py",
    "tests/test_examples.py",
    "tests/many_devices/distributed/test_processes.py",
    "tests/test_without_features.py",
    "tests/studio/viz/page/test_live.py",
    "tests/many_devices/sharding/test_recorded.py",
    "tests/test_packaging.py",
    "tests/test_pyodide.py",
    "tests/many_devices/shard_map/test_across_devices.py",
    "tests/studio/learn/test_finish.py",
    "tests/studio/learn/test_grade.py",
    "tests/studio/learn/test_learn.py",
    "tests/compat/test_as_jax.py",
    "tests/test_without_fast.py",
    "tests/test_tutorials.py",
]


def pytest_ignore_collect(collection_path, config):
    """`-m slow` imports no file that never says so: to import all takes as long as many slow tests."""
    if config.option.markexpr == "slow" and collection_path.match("test_*.py"):
        return b"slow" not in collection_path.read_bytes() or None
    return None


def file_of(item):
    return item.nodeid.partition("::")[0]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """The long files first, then those with the most tests: the order in which processes get them."""
    if hasattr(config, "workerinput"):
        count = Counter(map(file_of, items))
        rank = {file: i - len(LONG) for i, file in enumerate(LONG)}
        items.sort(key=lambda item: (rank.get(file_of(item), 0), -count[file_of(item)]))


def pytest_collection_finish():
    """Thousands of tests stay: without them, the garbage collector has little to look through."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call():
    """A test that passes leaves the settings of NumPy and of Python as they were. (As a `wrapper`, this would
    be a line in the tracebacks of tests that fail.)"""
    before, limit = np.geterr(), sys.getrecursionlimit()
    outcome = yield
    after, is_limit_same = np.seterr(**before), sys.getrecursionlimit() == limit
    if outcome.excinfo is None and not (after == before and is_limit_same):
        said = f"NumPy's settings for errors were {before}, and are now {after}"
        said = said if is_limit_same else "Python's recursion limit was changed"
        outcome.force_exception(AssertionError(said))
