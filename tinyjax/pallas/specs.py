"""The arguments of pallas_call: the grid, and for each array the blocks that its programs get.

Source: https://docs.jax.dev/en/latest/pallas/grid_blockspec.html
"""

from __future__ import annotations

import dataclasses
import enum
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tinyjax.core.array import ShapedArray
from tinyjax.core.dtypes import np_dtype
from tinyjax.refs.types import AbstractRef

# ---- the axes of a block ----


@dataclass(frozen=True)
class Blocked:
    """An axis that is cut into blocks of this size: the index map gives the number of the block."""

    block_size: int


@dataclass(frozen=True)
class Element:
    """An axis of which a block may start anywhere: the index map gives its first element. `padding` elements
    stand before and after the array."""

    block_size: int
    padding: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Squeezed:
    """An axis of which a block is one element, and which the kernel's Ref does not have."""


@dataclass(frozen=True)
class BoundedSlice:
    """An axis whose blocks have other sizes: for TPUs alone."""

    block_size: int


@dataclass(frozen=True)
class Indirect:
    """An axis indexed by an array: for TPUs alone."""

    block_size: int


squeezed = Squeezed()
BlockDim = Blocked | Element | Squeezed | BoundedSlice | Indirect


def block_dim(dim: Any) -> BlockDim:
    """An entry of a block_shape: None is squeezed, a number the size of blocks.

    Raises ValueError for anything else."""
    if dim is None:
        return squeezed
    if isinstance(dim, BlockDim):
        return dim
    try:
        return Blocked(operator.index(dim))
    except TypeError:
        raise ValueError(
            f"Unsupported block dimension type: {type(dim)}. Allowed types: `pl.Squeezed`, `pl.Blocked`, "
            "`pl.Element`, `int`, `None`."
        ) from None


def block_size(dim: BlockDim) -> int:
    return 1 if isinstance(dim, Squeezed) else dim.block_size


# ---- where arrays live ----


class MemorySpace(enum.Enum):
    """Kinds of memory. The devices here have one, so they all mean the same."""

    ANY = "any"
    DEFAULT = "default"
    ERROR = "error"
    INDEX = "index"
    KEY = "key"

    def __call__(self, shape: Sequence[int], dtype: Any) -> MemoryRef:
        """The type of a scratch array: pl.ANY((8, 128), jnp.float32)."""
        return MemoryRef(ShapedArray(tuple(shape), np_dtype(dtype)), self)

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class MemoryRef:
    """The type of a Ref that a kernel is given: of a scratch array, for example."""

    inner_aval: ShapedArray
    memory_space: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return self.inner_aval.shape

    @property
    def dtype(self) -> np.dtype:
        return self.inner_aval.dtype

    def get_array_aval(self) -> ShapedArray:
        return self.inner_aval

    def get_ref_aval(self) -> AbstractRef:
        return AbstractRef(self.inner_aval, self.memory_space)


ANY = MemorySpace.ANY


class RevisitMode(enum.Enum):
    IMMEDIATE = "immediate"
    ANY = "any"


@dataclass(frozen=True)
class Buffered:
    """How many buffers a TPU has for a block. Nothing here depends on it."""

    buffer_count: int | tuple[int, int]
    use_lookahead: bool = False
    revisit: RevisitMode | None = None
    prefetched_count: int = 0


class CompilerParams(Protocol):
    """The base class of compiler parameters."""

    __dataclass_fields__: dict[str, Any]


@dataclass(frozen=True)
class CostEstimate:
    """The cost of a kernel. Raises ValueError for values that are not ints."""

    flops: int
    transcendentals: int
    bytes_accessed: int
    remote_bytes_transferred: int = 0

    def __post_init__(self) -> None:
        for name, value in dataclasses.asdict(self).items():
            if not isinstance(value, int):
                raise ValueError(
                    f"All fields in CostEstimate must be ints. {name} is not an int: {type(value)}({value})"
                )


# ---- the specs ----


@dataclass(frozen=True)
class IndexMap:
    """An index map that always gives a tuple."""

    index_map: Callable[..., Any]

    def __call__(self, *indices: Any) -> tuple:
        out = self.index_map(*indices)
        return tuple(out) if isinstance(out, tuple | list) else (out,)


@dataclass
class BlockSpec:
    """The blocks of an array: program (i, j, ...) gets the block of shape `block_shape` at
    `index_map(i, j, ...)`.

    Without a block_shape, the block is the whole array; without an index_map, it is the first one."""

    block_shape: Sequence[BlockDim | int | None] | None = None
    index_map: Callable[..., Any] | None = None
    memory_space: Any = dataclasses.field(kw_only=True, default=None)
    pipeline_mode: Buffered | None = None

    def __post_init__(self) -> None:
        if callable(self.block_shape):
            kind = type(self.block_shape).__name__
            raise TypeError(
                f"'{kind}' object is not iterable: a BlockSpec takes block_shape first, then index_map. "
                "(In JAX before 0.4.31 it was the other way around.)"
            )
        if self.index_map is not None and not isinstance(self.index_map, IndexMap):
            self.index_map = IndexMap(self.index_map)

    replace = dataclasses.replace


class NoBlockSpec:
    """Stands for a spec that is not given: the whole array."""

    def __repr__(self) -> str:
        return "NoBlockSpec"


no_block_spec = NoBlockSpec()


@dataclass(init=False)
class GridSpec:
    """The grid, and the specs of inputs, outputs and scratch arrays. Raises ValueError for a grid that is not
    a tuple of integers, or one with names and sizes of axes."""

    grid: tuple[int, ...]
    grid_names: tuple | None
    in_specs: Any
    out_specs: Any
    scratch_shapes: Any

    def __init__(
        self,
        grid: Any = (),
        in_specs: Any = no_block_spec,
        out_specs: Any = no_block_spec,
        scratch_shapes: Any = (),
    ):
        if isinstance(in_specs, list):
            in_specs = tuple(in_specs)
        elif in_specs is not no_block_spec and not isinstance(in_specs, Sequence):
            raise ValueError(f"`in_specs` must be a tuple or a list. Found: {in_specs}")
        self.in_specs = in_specs
        self.out_specs = tuple(out_specs) if isinstance(out_specs, list) else out_specs
        self.scratch_shapes = scratch_shapes
        self.grid_names = None
        sizes = tuple(grid) if isinstance(grid, Iterable) else (grid,)
        if sizes and isinstance(sizes[0], tuple):
            self.grid_names, sizes = tuple(zip(*sizes))
        try:
            self.grid = tuple(map(operator.index, sizes))
        except TypeError:
            raise ValueError(
                f"Grid must be a tuple of integers, got {grid}: its sizes must be known while tracing"
            ) from None
        if min(self.grid, default=0) < 0:
            raise ValueError(f"Grid must have sizes of 0 or more, got {grid}")
