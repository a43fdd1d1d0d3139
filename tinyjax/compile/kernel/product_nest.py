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

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.kernel.functions.notation import mul_add
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.kernel_ir import Kernel, Scalar, statements_of
from tinyjax.compile.kernel.loop_nest import NestBuilder
from tinyjax.compile.kernel.rules import (
    LoweringRuleContext,
    Operand,
    Position,
    Product,
    lowering_of,
    sum_dtype,
)
from tinyjax.compile.passes.products import sides_of, summed_together
from tinyjax.compile.target import Target
from tinyjax.core.jaxpr import Var


def product_nest(group: KernelGroup, name: str, names: dict[Var, str], target: Target) -> Kernel:
    """The naive nest of a group that has a product among its equations."""
    assert group.product is not None
    is_matrices = group.product.primitive.name == "dot_general"
    nest = (_ProductNest if is_matrices else _ConvolutionNest)(group, names, target)
    with statements_of(nest.eqn):
        nest.write_nest()
    return nest.kernel(name)


class _ProductNest(NestBuilder):
    """Sizes: `rows` x `k` by `k` x `columns`, `batch` times; the loops `sums` number k. Several axes of a
    kind are one loop, but summed axes only if they are adjacent.
    """

    def __init__(self, group: KernelGroup, names: dict[Var, str], target: Target):
        super().__init__(group, names, target)
        assert group.product is not None
        self.eqn = group.product
        (self.out,), rule = self.eqn.outvars, lowering_of(self.eqn, target)
        assert isinstance(rule, Product)
        self.rule, self.summed = rule, rule.sizes(self.eqn)
        self.dtype = sum_dtype(self.out.aval.dtype)
        self.find_sizes()
        self.taken["k"] = len(self.sums)  # names of loops, not of variables

    def find_sizes(self) -> None:
        self.left, self.right = sides_of(self.eqn)
        self.batch = self.left.size(self.left.batch)
        self.rows = self.left.size(self.left.kept)
        self.columns = self.right.size(self.right.kept)
        self.runs = summed_together(self.left, self.right)
        self.sums = tuple(map(self.left.size, self.runs))

    def write_nest(self) -> None:
        batches = [("batch", self.batch)] if self.batch > 1 else []
        with self.axes([*batches, ("row", self.rows), ("column", self.columns)]) as at:
            batch, row, column = at if batches else [index(0), *at]
            position = self.position(batch, row, column)
            result = self.converted(self._sum(position), self.out.aval.dtype)
            self.set_element(self.out, position, result)
            for v in self.outputs:
                self.store_output(v, position)

    def _sum(self, position: Position) -> Scalar:
        acc = self.array("acc", self.dtype)
        ctx = LoweringRuleContext(self, self.eqn, self.out, position)
        # the loops over k, or over k1, k2, ...
        names = ["k"] if len(self.sums) == 1 else [f"k{n + 1}" for n in range(len(self.sums))]
        with self.axes(zip(names, self.sums)) as k:
            operands = (Operand(self, v) for v in self.eqn.invars)
            factors = self.rule.factors(ctx, self.term_place(k), *operands, **self.eqn.params)
            x, y = (factor.astype(self.dtype) for factor in factors)
            so_far = acc.now
            acc.now = mul_add(x, y, so_far) if self.dtype.kind == "f" else x * y + so_far
        return acc.now.value

    @contextmanager
    def axes(self, sizes: Iterable[tuple[str, int]]) -> Iterator[list[Index]]:
        """Nested loops over axes, whose variables have these names."""
        with ExitStack() as stack:
            yield [stack.enter_context(self.axis(*each)) for each in sizes]

    def term_place(self, k: Sequence[Index]) -> Position:
        """The position of a term of the sum."""
        along: dict[int, Index] = {}
        for axes, at in zip(self.runs, k):
            along.update(zip(axes, Position(self.left.sizes(axes), flat=at).coords))
        return Position(self.summed, [along.get(axis, index(0)) for axis in self.left.summed])

    def position(self, batch: Index, row: Index, column: Index) -> Position:
        """The position of the result's element."""
        kinds = [
            (self.left.sizes(self.left.batch), batch),
            (self.left.sizes(self.left.kept), row),
            (self.right.sizes(self.right.kept), column),
        ]
        coords = [coord for sizes, at in kinds for coord in Position(sizes, flat=at).coords]
        return Position(self.out.aval.shape, coords)


class _ConvolutionNest(_ProductNest):
    """Rows are the positions of the result in all images, columns the features of a group, and a group is a
    batch. A term has a position in the window and a feature of the images.
    """

    def find_sizes(self) -> None:
        aval, params = self.out.aval, self.eqn.params
        self.feature = params["dimension_numbers"].out_spec[1]
        self.batch = params["feature_group_count"] * params["batch_group_count"]
        self.columns = aval.shape[self.feature] // self.batch
        self.rows = aval.size // aval.shape[self.feature]
        self.sums = tuple(size for size in self.summed if size > 1) or (1,)

    def term_place(self, k: Sequence[Index]) -> Position:
        numbers = iter(k)
        return Position(self.summed, [next(numbers) if n > 1 else index(0) for n in self.summed])

    def position(self, batch: Index, row: Index, column: Index) -> Position:
        shape = self.out.aval.shape
        others = shape[: self.feature] + shape[self.feature + 1 :]
        coords = list(Position(others, flat=row).coords)
        coords.insert(self.feature, batch * self.columns + column)
        return Position(shape, coords)
