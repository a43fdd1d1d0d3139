"""The naive loop nest of a matrix product: for each row and column, a sum of products, then the epilogue.

For each element of the result, an accumulator starts at zero, and a loop over `k` adds the products; the
*epilogue*, the program's further operations on that element (add a bias, tanh), is computed from the sum and
stored. A convolution is a product, too: its rows are the places of all images, its columns features, and its
k has several loops, over the window and the images' features. A schedule makes it fast.

    for row in 0 .. 50:
      for column in 0 .. 40:
        acc1:f32 = 0.0
        for k in 0 .. 30:
          a:f32 = a_in[row * 30 + k]
          b:f32 = b_in[k * 40 + column]
          t1:f32 = acc1
          t2:f32 = mul_add a b t1
          acc1 = t2
        c:f32 = acc1
        d:f32 = tanh c
        d_out[row * 40 + column] = d
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.kernel import rules
from tinyjax.compile.kernel.functions.notation import mul_add
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.kernel_ir import Kernel, statements_of
from tinyjax.compile.kernel.loop_nest import NestBuilder
from tinyjax.compile.kernel.writer import Number
from tinyjax.compile.passes.products import sides_of, summed_together
from tinyjax.compile.target import Target
from tinyjax.core.jaxpr import JaxprEqn, Var

Sizes = dict[int, int]  # axes, and how many of their places a loop goes over


def product_nest(group: KernelGroup, name: str, names: dict[Var, str], target: Target) -> Kernel:
    """The naive nest of a group that has a product among its equations."""
    nest = _ProductNest(group, names, target)
    with statements_of(nest.eqn):
        nest.write_nest()
    return nest.kernel(name)


class _ProductNest(NestBuilder):
    """`kinds` are the axes of a batch, the rows and the columns, one loop each. The loops over k are over
    `runs` of axes of the reduction domain."""

    def __init__(self, group: KernelGroup, names: dict[Var, str], target: Target):
        super().__init__(group, names, target)
        assert group.product is not None
        self.eqn = group.product
        (self.out,), rule = self.eqn.outvars, rules.lowering_of(self.eqn, target)
        assert isinstance(rule, rules.Product)
        self.rule, self.summed = rule, rule.sizes(self.eqn)
        self.dtype = rules.sum_dtype(self.out.aval.dtype)
        is_matrices = self.eqn.primitive.name == "dot_general"
        self.kinds, runs = (_of_matrices if is_matrices else _of_convolution)(self.eqn, rule)
        self.runs = [{axis: self.summed[axis] for axis in run} for run in runs]
        self.taken["k"] = len(self.runs)  # names of loops, not of variables

    def write_nest(self) -> None:
        sizes, names = [math.prod(kind.values()) for kind in self.kinds], ["batch", "row", "column"]
        first = int(sizes[0] == 1)  # a batch of one has no loop
        with self.loops(sizes[first:], names[first:]) as at:
            position = _position(self.out.aval.shape, self.kinds[first:], at.coords)
            result = self._sum(position).astype(self.out.aval.dtype)
            self.set_element(self.out, position, result.value)
            for v in self.outputs:
                self.store_output(v, position)

    def _sum(self, position: rules.Position) -> Number:
        acc = self.array("acc", self.dtype)
        ctx = rules.LoweringRuleContext(self, self.eqn, self.out, position)
        # the loops over k, or over k1, k2, ...
        names = ["k"] if len(self.runs) == 1 else [f"k{n + 1}" for n in range(len(self.runs))]
        with self.loops([math.prod(run.values()) for run in self.runs], names) as k:
            operands = (rules.Operand(self, v) for v in self.eqn.invars)
            place = _position(self.summed, self.runs, k.coords)
            factors = self.rule.factors(ctx, place, *operands, **self.eqn.params)
            x, y = (factor.astype(self.dtype) for factor in factors)
            so_far = acc.now
            acc.now = mul_add(x, y, so_far) if self.dtype.kind == "f" else x * y + so_far
        return acc.now


def _position(
    shape: Sequence[int], loops: Sequence[Sizes], numbers: Sequence[Index]
) -> rules.Position:
    """The position at these numbers of loops. If two are over one axis, the second counts fastest."""
    coords = [index(0)] * len(shape)
    for sizes, number in zip(loops, numbers):
        for axis, coord in zip(sizes, rules.Position([*sizes.values()], flat=number).coords):
            coords[axis] = coords[axis] * sizes[axis] + coord
    return rules.Position(shape, coords)


def _of_matrices(eqn: JaxprEqn, rule: rules.Product) -> tuple[list[Sizes], list[list[int]]]:
    """Several axes of a kind are one loop, but summed axes only if they are adjacent."""
    left, right = sides_of(eqn)
    axes = enumerate(eqn.outvars[0].aval.shape)
    counts = map(len, (left.batch, left.kept, right.kept))
    runs = [[*map(left.summed.index, run)] for run in summed_together(left, right)]
    return [dict(itertools.islice(axes, count)) for count in counts], runs


def _of_convolution(eqn: JaxprEqn, rule: rules.Product) -> tuple[list[Sizes], list[list[int]]]:
    """Rows are the positions of the result in all images, columns the features of a group, and a group is a
    batch. A term has a position in the window and a feature of the images."""
    params, rows = eqn.params, dict(enumerate(eqn.outvars[0].aval.shape))
    feature = params["dimension_numbers"].out_spec[1]
    groups = params["feature_group_count"] * params["batch_group_count"]
    columns = {feature: rows.pop(feature) // groups}
    runs = [[axis] for axis, size in enumerate(rule.sizes(eqn)) if size > 1] or [[]]
    return [{feature: groups}, rows, columns], runs
