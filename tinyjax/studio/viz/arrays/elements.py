"""The elements of any value as numbers that NumPy can count, and what they have in common.

    summary_of(numbers_of(x))    # least, mean and greatest element, NaNs, a histogram

Ten million elements take a tenth of a second: all are read for the least, mean and greatest; the histogram is
of a sample.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.avals import get_aval, to_numpy
from tinyjax.core.bind import Tracer

BINS = 24
_SAMPLE = 100_000  # elements that a histogram is of


@dataclass(frozen=True)
class Elements:
    """A leaf of a tree. `type` is printed as in jaxprs, f32[2,3]; without `array`, `note` says why there are
    no elements, or is the value as text."""

    type: str
    shape: tuple[int, ...]
    array: np.ndarray | None
    note: str = ""
    nbytes: int = 0

    @cached_property
    def summary(self) -> Summary | None:
        return None if self.array is None else summary_of(self.array)

    @property
    def text(self) -> str:
        """The text beside the type: a number, the note, or the summary."""
        if self.array is None or self.summary is None:
            return self.note
        if self.array.size == 1:
            return element_text(self.array.item())
        return self.summary.text("|x|" if self.array.dtype.kind == "c" else "")


def elements_of(x: Any) -> Elements:
    """The elements of an array, tracer, struct, number or NumPy array; anything else as text."""
    try:
        aval = get_aval(x)
        is_numpy = isinstance(x, np.ndarray | np.generic)
        aval = ShapedArray(x.shape, x.dtype) if is_numpy else aval  # 64 bits stay 64
        text, shape = aval.str_short(short_dtypes=True), tuple(aval.shape)
        if isinstance(x, Tracer):
            kind = type(x).__name__
            return Elements(text, shape, None, f"traced: a {kind}, only its type is known")
        if isinstance(x, ArrayImpl) and x.is_deleted():
            return Elements(text, shape, None, "deleted or donated")
        if not isinstance(x, ArrayImpl | np.ndarray | np.generic | int | float | complex):
            return Elements(text, shape, None, f"{type(x).__name__}: a type without elements")
        array = x if isinstance(x, np.ndarray) else to_numpy(x, aval)
    except (TypeError, ValueError, OverflowError):
        return Elements("", (), None, _shortened(repr(x)))
    if dtypes.kind(aval.dtype) == "V":
        return Elements(text, shape, None, _keys_text(array), array.nbytes)
    return Elements(text, shape, as_numbers(array), nbytes=array.nbytes)


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _keys_text(keys: np.ndarray) -> str:
    """The words of random keys."""
    words = keys[keys.dtype.names[0]].reshape(-1, 2)  # type: ignore[index]
    shown = ", ".join(f"[{a} {b}]" for a, b in words[:3].tolist())
    name = "random key" if keys.ndim == 0 else f"{len(words):,} random keys"
    return f"{name}: {shown}{', ...' if len(words) > 3 else ''}"


def as_numbers(array: np.ndarray) -> np.ndarray:
    """The elements as bool, float32, float64 or complex, whichever holds them exactly."""
    if array.dtype.kind in "bc" or array.dtype in (np.float32, np.float64):
        return array
    is_small = array.dtype.itemsize <= 2 or array.dtype.kind not in "iu"  # as bfloat16 and int4 are
    return array.astype(np.float32 if is_small else np.float64)


# ---- what they have in common ----


@dataclass(frozen=True)
class Summary:
    """`low`, `mean` and `high` are of the finite elements, or None; of complex ones, of |x|.
    `bins` counts a sample of them between `low` and `high`."""

    size: int
    nans: int = 0
    infs: int = 0
    minus_infs: int = 0
    low: float | None = None
    mean: float | None = None
    high: float | None = None
    bins: list[int] = field(default_factory=list)
    trues: int | None = None  # of a bool array
    is_complex: bool = False

    @property
    def is_constant(self) -> bool:
        """Whether all elements are one number."""
        if self.trues is not None:
            return self.trues in (0, self.size)
        is_finite = not (self.nans or self.infs or self.minus_infs)
        return is_finite and not self.is_complex and self.low == self.high

    def text(self, of: str = "") -> str:
        """0 elements; 5 of 9 true; -1.0 .. 2.0, mean 0.5, 1 NaN"""
        if self.size == 0:
            return "no elements"
        if self.trues is not None:
            return f"{self.trues:,} of {self.size:,} true"
        parts = []
        if self.low is not None and self.high is not None and self.mean is not None:
            if self.low == self.high:
                parts = [f"all {of or 'elements'} {number_text(self.low)}"] if self.size > 1 else []
            else:
                ends = f"{number_text(self.low)} .. {number_text(self.high)}"
                parts = [f"{of} {ends}".strip(), f"mean {number_text(self.mean)}"]
        parts += [f"{self.nans:,} NaN"] * bool(self.nans)
        parts += [f"{self.infs:,} inf"] * bool(self.infs)
        parts += [f"{self.minus_infs:,} -inf"] * bool(self.minus_infs)
        return ", ".join(parts)


def summary_of(array: np.ndarray) -> Summary:
    """The summary of what `as_numbers` returned."""
    if array.size == 0:
        return Summary(0)
    if array.dtype == bool:
        return Summary(array.size, trues=int(np.count_nonzero(array)))
    with np.errstate(all="ignore"):
        finite = np.abs(array) if array.dtype.kind == "c" else array
        low, high = finite.min(), finite.max()  # NaN if there is one
        nans = infs = minus_infs = 0
        if not (np.isfinite(low) and np.isfinite(high)):
            nans = int(np.count_nonzero(np.isnan(array)))
            infs = int(np.count_nonzero(np.isinf(array)))
            if array.dtype.kind == "f":
                minus_infs = int(np.count_nonzero(np.isneginf(array)))
            finite = finite[np.isfinite(finite)]
            if finite.size == 0:
                return Summary(array.size, nans, infs - minus_infs, minus_infs)
            low, high = finite.min(), finite.max()
        mean = finite.mean(dtype=np.float64)
        bins = _histogram(finite.reshape(-1), float(low), float(high))
    numbers = float(low), float(mean), float(high)
    is_complex = array.dtype.kind == "c"
    return Summary(
        array.size, nans, infs - minus_infs, minus_infs, *numbers, bins, is_complex=is_complex
    )


def _histogram(finite: np.ndarray, low: float, high: float) -> list[int]:
    sample = finite[:: max(1, finite.size // _SAMPLE)].astype(np.float64)
    width = high - low
    if not 0 < width < np.inf:
        return []
    bins = np.minimum((sample - low) / width * BINS, BINS - 1).astype(np.int64)
    return np.bincount(bins, minlength=BINS).tolist()


def number_text(x: float) -> str:
    """A number in four digits; whole ones up to a million in full."""
    if x == int(x) if np.isfinite(x) else False:
        return f"{int(x):,}" if abs(x) < 1e6 else f"{x:.4g}"
    return f"{x:.4g}"


def element_text(x: bool | float | complex) -> str:
    """True, 2.5, 1+2j"""
    if isinstance(x, bool):
        return str(x)
    return f"{x:.4g}" if isinstance(x, complex) else number_text(x)


def table_texts(cells: np.ndarray, dtype: np.dtype) -> list[list[str]]:
    """The numbers of a table, all with as many decimals if that shows each of them."""
    if dtype.kind == "b":
        return [[str(bool(x)) for x in row] for row in cells.tolist()]
    sizes = np.abs(cells[np.isfinite(cells) & (cells != 0)])
    decimals = 3 - int(np.floor(np.log10(sizes.max()))) if sizes.size else 0
    is_even = (cells[np.isfinite(cells)] % 1).any() and 0 < decimals <= 5
    if not (is_even and sizes.min() >= 10.0**-decimals):
        return [[number_text(x) for x in row] for row in cells.tolist()]
    while (np.round(sizes, decimals) == np.round(sizes, decimals - 1)).all():  # zeros alone
        decimals -= 1
    return [[f"{x:.{decimals}f}" for x in row] for row in cells.tolist()]
