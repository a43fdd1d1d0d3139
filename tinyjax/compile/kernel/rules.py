"""How each primitive lowers: the table, the kinds of rules, and those of the first primitives.

A rule answers one question: *what is one element of the result?*

- `Elementwise`: an operation on the operands' elements at the same place.
- `IndexMap`: an element of an operand at another place (transpose, broadcast, slice, ...).
- `Reduction`: many elements of the operand, combined.
- `InOrder`: elements depend on those before them: updates, cumulative sums, top_k.
- `OnHost`: none of these: the primitive's impl rule runs in NumPy, between kernels; the reason is
  printed in the schedule.

Rules have JAX's form, `rule(ctx, *operands, **params)`. An element is a Number, whose operators write
operations into the kernel, as `ctx.op(name, *numbers)` does; `ctx.position` is the place of the requested
element. lax/lowering/ and random/lowering.py have most other rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.scalar_ops import HALVES, KERNEL_DTYPES, scalar_ops
from tinyjax.compile.kernel.writer import Number
from tinyjax.core import bind, primitives
from tinyjax.core.array import ShapedArray
from tinyjax.core.dtypes import kind
from tinyjax.core.jaxpr import Atom as JaxprAtom
from tinyjax.core.jaxpr import JaxprEqn, Var

if TYPE_CHECKING:
    from tinyjax.compile.target import Target

# ---- places in an array ----


class Position:
    """A position in an array of `shape`, as one index per dimension and as one index into the flat memory.

    Each is computed from the other on demand: so a chain of elementwise operations never needs to split a
    flat index by division."""

    def __init__(
        self, shape: Sequence[int], coords: Sequence[Index] | None = None, flat: Index | None = None
    ):
        self.shape = tuple(shape)
        self._coords = None if coords is None else tuple(coords)
        self._flat = flat

    @property
    def flat(self) -> Index:
        if self._flat is None:
            flat = index(0)
            for coord, size in zip(self._coords or (), self.shape):
                flat = flat * size + coord
            self._flat = flat
        return self._flat

    @property
    def coords(self) -> tuple[Index, ...]:
        if self._coords is None:
            rest, coords = self.flat, []
            for size in reversed(self.shape):
                coords.append(rest % size)
                rest = rest // size
            self._coords = tuple(reversed(coords))
        return self._coords

    @property
    def axes(self) -> tuple[str, ...]:
        """The loop variables among the coordinates."""
        return tuple(coord.args[0] for coord in self.coords if coord.op == "var")

    def reshaped(self, shape: Sequence[int]) -> Position:
        """The same element's position after a reshape."""
        return Position(shape, flat=self.flat)

    def broadcast_from(self, shape: Sequence[int]) -> Position:
        """The place in an operand of `shape` that was stretched: sizes of 1 and scalars repeat."""
        if tuple(shape) == self.shape:
            return self
        if math.prod(shape) == 1:
            return Position(shape, [index(0)] * len(shape))
        coords = [index(0) if size == 1 else coord for size, coord in zip(shape, self.coords)]
        return Position(shape, coords)


# ---- what rules see ----


class LoweringRuleContext:
    """The context of a rule: its equation's avals, the position, and functions that write statements."""

    def __init__(self, builder: Any, eqn: JaxprEqn, out: Var, position: Position):
        self.op, self.constant, self.index = builder.op, builder.constant, builder.clamped_index
        self.position = position
        self.out_number = eqn.outvars.index(out)
        self.avals_out = [v.aval for v in eqn.outvars]


class Operand:
    """An operand that a rule can read at any position."""

    def __init__(self, builder: Any, atom: JaxprAtom):
        self._builder = builder
        self._atom = atom
        self.aval: ShapedArray = atom.aval

    def at(self, coords: Iterable[Index]) -> Number:
        """The element at `coords`, one index a dimension, each within its size."""
        return self.at_position(Position(self.aval.shape, tuple(coords)))

    def at_position(self, position: Position) -> Number:
        return Number(self._builder, self._builder.element(self._atom, position))


# ---- the kinds of rules ----


@dataclass(frozen=True)
class Elementwise:
    """emit(ctx, *numbers, **params) -> the result's element (a list if multiple_results).

    `op` is the scalar operation, if it is a single one; then there is no `emit`. `takes_pairs`: whether
    `emit` also handles complex numbers, which are pairs."""

    emit: Callable[..., Any] | None
    cost: int = 1
    op: str = ""
    takes_pairs: bool = False


@dataclass(frozen=True)
class IndexMap:
    """emit(ctx, *operands, **params) -> the result's element; `operand.at(coords)` reads one.

    With several results, `ctx.out_number` is the number of the requested one. `reads`: how many elements of
    an operand it reads; several are compared or added. `joins`: it chooses among operands by the place."""

    emit: Callable[..., Number]
    reads: int = 1
    joins: bool = False


