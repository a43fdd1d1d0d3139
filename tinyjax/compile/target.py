"""What differs between kinds of devices, in one small `Target` each.

It imports nothing else of the compiler: what only estimates a program needs no code generation.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """The properties of a kind of device that kernels depend on.

    `max_items`: how many work-items are worth having. `local_size`: work-items to a group, always
    given at launch (left to the driver, odd sizes can be very slow). `grain`: the elements that a
    work-item should have before another one is started. A reduction to few elements is shared out
    among `reduction_items`, at least `reduction_grain` elements to each. `accumulators`: those of
    one work-item, which the C compiler turns into vector registers. `width`: elements of a
    vector, where they are of 32 bits or less. `group`: work-items that work together through local memory,
    in which case the reductions' numbers are those of groups; 1 where it is no faster than other memory.
    `rows`: vectors of a product's sums that fill the registers, with one to multiply with. `in_loop`: kernels
    run in each iteration of a loop, which the host would have to run if it had a step in it."""

    name: str
    max_items: int
    local_size: int
    grain: int
    reduction_items: int
    reduction_grain: int
    accumulators: int
    width: int = 1
    group: int = 1
    rows: int = 6  # 16 registers of 32 bytes
    in_loop: bool = False


# A CPU core runs one work-item at a time, and vectorises its loop: few items with long loops. PoCL hands them
# out in portions: of 64 items the first core gets half, even if another process uses it, and of 1024, 64.
CPU = Target(
    "cpu", max_items=1024, local_size=1, grain=4096,
    reduction_items=64, reduction_grain=4096, accumulators=16, width=16,
)  # fmt: skip
# A GPU runs neighbouring items together: they touch neighbouring memory. With four elements for each, and in
# groups of 256, a stream of an H100 is as fast as a copy; with one, in groups of 64, it had 0.3 of that.
GPU = Target(
    "gpu", max_items=2**30, local_size=256, grain=4,
    reduction_items=256, reduction_grain=4096, accumulators=1, group=256,
)  # fmt: skip
