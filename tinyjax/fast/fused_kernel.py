"""One kernel for several steps: it calls their kernels as functions, in loops and branches, without the host.

One work-item, the *leader*, runs the steps in order. With more work-items, the others wait in a loop for a
kernel that is worth sharing. Then each takes the kernel's work-items one by one: first those of its share,
then what is left of the others' shares. The leader goes on when all are done. It never waits for a work-item
that has not started: it takes all that others do not. A started work-item may have lost its core to another
process: then the others are dismissed, for this launch and the next few. If the leader has lost its core, a
work-item that waits gives it its own (cores.py).

A share is the same part of each kernel, so what one kernel stored is in the cache of the core whose work-item
reads it in the next. The game of life on 512 x 512 cells takes 1.5 ms instead of 2.6.

Arrays are pointers to bytes here: which memory an array is in can change from iteration to iteration.

Source: Markatos and LeBlanc, "Using Processor Affinity in Loop Scheduling on Shared-Memory Multiprocessors",
1994
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from tinyjax.compile.codegen.c_text import C_TYPES, constant_text
from tinyjax.compile.codegen.codegen import head_lines, kernel_lines, parameter_text
from tinyjax.compile.codegen.helpers import Calls, Helper, stopped_text
from tinyjax.compile.codegen.index_type import index_type
from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.fast.cores import CLOCK, PAUSE, PULL, STUCK, THREAD, YIELD

# ---- the steps ----


@dataclass(frozen=True)
class Point:
    """Declares a pointer, `offset` bytes after `base`; `row` is a loop variable and its factor."""

    name: str
    base: str
    offset: int = 0
    row: tuple[str, int] | None = None


@dataclass(frozen=True)
class Move:
    """Gives pointers the values of others, all at once."""

    names: Sequence[str]
    sources: Sequence[str]


@dataclass(frozen=True)
class Call:
    """Runs all work-items of a kernel, on the arrays at these pointers. `patience` is how many pauses the
    leader waits for the others at the end; with 0 it runs all items itself."""

    kernel: ir.Kernel
    places: Sequence[str]
    patience: int


@dataclass(frozen=True)
class Copy:
    """Copies `nbytes` bytes, unless they are there already."""

    to: str
    source: str
    nbytes: int


@dataclass(frozen=True)
class Fill:
    """Stores a number: its bits, as unsigned integers."""

    to: str
    bits: np.ndarray


@dataclass(frozen=True)
class Repeat:
    """A loop of `length` iterations."""

    variable: str
    length: int
    reverse: bool
    body: Sequence[Step]


@dataclass(frozen=True)
class RepeatWhile:
    """A loop that continues while any of `count` bools, which `head` computes, is true. An iteration takes
    about this many `operations`."""

    head: Sequence[Step]
    predicate: str
    count: int
    body: Sequence[Step]
    operations: int


@dataclass(frozen=True)
class Choose:
    """The branch whose number is at `index`, or the nearest."""

    index: str
    dtype: np.dtype
    branches: Sequence[Sequence[Step]]


Step = Point | Move | Call | Copy | Fill | Repeat | RepeatWhile | Choose


@dataclass(frozen=True)
class FusedKernel:
    """A kernel that runs `steps`. Its last buffers are the "arena", in which other arrays are, and the
    "state", whose first HEAD_BYTES are for sharing. With a buffer STOP, its loops can be stopped.
    The first of several `items` is the leader; with `lends_cores`, they make up for cores that other
    processes use."""

    name: str
    buffers: list[ir.Buffer]
    steps: Sequence[Step]
    items: int = 1
    lends_cores: bool = False
    local_size: int = field(default=1, init=False)

    def text(self, calls: Calls) -> str:
        """The kernel as OpenCL C; `calls` gets what it calls."""
        writer = _FusedText(self, calls)
        lines = list(writer.lines())
        for called in writer.called.values():
            inner = Calls()
            text = "\n".join([line for line, _ in kernel_lines(called, inner, is_called=True)])
            calls.append(Helper(f"{called.name}_item", text, tuple(inner)))
        return "\n".join(lines)


def calls_of(steps: Sequence[Step]) -> Iterator[Call]:
    """The calls of kernels in the steps, also within loops and branches."""
    for step in steps:
        match step:
            case Call():
                yield step
            case Repeat(body=body):
                yield from calls_of(body)
            case RepeatWhile(head=head, body=body):
                yield from calls_of([*head, *body])
            case Choose(branches=branches):
                for branch in branches:
                    yield from calls_of(branch)


# ---- sharing ----

# Work-items that share; the driver has a thread for each core.
MAX_WORKERS = 256
# The start of the state: counters, each in a separate cache line, then the arguments of a shared kernel.
ITEMS, DONE, WHICH, ARRIVED, LEFT, ENDED, REST, NEXT_REST = range(0, 128, 16)
PULLED = ENDED + 1  # the number of the work-item whose thread was given the leader's core
SWAPPING = ENDED + 2  # whether a work-item exchanges cores with the leader
THREADS = 128  # of each work-item, the leader's first; 0 after it left
SEEN = THREADS + MAX_WORKERS  # cycles of the clock when each work-item last waited, or ended a part
CORES = SEEN + MAX_WORKERS  # those that a thread had
SHARES = CORES + 32  # how many items are left of each work-item's share
PLACES = 4 * (SHARES + MAX_WORKERS)
MAX_REST = 63  # launches
# Pauses, of 40 to 70 ns, that a work-item waits for work to share; and those between two looks at the leader.
MAX_IDLE, LOOK = 2**16, 2**10
# Cycles of the processor's clock: from one yield to the next; and after which a work-item that waits has lost
# its core.
TURN, LOST = 100_000, 100_000
MAX_PLACES = 128
HEAD_BYTES = PLACES + 8 * MAX_PLACES

COPY = Helper(
    "tj_copy",
    """\
