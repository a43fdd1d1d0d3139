"""Write what every stage of the compiler makes of a small example into docs/compiler.md.

    python tools/render_stages.py

Run it when a test finds the page out of date, and read the difference before you commit it.
"""

import linecache
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

import tinyjax as jax

PAGE = Path(__file__).resolve().parent.parent / "docs" / "compiler.md"
BEGIN, END = "<!-- stages: written by tools/render_stages.py -->\n", "<!-- end of stages -->\n"

EXAMPLE = """\
import tinyjax.numpy as jnp


def f(x, y):
    wave = 1.0 * jnp.sin(x)
    return wave / jnp.sum(y * wave)
"""
SIZE = 100

# dialect, what the page says of it
STAGES = (
    (
        "jaxpr",
        """**Tracing** (`core/tracing.py`) writes down what f does.""",
    ),
    (
        "simplified",
        """**Simplification** (the files of `passes/`, in the order of `pipeline.py`) puts called jaxprs in
        place of the calls, applies rules that change no bit (`1.0 * x` is `x`), computes nothing
        twice, and drops what nothing reads.""",
    ),
    (
        "groups",
        """**Fusion** (`fuse.py`, with the numbers of `cost_model.py`) chooses which values are stored in
        memory; each group of equations becomes a kernel, and values inside of it live in registers.""",
    ),
    (
        "loop nests",
        """**Loop nests** (`loop_nest.py`, `reduction_nest.py`, `product_nest.py`, `order_nest.py`,
        `naive_loop.py`) say what each group computes: one element at a time, by one work-item, as anyone
        would write it. The names of the loops' variables are those of the axes.""",
    ),
    (
        "schedule of k0",
        """**Schedules** (`map_schedule.py`, `reduction_schedule.py`, `product_schedule.py`,
        `loop_kernels.py`; their decisions are in `chooser.py`) make that fast: each line is a directive,
        a file of `compile/schedules/`, which rewrites the kernel and has its reason.""",
    ),
    (
        "kernel",
        """**The kernels** that come out are in the same small language. They are checked
        (`check_kernel.py`), and run in Python too (`interpret.py`), as the nests are.""",
    ),
    (
        "explain",
        """**Code generation** (`codegen.py`) prints each statement as a line of C. `explain.py` knows the
        equation and the line of Python that it is from: `python -m tinyjax explain` writes a page that
        shows which line came from which, and prints this with `--text`. Helper functions, such as those for
        sine, and line numbers are left out. A second printer (`wasm/webassembly.py`) writes the same
        kernels as WebAssembly, for browsers: `as_text("webassembly")`, or `compiler_ir("webassembly")` for
        bytes. OpenCL kernels take numbers below the smallest normal float as 0, as XLA does
        (`runtime/queue.py`); NumPy, the interpreter and WebAssembly keep them.""",
    ),
    (
        "memory",
        """**The memory plan** (`memory_plan.py`) says how buffers are reused, and how much memory is in use
        at the peak.""",
    ),
    ("cost", """**The cost** (`cost.py`) is counted as XLA counts it."""),
    (
        "schedule",
        """**The schedule** (`plan.py`, `step_program.py`, `loops.py`) is the program of a call: launches,
        steps of the host, loops. With shortcuts on, it shows which kernels run in one launch, with the
        loops around them (`fast/launch_fusion.py`), and after how many operations a loop of unknown length
        runs again on the device's threads (`fast/inline_policy.py`).""",
    ),
)


def rendered() -> str:
    """The page's part between BEGIN and END."""
    lowered = _lowered()
    parts = [f"```python\n{EXAMPLE}```\n\nCalled with two arrays of {SIZE} float32s:\n"]
    for dialect, remark in STAGES:
        lines = [line.rstrip() for line in lowered.as_text(dialect).splitlines()]
        if dialect == "schedule":
            lines = lines[1:]  # the first names this machine's device
        elif dialect == "explain":
            lines = [
                line[5:] for line in lines
            ]  # numbers change with the library before the kernels
        remark = textwrap.fill(f"{' '.join(remark.split())} `as_text({dialect!r})`:", 118)
        parts.append("\n".join([remark, "", "```text", *lines, "```", ""]))
    return "\n".join(parts)


def _lowered() -> Any:
    """The example, as if it stood in a file."""
    file, names = "example.py", dict[str, Any]()
    linecache.cache[file] = (len(EXAMPLE), None, EXAMPLE.splitlines(True), file)
    exec(compile(EXAMPLE, file, "exec"), names)
    x = jax.ShapeDtypeStruct((SIZE,), np.float32)
    return jax.jit(names["f"]).lower(x, x)


def main() -> int:
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(before + BEGIN + "\n" + rendered() + "\n" + END + after)
    print(f"wrote {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
