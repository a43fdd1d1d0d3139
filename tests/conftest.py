"""Settings of all tests."""

import os

# Tests compare compiled with eager: calls wait for their kernels, unless a test says otherwise.
os.environ.setdefault("TINYJAX_BACKGROUND_BUILD", "0")
