"""Make the C library keep freed memory: an array of 50,000 to 1,000,000 elements costs no page faults.

An eager gradient of sum(sin(x) * x) takes 0.24 ms instead of 0.66 with 50,000 elements, 0.5 instead of 2.4
with 200,000, and 3.3 instead of 14 with a million.

glibc returns freed memory to the system at once, so each larger array is new to the process again: its page
faults take longer than its computation. glibc adapts the amount that it keeps to twice the largest block
freed so far, but ignores blocks of more than 32 MB. So a block of that size is freed here, without ever being
touched. Other C libraries are unaffected.
"""

import sys

import numpy as np

if sys.platform != "emscripten":  # which never returns memory
    np.empty(2**25 - 2**16, np.uint8)
