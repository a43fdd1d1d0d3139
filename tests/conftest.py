"""Settings of all tests."""

import gc
import importlib.util
import os

# Tests compare compiled with eager: calls wait for their kernels, unless a test says otherwise.
os.environ.setdefault("TINYJAX_BACKGROUND_BUILD", "0")

if importlib.util.find_spec("poisoned_memory"):  # not in a learner's folder
    import poisoned_memory

    poisoned_memory.install()


def pytest_collection_finish():
    """Thousands of tests stay: without them, the garbage collector has little to look through."""
    gc.collect()
    gc.freeze()