def axes_sizes(eqn: JaxprEqn) -> tuple[int, ...]:
    """The sizes of the axes that an equation with the parameter `axes` combines."""
    return tuple(eqn.invars[0].aval.shape[axis] for axis in eqn.params["axes"])


def element_along_axes(
    ctx: LoweringRuleContext, reduced: Position, x: Operand, *, axes: Any, **_: Any
) -> Number:
    """The operand's element at `reduced` along `axes`, and at the result's position along others."""
    if tuple(axes) == tuple(range(x.aval.ndim)):
        return x.at_position(reduced.reshaped(x.aval.shape))
    kept, combined = iter(ctx.position.coords), dict(zip(axes, reduced.coords))
    return x.at(combined[axis] if axis in combined else next(kept) for axis in range(x.aval.ndim))


def sum_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype in which elements are combined to a result of `dtype`: halves in float32."""
    return np.dtype("float32") if dtype in HALVES else dtype


@dataclass(frozen=True)
class Reduction:
    """Combines many elements by `op`, from `identity(dtype)` on.

    The reduction domain has the shape `sizes(eqn)`, and term(ctx, place, *operands, **params) returns the
    element at a place in it; by default, the operand's elements along the parameter `axes`."""

    op: str
    identity: Callable[[np.dtype], Any]
    sizes: Callable[[JaxprEqn], tuple[int, ...]] = axes_sizes
    term: Callable[..., Number] = element_along_axes


@dataclass(frozen=True)
class Product(Reduction):
    """A sum of products for which product_schedule.py makes a kernel: many of its elements are computed
    together, because they share operand elements. `factors` returns the factors that term multiplies."""

    factors: Callable[..., Sequence[Number]] = field(kw_only=True)


@dataclass(frozen=True)
class InOrder:
    """Results that are made element after element, in separate loops."""

    def work(self, eqn: JaxprEqn) -> int:
        """The approximate number of simple operations."""
        return 4 * eqn.invars[0].aval.size

    def along(self, eqn: JaxprEqn) -> int:
        """The axis on which elements depend on others; not of updates."""
        return eqn.params["axis"]


@dataclass(frozen=True)
class Cumulative(InOrder):
    """Combines by `op` all elements up to each one along params['axis']; from it on if params['reverse']."""

    op: str
    identity: Callable[[np.dtype], Any]


@dataclass(frozen=True)
class TopK(InOrder):
    """The `k` greatest (or least) elements along an axis, in total order, and their places."""

    k: int
    axis: int
    are_greatest: bool = True

    def along(self, eqn: JaxprEqn) -> int:
        return self.axis


@dataclass(frozen=True)
class Sort(InOrder):
    """The operands in the order of the first along params['dimension'], a stable one."""

    def work(self, eqn: JaxprEqn) -> int:
        return self.pairs(eqn) // 4  # a vector of them takes few operations

    def pairs(self, eqn: JaxprEqn) -> int:
        """How many pairs of elements are compared."""
        x = eqn.invars[0].aval
        return x.size * x.shape[self.along(eqn)]

    def along(self, eqn: JaxprEqn) -> int:
        return eqn.params["dimension"]


@dataclass(frozen=True)
class Fourier(InOrder):
    """The Fourier transform along params['axis'], which is at params['to'] in the result. The second operand
    has the roots of unity, a third one factors of the result's elements along `to` and the next axis."""

    def work(self, eqn: JaxprEqn) -> int:
        return 8 * eqn.outvars[0].aval.size * eqn.invars[1].aval.size.bit_length()


def radices(size: int) -> list[int]:
    """The factors of a size: 4 as often as possible, then primes."""
    factors = []
    for radix in (4, 2, *range(3, size + 1, 2)):
        while size % radix == 0:
            factors.append(radix)
            size //= radix
    return factors


@dataclass(frozen=True)
class Update(InOrder):
    """The first operand, with windows of it combined by `op` with an update, or replaced if that is empty.

    An array of shape `counts` numbers the windows, in that order: a later window reads the result of an
    earlier one. `sizes`: a window's size along each axis of the operand. Along the axes `whole`, a window
    covers all of the operand; along the axes `batch`, each place has its own windows.

    windows(ctx, number, coords, *operands, **params) gives functions that compute where the window of that
    number begins along each axis (0 along batch axes, for which `coords` has a coordinate), inside of the
    operand, and the conditions under which it is changed. update(ctx, number, within, *operands, **params)
    is the element of its update at `within`."""

    op: str
    counts: tuple[int, ...]
    sizes: tuple[int, ...]
    whole: frozenset[int]
    batch: frozenset[int]
    windows: Callable[..., tuple[list[Callable[[], Index]], list[Number]]]
    update: Callable[..., Number]

    @property
    def in_place(self) -> Update:
        return self

    @property
    def is_one_window(self) -> bool:
        return math.prod(self.counts) == 1

    def changed(self, shape: Sequence[int]) -> int:
        """How many elements of an operand of that shape are changed, repeated changes included."""
        batch = math.prod(size for axis, size in enumerate(shape) if axis in self.batch)
        return math.prod(self.counts) * math.prod(self.sizes) * batch

    def work(self, eqn: JaxprEqn) -> int:
        out = eqn.outvars[0].aval
        return out.size + 16 * math.prod(self.counts) + self.changed(out.shape)