void tj_copy(__global uchar *to, __global const uchar *from, long count) {
  if (to != from)
    for (long i = 0; i < count; ++i) to[i] = from[i];
}
""",
)
ANY = Helper(
    "tj_any",
    """\
int tj_any(__global const uchar *p, long count) {
  for (long i = 0; i < count; ++i)
    if (p[i]) return 1;
  return 0;
}
""",
)
WORK = f"""\
static int {{name}}_work(
    __global volatile int *control, __global volatile ulong *places, int worker, uint *yielded) {{{{
  int done = 0;
  for (int n = 0; n < {{workers}}; ++n) {{{{
    const int owner = (worker + n) % {{workers}};
    while (control[{SHARES} + owner] > 0) {{{{
      const int left = atomic_dec(control + {SHARES} + owner);
      if (left <= 0) break;
      mem_fence(CLK_GLOBAL_MEM_FENCE);
      const int item = (long)control[{ITEMS}] * owner / {{workers}} + left - 1;
      switch (control[{WHICH}]) {{{{
{{cases}}
      }}}}
      const uint now = {{lends}} && yielded ? tj_clock() : 0;
      if ({{lends}} && yielded) control[{SEEN} + worker] = now;
      mem_fence(CLK_GLOBAL_MEM_FENCE);
      atomic_inc(control + {DONE});
      ++done;
      if ({{lends}} && yielded && now - *yielded > {TURN}) {{{{
        tj_yield();
        *yielded = tj_clock();
      }}}}
    }}}}
  }}}}
  return done;
}}}}
static void {{name}}_share(
    __global volatile int *control, __global volatile ulong *places,
    int which, int items, int patience) {{{{
  control[{WHICH}] = which;
  control[{ITEMS}] = items;
  control[{DONE}] = 0;
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  for (long n = 0; n < {{workers}}; ++n)
    atomic_xchg(control + {SHARES} + n, (int)((n + 1) * items / {{workers}} - n * items / {{workers}}));
  {{name}}_work(control, places, 0, 0);
  for (int n = 0; control[{DONE}] < items; ++n) {{{{
    if (n == patience && !control[{ENDED}]) {{{{
      control[{ENDED}] = 1;
      control[{REST}] = control[{NEXT_REST}];
      control[{NEXT_REST}] = min(2 * control[{NEXT_REST}] + 1, {MAX_REST});
    }}}}
    tj_pause();
  }}}}
  mem_fence(CLK_GLOBAL_MEM_FENCE);
}}}}
static void {{name}}_help(
    __global volatile int *control, __global volatile ulong *places, int worker) {{{{
  uint yielded = 0;
  ulong ran = 0;
  if ({{lends}}) {{{{
    control[{SEEN} + worker] = tj_clock();
    control[{THREADS} + worker] = tj_thread();
  }}}}
  for (int n = 1; !control[{ENDED}] && n < {MAX_IDLE}; ++n) {{{{
    tj_pause();
    if ({{lends}} && n % 16 == 0) control[{SEEN} + worker] = tj_clock();
    if ({{name}}_work(control, places, worker, &yielded)) {{{{
      n = 0;
    }}}} else if ({{lends}} && n % {LOOK} == 0 && tj_is_stuck(control[{THREADS}], &ran)
               && !atomic_xchg(control + {SWAPPING}, 1)) {{{{
      tj_pull(control[{THREADS}], control + {CORES});
      tj_set_cores(control[{ENDED}] ? control[{THREADS}] : 0, control + {CORES});
      control[{SWAPPING}] = 0;
    }}}}
  }}}}
  if ({{lends}} && atomic_xchg(control + {THREADS} + worker, 0) == 0) {{{{
    while (control[{PULLED}] != worker) tj_yield();
    tj_yield();
    tj_set_cores(control[{THREADS}], control + {CORES});
    control[{PULLED}] = control[{SWAPPING}] = 0;
  }}}}
}}}}
static void {{name}}_begin(__global volatile int *control) {{{{
  if ({{lends}}) control[{THREADS}] = tj_thread();
  if (control[{REST}]) {{{{
    --control[{REST}];
    control[{ENDED}] = 1;
  }}}}
}}}}
static void {{name}}_end(__global volatile int *control, int items) {{{{
  if (!control[{ENDED}]) control[{NEXT_REST}] /= 2;
  control[{ENDED}] = 1;
  for (int worker = 1; {{lends}} && worker < min(control[{ARRIVED}], items); ++worker) {{{{
    while (control[{THREADS} + worker] && tj_clock() - (uint)control[{SEEN} + worker] < {LOST}) tj_pause();
    if (!control[{THREADS} + worker]) continue;
    if (atomic_xchg(control + {SWAPPING}, 1)) return;
    const int thread = atomic_xchg(control + {THREADS} + worker, 0);
    if (thread) {{{{
      tj_pull(thread, control + {CORES});
      mem_fence(CLK_GLOBAL_MEM_FENCE);
      control[{PULLED}] = worker;
      return;
    }}}}
    control[{SWAPPING}] = 0;
  }}}}
}}}}
static void {{name}}_leave(__global volatile int *control, int items) {{{{
  if (atomic_inc(control + {LEFT}) == items - 1)
    control[{ARRIVED}] = control[{LEFT}] = control[{ENDED}] = 0;
}}}}"""


# ---- C text ----


def steps_text(kernel: FusedKernel) -> str:
    """The kernel as OpenCL C, without the functions that it calls."""
    return "\n".join(_FusedText(kernel, Calls()).lines())


class _FusedText:
    """Writes the lines of a kernel."""

    def __init__(self, kernel: FusedKernel, calls: Calls):
        self.kernel = kernel
        self.calls = calls
        self.is_stoppable = any(buffer.name == ir.STOP for buffer in kernel.buffers)
        self.called: dict[str, ir.Kernel] = {}  # the kernels, by name
        self.shared: dict[str, ir.Kernel] = {}  # those of them that are shared

    def lines(self) -> Iterator[str]:
        name, items = self.kernel.name, self.kernel.items
        parameters = [parameter_text(b, is_restricted=False) for b in self.kernel.buffers]
        body = list(self.steps(self.kernel.steps, "  "))
        if self.shared:
            yield self._sharing()
        yield from head_lines(f"__kernel void {name}(", parameters)
        if not self.shared:
            yield from body
        else:
            yield "  __global volatile int *control = (__global volatile int *)state;"
            yield f"  __global volatile ulong *places = (__global volatile ulong *)(state + {PLACES});"
            yield f"  const int worker = atomic_inc(control + {ARRIVED});"
            yield "  if (worker == 0) {"
            yield f"    {name}_begin(control);"
            yield from ("  " + line for line in body)
            yield f"    {name}_end(control, {items});"
            yield "  } else {"
            yield f"    {name}_help(control, places, worker);"
            yield "  }"
            yield f"  {name}_leave(control, {items});"
        yield "}"

    def _sharing(self) -> str:
        """The functions by which work-items share a kernel's work-items."""
        self.calls += [PAUSE, CLOCK, THREAD, YIELD, PULL, STUCK]
        cases = []
        for number, called in enumerate(self.shared.values()):
            places = [f"places[{n}]" for n in range(len(called.buffers))]
            cases.append(f"        case {number}: {self._call(called, places)}; break;")
        return WORK.format(
            name=self.kernel.name, cases="\n".join(cases), lends=int(self.kernel.lends_cores),
            workers=self.kernel.items,
        )  # fmt: skip

    def steps(self, steps: Sequence[Step], indent: str) -> Iterator[str]:
        for step in steps:
            for line in self.step(step):
                yield indent + line

    def step(self, step: Step) -> Iterator[str]:
        match step:
            case Point(name, base, offset, row):
                after = f" + {offset}" if offset else ""
                after += f" + (long){row[0]} * {row[1]}" if row else ""
                yield f"__global uchar *{name} = (__global uchar *){base}{after};"
            case Move(names, sources):
                new = ", ".join(f"*new_{name} = {source}" for name, source in zip(names, sources))
                old = " ".join(f"{name} = new_{name};" for name in names)
                yield f"{{ __global uchar {new}; {old} }}"
            case Call():
                yield from self.call(step)
            case Copy(to, source, nbytes):
                args = f"(__global uchar *){to}", f"(__global const uchar *){source}", str(nbytes)
                yield self.calls.call(COPY, *args) + ";"
            case Fill(to, bits):
                for n, part in enumerate(bits):
                    text = constant_text(ir.Const(part, bits.dtype))
                    yield f"((__global {C_TYPES[bits.dtype]} *){to})[{n}] = {text};"
            case Repeat(variable, length, reverse, body):
                also = f" && !{stopped_text(0, self.calls)}" if self.is_stoppable else ""
                if reverse:
                    head = f"{length - 1}; {variable} >= 0{also}; --{variable}"
                else:
                    head = f"0; {variable} < {length}{also}; ++{variable}"
                yield f"for (int {variable} = {head}) {{"
                yield from self.steps(body, "  ")
                yield "}"
            case RepeatWhile(head, predicate, count, body, operations):
                yield "for (;;) {"
                yield from self.steps(head, "  ")
                place = f"(__global const uchar *){predicate}"
                also = f" || {stopped_text(operations, self.calls)}" if self.is_stoppable else ""
                yield f"  if (!{self.calls.call(ANY, place, str(count))}{also}) break;"
                yield from self.steps(body, "  ")
                yield "}"
            case Choose():
                yield from self.choose(step)

    def call(self, call: Call) -> Iterator[str]:
        called, items = call.kernel, call.kernel.items
        if call.patience and self.kernel.items > 1:
            self.shared.setdefault(called.name, called)
            number = list(self.shared).index(called.name)
            places = " ".join(f"places[{n}] = (ulong){p};" for n, p in enumerate(call.places))
            yield f"{places}"
            yield f"{self.kernel.name}_share(control, places, {number}, {items}, {call.patience});"
        else:
            loop = f"for ({index_type(called)} item = 0; item < {items}; ++item)"
            yield f"{loop} {self._call(called, call.places)};"

    def _call(self, called: ir.Kernel, places: Sequence[str]) -> str:
        """One work-item of a kernel."""
        self.called[called.name] = called
        args = [
            f"({parameter_text(buffer, is_restricted=False).removesuffix(buffer.name)}){place}"
            for buffer, place in zip(called.buffers, places)
        ]
        return f"{called.name}_item({', '.join(['item', *args])})"

    def choose(self, step: Choose) -> Iterator[str]:
        type_ = "uchar" if step.dtype == np.bool_ else C_TYPES[step.dtype]
        last = len(step.branches) - 1
        for number, branch in enumerate(step.branches):
            test = f"if (*(__global const {type_} *){step.index} <= {number}) {{"
            if number == 0:
                yield test if last else "{"
            else:
                yield "} else {" if number == last else f"}} else {test}"
            yield from self.steps(branch, "  ")
        yield "}"
