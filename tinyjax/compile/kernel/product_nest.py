"""The naive loop nest of a matrix product: for each row and column, a sum of products; then what follows.

For each element of the result, an accumulator starts at zero, and a loop over `k` adds the products; the
*epilogue*, what the program does with that element (add a bias, tanh), is computed from the sum and stored. A
convolution is a product, too: its rows are the places of all images, its columns features, and its k has
several loops, over the window and the images' features. Whatever makes it fast is a schedule's.

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

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING

from tinyjax.compile.fusion.groups import KernelGroup
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
from tinyjax.compile.passes.products import Side, sides_of, summed_together
from tinyjax.core.jaxpr import Var

if TYPE_CHECKING:
    from tinyjax.compile.codegen.codegen import Target


def product_nest(group: KernelGroup, name: str, names: dict[Var, str], target: Target) -> Kernel:
    """The naive nest of a group that has a product among its equations."""
    assert group.product is not None
    is_matrices = group.product.primitive.name == "dot_general"
    nest = (_ProductNest if is_matrices else _ConvolutionNest)(group, names, target)
    with statements_of(nest.eqn):
        nest.write_nest()
    return nest.kernel(name)


class _ProductNest(NestBuilder):
    """Sizes: `rows` x `k` by `k` x `columns`, `batch` times, with k that are numbered by `sums`. Several axes
    of a kind are one loop; of those summed over, only neighbours are."""

    def __init__(self, group: KernelGroup, names: dict[Var, str], target: Target):
        super().__init__(group, names, target)
        assert group.product is not None
        self.eqn = group.product
        self.dtype = sum_dtype(self.eqn.outvars[0].aval.dtype)
        self.find_sizes()
        self.taken["k"] = len(self.sums)  # of loops, not of variables

    def find_sizes(self) -> None:
        self.left, self.right = sides_of(self.eqn)
        self.batch = self.left.size(self.left.batch)
        self.rows = self.left.size(self.left.kept)
        self.columns = self.right.size(self.right.kept)
        self.summed = summed_together(self.left, self.right)
        self.sums: tuple[int, ...] = tuple(self.left.size(axes) for axes, _ in self.summed)

    def write_nest(self) -> None:
        with (
            self._batch() as batch,
            self.axis("row", self.rows) as row,
            self.axis("column", self.columns) as column,
        ):
            total = self._sum(batch, row, column)
            position = self.position(batch, row, column)
            (out,) = self.eqn.outvars
            result = self.converted(total, out.aval.dtype)
            self.known[position.flat][out] = self._named(result, self.names[out])
            for v in self.outputs:
                self.store_output(v, position)

    def _batch(self) -> AbstractContextManager[Index]:
        return nullcontext(index(0)) if self.batch == 1 else self.axis("batch", self.batch)

    def _sum(self, batch: Index, row: Index, column: Index) -> Scalar:
        acc = self.variable("acc", self.dtype, self.dtype.type(0))
        with self._loops_of_sums() as k:
            left, right = self.factors(batch, row, column, k)
            so_far = self.read(acc, index(0))
            self.write(acc, index(0), self._multiply_add(left, right, so_far))
        return self.read(acc, index(0))

    @contextmanager
    def _loops_of_sums(self) -> Iterator[list[Index]]:
        """The loops over k, or over k1, k2, ..."""
        names = ["k"] if len(self.sums) == 1 else [f"k{n + 1}" for n in range(len(self.sums))]
        with ExitStack() as stack:
            yield [stack.enter_context(self.axis(*each)) for each in zip(names, self.sums)]

    def factors(
        self, batch: Index, row: Index, column: Index, k: list[Index]
    ) -> tuple[Scalar, Scalar]:
        """Those of a term of the sum."""
        left, right = zip(*self.summed)
        return (
            self._operand(0, self.left, [(self.left.kept, row), *zip(left, k)], batch),
            self._operand(1, self.right, [(self.right.kept, column), *zip(right, k)], batch),
        )

    def _multiply_add(self, x: Scalar, y: Scalar, so_far: Scalar) -> Scalar:
        if self.dtype.kind == "f":
            return self.let("mul_add", (x, y, so_far), self.dtype)
        return self.let("add", (self.let("mul", (x, y), self.dtype), so_far), self.dtype)

    def _operand(
        self, number: int, side: Side, given: list[tuple[Sequence[int], Index]], batch: Index
    ) -> Scalar:
        """The element of an operand, in the dtype of the sums."""
        places = [index(0)] * len(side.shape)
        for axes, at in (side.batch, batch), *given:
            for axis, coord in zip(axes, Position(side.sizes(axes), flat=at).coords):
                places[axis] = coord
        position = Position(side.shape, places)
        return self.converted(self.element(self.eqn.invars[number], position), self.dtype)

    def position(self, batch: Index, row: Index, column: Index) -> Position:
        """The element of the result."""
        kinds = [
            (self.left.sizes(self.left.batch), batch),
            (self.left.sizes(self.left.kept), row),
            (self.right.sizes(self.right.kept), column),
        ]
        coords = [coord for sizes, at in kinds for coord in Position(sizes, flat=at).coords]
        return Position(self.eqn.outvars[0].aval.shape, coords)


class _ConvolutionNest(_ProductNest):
    """Rows are places of the result, in all images, and columns its features, of a group, which is a batch. A
    term has a place in the window, and a feature of the images."""

    def find_sizes(self) -> None:
        (out,), rule = self.eqn.outvars, lowering_of(self.eqn, self.target)
        assert isinstance(rule, Product) and rule.factors is not None
        self.rule = rule
        self.feature = self.eqn.params["dimension_numbers"].out_spec[1]
        self.batch = self.eqn.params["feature_group_count"] * self.eqn.params["batch_group_count"]
        self.columns = out.aval.shape[self.feature] // self.batch
        self.rows = out.aval.size // out.aval.shape[self.feature]
        self.sums = tuple(size for size in rule.sizes(self.eqn) if size > 1) or (1,)

    def factors(
        self, batch: Index, row: Index, column: Index, k: list[Index]
    ) -> tuple[Scalar, Scalar]:
        (out,), numbers = self.eqn.outvars, iter(k)
        ctx = LoweringRuleContext(self, self.eqn, out, self.position(batch, row, column))
        sizes = self.rule.sizes(self.eqn)
        place = Position(sizes, [next(numbers) if size > 1 else index(0) for size in sizes])
        operands = (Operand(self, v) for v in self.eqn.invars)
        assert self.rule.factors is not None
        left, right = self.rule.factors(ctx, place, *operands, **self.eqn.params)
        return self.converted(left, self.dtype), self.converted(right, self.dtype)

    def position(self, batch: Index, row: Index, column: Index) -> Position:
        shape = self.eqn.outvars[0].aval.shape
        others = shape[: self.feature] + shape[self.feature + 1 :]
        coords = list(Position(others, flat=row).coords)
        coords.insert(self.feature, batch * self.columns + column)
        return Position(shape, coords)
