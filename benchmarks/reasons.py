"""Why a goal is missed, by workload: the measured limit. RESULTS.md has the lines of those that are missed.

Times are the least of many calls, on two cores of an AMD EPYC with 32 MB of cache, with PoCL 3.0.
"""

REASONS = {
    "matmul": "JAX and BLAS reach 0.7 to 0.95 of the peak of multiply-adds, 226 GFLOP/s on both cores.",
    "ten steps of a loop": "Multiply-adds alone take 1.0 ms on both cores; a call takes 1.2.",
    "sums of 2000 rows": "Reading 16 MB takes 0.13 ms on both cores; a call takes 0.13 to 0.17.",
    "sum(x + y * z)": "Reading 12 MB takes 0.09 ms on both cores; a call takes 0.10 to 0.11.",
    "gradient of sum(logistic(x))": "The time is that of exp: three times that of reading and writing.",
    "SELU": "The time is that of expm1; eager, of seven array operations, where JAX runs a kernel.",
    "gradient of a small network": "Six kernels take 46 of a call's 56 microseconds.",
    "gradient of the MLP, eager": "Rules run at each call; the same gradient by hand in NumPy takes 0.8 ms.",
    "sin(x) * cos(x) + tanh(x)": "The time is arithmetic, and NumPy's functions use vector instructions too.",
    "x + y of 10": "A call takes 3.7 microseconds in a process of its own, and JAX's 10.",
    "gradient of x * sin(x)": "Rules run at each call: 90 microseconds in a process of its own.",
    "x * sin(x) of a scalar": "The driver takes 2.1 of a call's 6.4 microseconds.",
    "softmax": "exp and memory take 3.2 of the kernel's 3.7 ms of processor time.",
    "sums of 2000 columns": "Reading 16 MB takes 0.13 ms on both cores; a call takes 0.16 to 0.20.",
    "training step of an MLP": "Its products take 0.3 ms at both cores' peak; a call takes 0.47 to 0.55.",
    "convolution": "Nine tenths of the peak on both free cores: 1.15 ms at best, without a copy of windows.",
    "training step of a CNN": "Its convolutions run at nine tenths of the peak.",
    "make_jaxpr": "Four to six times as fast as JAX, depending on the processor's mode.",
}


def reason(workload: str) -> str:
    """Why the workload may miss its goal, if it is known."""
    return next(
        (text for name, text in REASONS.items() if workload.startswith(name)), "Not known yet."
    )
