"""Why a goal is missed, by workload: what stands in the way, and what was tried. RESULTS.md has the
reasons of those that are missed, with the figures of its measurement.

Figures here are the least of many calls in turns, on two cores of an AMD EPYC with 32 MB of cache, with PoCL
3.0 and JAX 0.10.2: of one that has AVX-512 where that is named, else with AVX2. "Processor time" is that of
all threads together: a call's time on two cores is half of it at best, and threads must be woken.
"""

REASONS = {
    "matmul": """\
Multiply-adds in registers, which read no memory, reach 113 GFLOP/s a core and 212 to 227 on both. JAX
reaches 155 to 215 of them, least with 5000 x 5000, and NumPy's BLAS 195 if both cores are free: the peak is
1.0 to 1.4 times JAX. Where others take part of a core it reaches 100 to 145, as its threads wait for each
other. Large products are BLAS, on the device's memory, with their result in place. Tried: a kernel of our
own, packed and in register blocks (0.84 of BLAS; smaller products are such kernels, with what follows
them); CLBlast (1.5 GFLOP/s on PoCL). What it takes more than NumPy is the call.""",
    "ten steps of a loop": """\
A step is a product and two multiply-adds of each element. With AVX-512 the processor does one vector of
them a cycle, so that ten steps take 2.07 ms of a core and 1.0 on both: what each ten further steps take.
The kernel takes 1.16 on both cores and 2.15 on one; to read and write as many bytes takes 0.5 to 0.9, most
of it meanwhile. A call takes 1.2 ms. JAX takes 2.3 to 2.5 at best, 6.0 of processor time, and 8 where the
results' memory is new to the process (3,900 page faults a call; here a pool has it, and there are none).
So twice JAX's best is what there is, and arithmetic alone would be 2.3 times. With a gain: a core for each
thread of the driver (before that, 1.3 to 2.2, by whether both were on one core).""",
    "sums of 2000 rows": """\
The matrix has 16 MB, which one core adds up in 0.24 to 0.28 ms, out of the last cache. On two free cores a
call takes 0.13 to 0.17, and JAX's 0.18: half of one core's time is 1.4 to 1.5 times JAX. Tried, without a
gain: 1, 2, 4 and 8 rows at a time; 1, 2, 4, 5 and 8 sums of each; vectors of 8 and 16; 2 to 64 work-items.
Where the caches don't have the matrix, pages of 2 MB make 0.4 of 0.9 ms: NumPy asks for them from 4 MB on.
With a gain: a core for each thread of the driver (before that, 0.26 to 0.31).""",
    "sum(x + y * z)": """\
It reads 12 MB, which takes 0.18 ms on one core. On two free cores a call takes 0.10 to 0.11, and JAX's 0.17
to 0.20: half of one core's time is 1.9 times JAX, without what it takes to wake two threads. Tried:
work-items that take turns (half as fast as blocks, and worse), one sum at a time (a quarter slower than
four), eight (as four), 8 or 16 neighbours, 2 to 64 work-items (the same). With a gain: a core for each
thread of the driver (before that, 0.13 to 0.15).""",
    "gradient of sum(logistic(x))": """\
The kernel takes 0.37 ms on one core (0.24 with AVX-512), one that reads and writes as many bytes, x * 2 +
1, 0.12: the time is that of exp. On both cores a call takes 0.16 to 0.19 ms with AVX-512, and JAX's 0.35 to
0.54. Tried, each with a gain: two to the n from the bits of the sum that rounds, in place of a conversion
and two products; logistic as one fraction; fewer results under way, so that their memory stays in the
caches.""",
    "SELU": """\
The kernel takes 0.57 ms of a core (0.31 with AVX-512), one that reads and writes as many bytes 0.12: the
time is that of expm1. On both cores a call takes 0.18 to 0.24 ms with AVX-512, and JAX's 0.57 to 0.6.
Tried, each with a gain: expm1 without branches (15 times as fast); two to the n from bits; fewer results
under way, so that their memory stays in the caches. Eager, it is seven operations on arrays: NumPy takes
0.37 ms for expm1, 0.85 for the two choices, 0.4 for the rest, on one core, and JAX runs its jitted
function. Tried, without a gain: parts of each array in two threads (1.65 to 1.8 for 1.8 to 1.9; with expm1
alone so, 2.7): to hand work to a thread takes 30 microseconds and as many to get it back, and what the
other core wrote is not in this one's cache; results in memory that is kept (the same); choices in blocks
that fit a cache (0.49 for 0.43).""",
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
The time is that of arithmetic: 2.0 ms of a core (1.3 with AVX-512), where to read and write as many bytes
takes 0.12; JAX takes 10.7. NumPy's functions use vector instructions too, so that two cores and one pass
make four to five times. Tried: functions of our own for OpenCL's (ten times as fast); sin and cos that
share their range reduction (1.6 for 2.2); vectors of 8 for 16, fewer results under way (nothing).""",
    "x + y of 10": """\
In a process of its own a call takes 3.7 microseconds, and JAX's 10: 2.7 times; the processor has a mode in
which Python takes 1.5 to 2 times as long, and measurements meet it. Tried, each with a gain: NumPy in a
context that does not warn, and avals that are one object if they are equal (half the time together); less
around promotion.""",
    "gradient of x * sin(x)": """\
In a process of its own a call takes 90 microseconds; the processor has a mode in which Python takes 1.5 to
2 times as long, and measurements meet it. The rules run at each call. Tried: derivatives remembered by
avals (1.9 times as fast, and no rule ran where a reader looks for it).""",
    "x * sin(x) of a scalar": """\
In a process of its own a call takes 6.4 microseconds, and JAX's 6.2; of these, the driver takes 1.3 to run
the kernel, 0.5 to know the result's memory and 0.3 to take the arguments. Tried, each with a gain: one
lookup from arguments to the program; the driver's device without threads; one launch with all prepared for
it (4.1 for 7.6 after the lookup); the structure of arguments as a tuple. Without a gain: small results from
a pool.""",
    "softmax": """\
It takes 3.7 ms of a core (2.9 with AVX-512): 1.6 are those of exp, and to read and write 16 MB takes 1.55
(1.05 on both cores). A call takes 4.1 ms of processor time, and JAX's 5.6 to 6.1: 1.4 times. On both cores
the kernel takes 2.3 ms, where others empty the caches in between 3 to 4. Tried, each with a gain: one
kernel for all of it, exp in vectors, four rows at a time. Without one: one, two or eight rows; vectors of
8; a product with 1 / sum, which would be rounded otherwise; a maximum with one comparison less.""",
    "sums of 2000 columns": """\
The matrix has 16 MB, of which memory gives one in 0.13 ms at best, on both cores; a call takes 0.16 to 0.20,
and JAX's 0.45. Tried, each with a gain: walking down rows in the order of memory, vectors of sixteen, plain
loads for PoCL's vload16; a core for each thread of the driver (before that, 0.25 to 0.4).""",
    "training step of an MLP": """\
Its products are 61 million operations on floats, which take 0.6 ms at a core's peak of 113 GFLOP/s; a call
takes 0.47 to 0.55 ms on both, 1.0 of processor time, and JAX's 0.69 and 1.1. Tried, each with a gain:
products with what follows them as one kernel; small kernels in the calling thread, in one launch; arguments
of kernels as slots; a core for each thread of the driver (before that, 0.69 to 0.76).""",
    "convolution": """\
JAX runs it on one core, 2.4 ms at 94 of the 113 GFLOP/s of multiply-adds in registers. Here it is a product
whose kernel reads images where they are, 1.15 ms on both cores at best: nine tenths of the peak; to store the
images with zeros around them takes 0.03 of it. Before, windows were copied for BLAS, 1.7 to 2.0 ms, and 8
where another program kept one of two cores busy, as BLAS's threads wait for each other. Tried, without a
gain: tiles of 7 or 14 places of one line, by 16 to 64 features; no copy of the kernel's panel; the whole
depth in one panel; smaller blocks.""",
    "training step of a CNN": """\
Its five convolutions were products by BLAS of copied windows, 4.3 of 5.7 ms. As kernels that copy nothing, a
step takes 2.1 to 2.7. Where the gradient needs what a relu is taken of, the relu is a kernel of its own.""",
    "make_jaxpr": """\
It is four to six times as fast as JAX, by the mode that the processor is in. Tried, each with a gain: avals
that are one object if they are equal; what abstract evaluation says of equal operands is remembered; the
user's line is looked for once per file.""",
}


def reason(workload: str) -> str:
    """Why the workload may miss its goal, if it is known."""
    found = [text for name, text in REASONS.items() if workload.startswith(name)]
    return " ".join(found[0].split()) if found else "Why is not known yet."
