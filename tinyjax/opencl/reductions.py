"""Kernels of reductions.

After this file you can say how work-items share a sum of many elements.
Builds on group_builder.
"""

from __future__ import annotations

import math

import numpy as np

from tinyjax.opencl.builder import FLOAT32
from tinyjax.opencl.codegen import HALVES
from tinyjax.opencl.group_builder import GroupBuilder, padded, run_of, share
from tinyjax.opencl.kernel_ir import Buffer, IfLast, Index, Kernel, Scalar, index, item_index
from tinyjax.opencl.rules import Context, Position, Reduction, lowering_of


def shared_reduction(b: GroupBuilder, name: str) -> Kernel:
    """Few results of many elements: each work-item combines a run of the elements and leaves its
    partial result in memory; the work-item that is done last combines those."""
    (out,) = b.group.outputs
    eqn = b.producer[out]
    rule = lowering_of(eqn, b.target)
    assert isinstance(rule, Reduction)
    sizes = rule.sizes(eqn)
    total = math.prod(sizes)
    blocks = total // b.target.lanes
    grain = max(1, b.target.reduction_grain // b.target.lanes)
    items, run = share(blocks, grain, b.target.reduction_items)
    dtype = FLOAT32 if out.aval.dtype in HALVES else out.aval.dtype
    item_count = padded(items, b.target)
    item = item_index(item_count)
    partial = Buffer("partial", dtype, out.aval.size * item_count, "scratch")
    ticket = Buffer("ticket", np.dtype("int32"), 1, "scratch")

    def element(result: Index, at: Index) -> Scalar:
        ctx = Context(b, eqn, out, Position(out.aval.shape, flat=result))
        return b.term(ctx, eqn, rule, Position(sizes, flat=at))

    with b.loop(0, out.aval.size, out.aval.size - 1) as result:
        lanes = b.make_lanes(eqn, rule, b.target.lanes)
        with b.loop(*run_of(item, run, blocks), blocks - 1) as block:
            with b.loop(0, lanes.size, lanes.size - 1) as lane:
                at = block * lanes.size + lane
                b.combine(rule, lanes, lane, element(result, at))
        # Padding work-items have an empty run, and leave the identity.
        b.store(partial, result * item_count + item, b.total(rule, lanes))
    with b.block() as finish:
        with b.loop(0, out.aval.size, out.aval.size - 1) as result:
            lanes = b.make_lanes(eqn, rule, 1)
            with b.loop(0, item_count, item_count - 1) as other:
                value = b.load("t", partial, result * item_count + other)
                b.combine(rule, lanes, index(0), value)
            if blocks * b.target.lanes < total:
                with b.loop(blocks * b.target.lanes, total, total - 1) as rest:
                    b.combine(rule, lanes, index(0), element(result, rest))
            combined = b.converted(b.total(rule, lanes), out.aval.dtype)
            b.store(b.outputs[out], result, combined)
    b.body.append(IfLast(ticket, finish))
    return b.kernel(name, items, [partial, ticket])
