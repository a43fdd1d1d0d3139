"""The cost model of fusion: all numbers by which equations are put into groups.

A value is either kept in memory or computed again by each kernel that reads it, so the question is always how
many operations cost as much as memory does. Other numbers are elsewhere: how a kernel shares out its work, in
its schedule; which matrix products are kernels, in products.py; which kernels are too small for threads, in
inline_policy.py. cost_record.py counts the cost of an equation.

Measured on two cores of an AMD EPYC with AVX2: a sum over 4 million float32s takes 0.8 ms, each
further array that it reads 0.46 ms, and each further operation, from the eighth on, 0.08 to 0.11 ms.
"""

# ---- memory or operations ----

# Operations for an element that cost as much as to read it from memory. A value that takes at most these is
# recomputed wherever it is read; one that takes more is stored, if it would be computed twice.
CHEAP_WORK = 6

# Readers at other places of a value joined from several arrays, such as a padded image, that are enough to
# store it: each would choose among these arrays, and a kernel that chooses so often has no vectors.
MANY_READERS = 9

# ---- the limits of a kernel ----

# Arrays that one kernel reads and writes: devices allow few more than a hundred parameters.
MAX_BUFFERS = 48
# The limit for a reduction's kernel. It begins with at most MAX_OPERANDS inputs; results are added to them.
MAX_ARRAYS = 64
MAX_OPERANDS = 32
# Equations that compute one value of a kernel, and all its values. A driver's memory grows with them, and its
# time faster: 2000 in one kernel took LLVM 570 MB, in eight kernels 330.
MAX_EQUATIONS = 256
MAX_EQUATIONS_IN_ALL = 512
# The limit for a reduction's kernel, which may recompute an equation in each of its sweeps.
MAX_REDUCTION_EQUATIONS = 96
# Index maps upon index maps in one element: each makes the indices' text longer. Reshapes multiply it, so
# they count four times.
MAX_DEPTH = 24
# Kernels of its shape that a value is tried with, so that the time to group grows as the program does.
MAX_TRIED = 8

# ---- updates ----

# A window gets its own kernel if the array that it changes is at least this many times as large: a kernel
# that updates in place stores only the window.
MIN_IN_PLACE = 64

# ---- reductions ----

# Enough columns for a GPU's kernel by columns. On a CPU, vectors may be longer than a row.
MIN_COLUMNS = 16
# With at most this many rows, each element of a sum is computed by itself, like an elementwise operation.
FEW_TERMS = 16
# Rows that are enough for several work-items of a GPU to share a column.
MIN_ROWS = 64