@dataclass(frozen=True, kw_only=True)
class WindowUpdate(IndexMap):
    """An update of one window, also as an index map: each element tests whether it is in the window."""

    in_place: Update


@dataclass(frozen=True)
class OnHost:
    """No kernel: a host step, in which NumPy runs the impl rule."""

    reason: str
    kind = "host"  # printed in its line of the schedule


@dataclass(frozen=True)
class Blas(OnHost):
    """NumPy's matmul, on the operands' memory and into the result's."""

    kind = "matmul"


@dataclass(frozen=True)
class Collective(OnHost):
    """The processes of a program exchange memory: all must run it in the same order."""

    kind = "meet"


Lowering = Elementwise | IndexMap | Reduction | InOrder | OnHost
# primitive -> its lowering, or a function (eqn, target) -> lowering
lowering_rules: dict[bind.Primitive, Lowering | Callable[[JaxprEqn, Target], Lowering]] = {}
# primitive -> eqn -> an equation for the same loop that only has to run the bodies
rewrites_for_steps: dict[bind.Primitive, Callable[[JaxprEqn], JaxprEqn]] = {}


def lowering_of(eqn: JaxprEqn, target: Target) -> Lowering:
    """The lowering of `eqn` for a target. A primitive without a rule is a host step, and so is every equation
    with a dtype that kernels don't support."""
    rule = lowering_rules.get(eqn.primitive)
    if rule is None:
        return OnHost(f"primitive '{eqn.primitive}' has no rule in lowering_rules")
    lowering = rule if isinstance(rule, Lowering) else rule(eqn, target)
    if not isinstance(lowering, OnHost):
        for v in [*eqn.invars, *eqn.outvars]:
            has_pairs = v.aval.dtype.kind == "c" and _takes_pairs(lowering)
            if v.aval.dtype not in KERNEL_DTYPES and not has_pairs:
                return OnHost(f"kernels do not compute with {v.aval.dtype}")
    return lowering


def _takes_pairs(lowering: Lowering) -> bool:
    """Whether a rule can handle complex numbers: it moves elements, or writes operations on pairs."""
    from tinyjax.compile.kernel.complex_pairs import OPERATIONS  # for few programs

    if isinstance(lowering, Elementwise):
        return lowering.takes_pairs or lowering.op in OPERATIONS
    # A WindowUpdate can be in place, which isn't supported for pairs
    is_map = type(lowering) is IndexMap and lowering.reads == 1
    return is_map or isinstance(lowering, Fourier)


# ---- makers of rules ----


def elementwise(op: str) -> Elementwise:
    """The rule of a primitive that is one operation of scalar_ops."""
    return Elementwise(None, scalar_ops[op].cost, op)


def zero_of(dtype: np.dtype) -> Any:
    return dtype.type(0)


def one_of(dtype: np.dtype) -> Any:
    return dtype.type(1)


def least(dtype: np.dtype) -> Any:
    """The lower bound of all values of `dtype`: the start of a maximum."""
    if kind(dtype) == "f":
        return dtype.type(-np.inf)
    return dtype.type(False) if kind(dtype) == "b" else np.iinfo(dtype).min


def greatest(dtype: np.dtype) -> Any:
    """The upper bound of all values of `dtype`: the start of a minimum."""
    if kind(dtype) == "f":
        return dtype.type(np.inf)
    return dtype.type(True) if kind(dtype) == "b" else np.iinfo(dtype).max


# ---- the first primitives ----

lowering_rules[primitives.reduce_sum_p] = Reduction("add", zero_of)


def _broadcast_in_dim(
    ctx: LoweringRuleContext, x: Operand, *, broadcast_dimensions: Sequence[int], **_: Any
) -> Number:
    coords = ctx.position.coords if broadcast_dimensions else ()
    kept = zip(x.aval.shape, (coords[axis] for axis in broadcast_dimensions))
    return x.at(index(0) if size == 1 else coord for size, coord in kept)


def _reshape(ctx: LoweringRuleContext, x: Operand, **_: Any) -> Number:
    return x.at_position(ctx.position.reshaped(x.aval.shape))


def _transpose(ctx: LoweringRuleContext, x: Operand, *, permutation: Sequence[int]) -> Number:
    """Axis i of the result is axis permutation[i] of the operand."""
    coords = dict(zip(permutation, ctx.position.coords))
    return x.at(coords[axis] for axis in range(len(permutation)))


lowering_rules[primitives.broadcast_in_dim_p] = IndexMap(_broadcast_in_dim)
lowering_rules[primitives.reshape_p] = IndexMap(_reshape)
lowering_rules[primitives.transpose_p] = IndexMap(_transpose)
