"""Has the C library keep freed memory: an array of 50,000 to 1,000,000 elements costs no page faults.

An eager gradient of sum(sin(x) * x) takes 0.24 ms instead of 0.66 with 50,000 elements, 0.5 instead of 2.4
with 200,000, and 3.3 instead of 14 with a million.

glibc returns freed memory to the system as soon as there is some, and then each larger array is new to
the process again: the page faults take longer than what is computed in it. It learns how much to keep, twice
the largest block that was ever freed; one of more than 32 MB teaches it nothing. So one of that size is freed
here, which is never touched. Other C libraries learn nothing from it, and lose nothing.
"""

import sys

import numpy as np

if sys.platform != "emscripten":  # which never returns memory
    np.empty(2**25 - 2**16, np.uint8)
