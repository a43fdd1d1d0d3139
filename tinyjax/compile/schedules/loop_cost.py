"""What a loop may cost: the limits of one work-item, and of one launch.

What is compared with them is counted in cost_record.py.
"""

# Elements that the arrays of one work-item may have: private memory is on a stack, and should stay in
# the cache of a core.
MAX_PRIVATE = 2**16
# Operations in an iteration of one work-item: about what a device does while the iteration's kernels
# are launched one by one, 50 to 100 microseconds.
MAX_ITERATION_WORK, MAX_GPU_ITERATION_WORK = 2**17, 2**14
# Operations of one of many examples in an iteration: products of larger matrices are faster together.
MAX_EXAMPLE_WORK = 2**13
# Operations in one launch, one or two tenths of a second: the host can stop a loop of more.
LAUNCH_WORK = 2**27
ITERATION_WORK = 4  # operations that an iteration takes in any case
