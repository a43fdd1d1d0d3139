"""How compile time grows with the program, and run time with the arrays: linear, or explained.

    python benchmarks/growth.py

Programs of 10, 100 and 1000 equations go through the stages of jit one by one; then one program runs on
arrays of ten to ten million elements. Each column is ten times the one before, and the number behind a
time is how many times the time before it is: about 10 is linear, and less is overhead that is there once.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

caches = tempfile.TemporaryDirectory()
os.environ["XDG_CACHE_HOME"] = caches.name  # kernels are built, not found
os.environ["TINYJAX_BACKGROUND_BUILD"] = "0"

import numpy as np  # noqa: E402
from report import machine, table, write_section  # noqa: E402

import tinyjax as jax  # noqa: E402
import tinyjax.numpy as jnp  # noqa: E402

SIZES = (10, 100, 1000)
ELEMENTS = tuple(10**n for n in range(1, 8))

# ---- programs of about n equations ----


def chain(n: int) -> Callable:
    """Elementwise operations, one after the other: one kernel."""

    def f(x: Any) -> Any:
        for _ in range(n // 2):
            x = jnp.sin(x) * x
        return x

    return f


def layers(n: int) -> Callable:
    """Matrix products, sums and elementwise operations in turn: a kernel and a product every six."""

    def f(x: Any) -> Any:
        for _ in range(n // 6):
            x = jnp.tanh(x @ x)
            x = x - x.sum(axis=1, keepdims=True)
        return x

    return f


def branches(n: int) -> Callable:
    """Results that do not depend on each other, of one argument."""
    return lambda x: [jnp.cos(x * (i + 2.0)) for i in range(n // 2)]


def gradient(n: int) -> Callable:
    """The derivative of a chain, which is two to three times as long."""
    return jax.grad(lambda x: chain(n // 3)(x).sum())


PROGRAMS = {
    "elementwise chain": chain,
    "layers": layers,
    "separate results": branches,
    "gradient of a chain": gradient,
}


def seconds_of(
    call: Callable[[], Any], clock: Callable[[], float] = time.process_time
) -> tuple[Any, float]:
    """The result and the seconds: of processors, so that others at work on the machine do not count."""
    began = clock()
    result = call()
    return result, clock() - began


def stages(f: Callable, x: Any) -> dict[str, float]:
    """The seconds of each stage; drivers go on compiling in the first run."""
    jitted = jax.jit(f)
    traced, trace = seconds_of(lambda: jitted.trace(x))
    lowered, lower = seconds_of(traced.lower)
    _, text = seconds_of(lambda: lowered.as_text("opencl"))
    compiled, build = seconds_of(lowered.compile)
    _, first = seconds_of(lambda: jax.block_until_ready(compiled(x)))
    runs = [
        seconds_of(lambda: jax.block_until_ready(compiled(x)), time.perf_counter)[1]
        for _ in range(9)
    ]
    times = {"trace": trace, "lower": lower, "C text": text, "driver": build - text + first}
    return times | {"run": min(runs)}


def with_ratios(seconds: list[float]) -> list[str]:
    """Milliseconds, each but the first with its ratio to the one before."""
    cells = [f"{1000 * seconds[0]:.3g}"]
    for before, now in zip(seconds, seconds[1:]):
        cells.append(f"{1000 * now:.3g} ({now / before:.1f})")
    return cells


def program_growth(rounds: int) -> str:
    x = jnp.asarray(np.full((16, 16), 0.01, np.float32))
    stages(lambda x: x + 1, x)  # opens the device
    lines = [["program, ms", *(f"{n} equations" for n in SIZES)]]
    for name, make in PROGRAMS.items():
        measured = []
        for n in SIZES:
            times = [stages(make(n), x) for _ in range(rounds)]
            best = {stage: min(t[stage] for t in times) for stage in times[0]}
            # The driver remembers what it has built: only the first time it builds.
            measured.append(best | {"driver": times[0]["driver"]})
        for stage in measured[0]:
            lines.append([f"{name}: {stage}", *with_ratios([m[stage] for m in measured])])
    return table(lines)


# ---- one program on arrays of n elements ----

FUNCTIONS = {
    "sin(x) * x + 1": lambda x: jnp.sin(x) * x + 1,
    "sum(x * x)": lambda x: jnp.sum(x * x),
    "softmax of rows of 10": lambda x: jax.nn.softmax(x.reshape(-1, 10)),
    "cumsum": jnp.cumsum,
}


def array_growth(rounds: int) -> str:
    lines = [["function, ms", *(f"10^{len(str(n)) - 1}" for n in ELEMENTS)]]
    for name, f in FUNCTIONS.items():
        best = []
        for n in ELEMENTS:
            x, jitted = jnp.asarray(np.linspace(-1, 1, n, dtype=np.float32)), jax.jit(f)
            jax.block_until_ready(jitted(x))
            repeat = max(1, min(1000, 10**6 // n))
            best.append(min(_per_call(jitted, x, repeat) for _ in range(rounds)))
        lines.append([name, *with_ratios(best)])
    return table(lines)


def _per_call(f: Callable, x: Any, repeat: int) -> float:
    began = time.perf_counter()
    for _ in range(repeat):
        result = f(x)
    jax.block_until_ready(result)
    return (time.perf_counter() - began) / repeat


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    text = f"""## Growth

Written by `benchmarks/growth.py`: each column is ten times the one before, and the number in parentheses is
the ratio of the times. About 10 is linear. Best of {options.rounds}.

Compile time by the size of the program, in processor time, and a run's by the clock. "driver" is PoCL with an
empty cache: more than linear where one kernel is long, as LLVM optimizes it as a whole.

{program_growth(options.rounds)}

Run time by the size of the array. Up to 10^4 elements a call is overhead; 10^7 are in no cache.

{array_growth(options.rounds)}

{machine()}
"""
    write_section("growth", text)
    print(text)


if __name__ == "__main__":
    main()
