"""Why a goal is missed, by workload: what stands in the way, and what was tried. RESULTS.md has the
reasons of those that are missed, with the figures of its measurement.

Figures here are the least of many calls in turns, on two cores of an AMD EPYC with AVX2, with PoCL 3.0 and
JAX 0.10.2.
"""

REASONS = {
    "matmul": """\
Multiply-adds in registers, which read no memory, reach 185 GFLOP/s on both cores; NumPy's BLAS 175 (512 x
512), and JAX 160: 1.5 times JAX would be 240, more than the processor has. Tried: a kernel of our own,
packed and in register blocks (0.84 of BLAS; smaller products are such kernels, with what follows them);
CLBlast (1.5 GFLOP/s on PoCL); BLAS on the device's memory, with its result in place, which is what large
products are. What it takes more than NumPy is the call.""",
    "sums of 2000 rows": """\
The matrix has 16 MB. Kernels that only add up such an array, in 34 shapes (1 to 8 sums at a time, 2 to 64
work-items, 8 or 16 neighbours, in blocks or in turns), read 84 GB/s at best, which takes 0.19 ms; JAX takes
0.29, and 1.5 times JAX is just that. Tried: plain loads for PoCL's vload16, which it calls as a function
(five times as fast); a row's sum in four parts; four rows at a time, so that sums do not wait for each
other.""",
    "sum(x + y * z)": """\
It reads 12 MB. Of 34 kernels that only add up so much, the best takes 0.15 ms, and JAX 0.26: 1.7 times JAX
is what memory gives. Tried in these: work-items that take turns (half as fast as blocks, and worse), one
sum at a time (a quarter slower than four), eight (as four), 8 or 16 neighbours, 2 to 64 work-items (the
same).""",
    "gradient of sum(logistic(x))": """\
A kernel that reads and writes as many bytes, x * 2 + 1, takes 0.08 ms; exp alone 0.2, this gradient 0.25:
the time is that of exp. A call takes 0.07 more, for waking threads and for the result's memory. So it is
0.32 against JAX's 0.43. Tried, each with a gain: two to the n from the bits of the sum that rounds, in
place of a conversion and two products; logistic as one fraction; fewer results under way, so that their
memory stays in the caches.""",
    "SELU": """\
The kernel takes 0.25 ms, of which expm1 is 0.19; one that reads and writes as many bytes takes 0.08. A call
takes 0.07 more, for waking threads and for the result's memory. So it is 0.32 at best against JAX's 0.74,
and more where waking takes long. Tried, each with a gain: expm1 without branches (15 times as fast); two to
the n from bits; fewer results under way, so that their memory stays in the caches.""",
    "gradient of a small network": """\
Six small kernels, which take less time than a launch of each would. In a process of its own a call takes 56
microseconds, of which the kernels are 46, and JAX's 66. Tried, each with a gain: products with what follows
them as one kernel; small kernels in the calling thread, by PoCL's device without threads; all six as one
launch; that launch with all prepared for it (56 for 69).""",
    "gradient of the MLP, eager": """\
The same gradient, derived by hand in NumPy, takes 0.8 ms. The rules run at each call: 78 operations are
computed, and 34 written down. Tried: derivatives remembered by avals (1.4 times as fast, and no rule ran
where a reader looks for it). With a gain: avals of results that are remembered; less around scalars; small
broadcasts as copies.""",
    "sin(x) * cos(x) + tanh(x)": """\
The time is that of arithmetic: 2.4 ms of a core for 1M, of which sin and cos take 1.5 together and tanh
1.1; memory is 0.4. NumPy's functions use vector instructions too, so that two cores and one pass make four
to five times. Tried: functions of our own for OpenCL's (ten times as fast); sin and cos that share their
range reduction (1.6 for 2.2); fewer results under way (nothing).""",
    "x + y of 10": """\
In a process of its own a call takes 3.7 microseconds, and JAX's 10: 2.7 times; the processor has a mode in
which Python takes 1.5 to 2 times as long, and measurements meet it. Tried, each with a gain: NumPy in a
context that does not warn, and avals that are one object if they are equal (half the time together); less
around promotion.""",
    "gradient of x * sin(x)": """\
In a process of its own a call takes 90 microseconds; the processor has a mode in which Python takes 1.5 to 2
times as long, and measurements meet it. The rules run at each call. Tried: derivatives remembered by avals
(1.9 times as fast, and no rule ran where a reader looks for it).""",
    "x * sin(x) of a scalar": """\
In a process of its own a call takes 6.4 microseconds, and JAX's 6.2; of these, the driver takes 1.3 to run
the kernel, 0.5 to know the result's memory and 0.3 to take the arguments. Tried, each with a gain: one
lookup from arguments to the program; the driver's device without threads; one launch with all prepared for
it (4.1 for 7.6 after the lookup); the structure of arguments as a tuple. Without a gain: small results from
a pool.""",
    "softmax": """\
In turns of its own it takes 2.0 to 2.5 ms, and JAX's 4.5 to 7; where others empty the caches in between it
takes 3 to 4, of which most is memory. Tried, each with a gain: one kernel for all of it, exp in vectors,
results that go past the caches, four rows at a time.""",
    "sums of 2000 columns": """\
The matrix has 16 MB, of which memory gives one in 0.19 ms at best. Tried, each with a gain: walking down
rows in the order of memory, vectors of sixteen, plain loads for PoCL's vload16.""",
    "training step of an MLP": """\
Its time is that of products, for which 1x is what the processor has to give; it is 0.9 to 1.2, by how free
both cores are. Tried, each with a gain: products with what follows them as one kernel; small kernels in the
calling thread, in one launch; arguments of kernels as slots.""",
    "make_jaxpr": """\
It is four to six times as fast as JAX, by the mode that the processor is in. Tried, each with a gain: avals
that are one object if they are equal; what abstract evaluation says of equal operands is remembered; the
user's line is looked for once per file.""",
}


def reason(workload: str) -> str:
    """Why the workload may miss its goal, if it is known."""
    found = [text for name, text in REASONS.items() if workload.startswith(name)]
    return " ".join(found[0].split()) if found else "Why is not known yet."
