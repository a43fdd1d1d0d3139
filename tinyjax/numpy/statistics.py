"""Histograms, covariance, interpolation, comparison of arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.bind import as_array
from tinyjax.core.primitives import shape_of
from tinyjax.lax.elementwise import real_dtype, to_inexact_dtype
from tinyjax.numpy import averages, reductions
from tinyjax.numpy.creation import array, asarray, full, ones_like, zeros
from tinyjax.numpy.cumulative import diff
from tinyjax.numpy.elementary import clip, sqrt
from tinyjax.numpy.grids import ix_
from tinyjax.numpy.joining import concatenate
from tinyjax.numpy.linear_algebra import dot
from tinyjax.numpy.logic import equal, greater, isfinite, isnan, less, logical_and, logical_or
from tinyjax.numpy.manipulation import atleast_2d, reshape, squeeze
from tinyjax.numpy.promotion import broadcast_to_rank, promote_args, promote_dtypes_inexact
from tinyjax.numpy.ranges import linspace
from tinyjax.numpy.searching import bincount, ravel_multi_index
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.sorted_search import searchsorted
from tinyjax.numpy.triangles import diag
from tinyjax.numpy.ufuncs import (
    absolute,
    add,
    conj,
    divide,
    multiply,
    real,
    remainder,
    subtract,
    true_divide,
)
from tinyjax.numpy.util import check_arraylike, concrete_int, constant, convert, ensure_arraylike
from tinyjax.transform.jit.api import jitted

# ---- histograms ----


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Array:
    """The edges of `bins` equal bins over `range` (that of the data); as numpy.histogram_bin_edges."""
    if isinstance(bins, str):
        raise NotImplementedError("string values for `bins` not implemented.")
    a = asarray(a)
    dtype = to_inexact_dtype(a.dtype)
    if np.ndim(bins) == 1:
        return asarray(bins, dtype=dtype)
    count = concrete_int(bins, "bins argument of histogram_bin_edges")
    if range is None:
        range = [reductions.min(a), reductions.max(a)] if a.size else [0, 1]
    ends = asarray(range, dtype=dtype)
    if ends.shape != (2,):
        raise ValueError(f"`range` must be either None or a sequence of scalars, got {range}")
    # Data of one value has no extent: the bins reach half to each side of it.
    low = where_(equal(reductions.ptp(ends), 0), subtract(ends[0], 0.5), ends[0])
    high = where_(equal(reductions.ptp(ends), 0), add(ends[1], 0.5), ends[1])
    return linspace(low, high, count + 1, dtype=dtype)


def histogram(
    a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None
) -> tuple[Array, Array]:
    """(counts, or sums of weights, in each bin; the edges of the bins); as numpy.histogram."""
    if weights is None:
        (a,) = promote_dtypes_inexact(ensure_arraylike("histogram", a))
        weights = ones_like(a)
    else:
        a, weights = ensure_arraylike("histogram", a, weights)
        if a.shape != weights.shape:
            raise ValueError("weights should have the same shape as a.")
        a, weights = promote_dtypes_inexact(a, weights)
    edges = histogram_bin_edges(a, bins, range)
    place = _bin_of(a, edges)
    counts = zeros(edges.size, weights.dtype).at[place].add(weights)[1:]
    if density:
        counts = divide(divide(counts, diff(edges)), reductions.sum(counts))
    return counts, edges


def _bin_of(a: Any, edges: Any) -> Any:
    """Which edge comes after each value; the last edge belongs to the last bin."""
    place = searchsorted(edges, a, side="right")
    return where_(equal(a, edges[-1]), edges.size - 1, place)


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """(counts on a grid, the edges along x, those along y); as numpy.histogram2d."""
    x, y = ensure_arraylike("histogram2d", x, y)
    if np.ndim(bins) == 1 and len(bins) not in (1, 2):
        bins = [asarray(bins)] * 2
    counts, edges = histogramdd(asarray([x, y]).T, bins, range, weights, density)
    return counts, edges[0], edges[1]


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None
) -> tuple[Array, list[Array]]:
    """(counts on a grid of as many axes as `sample` has columns, edges); as numpy.histogramdd."""
    (sample,) = promote_dtypes_inexact(ensure_arraylike("histogramdd", sample))
    count, ndim = sample.shape
    if weights is not None and shape_of(weights) != (count,):
        raise ValueError("should have one weight for each sample.")
    if range is not None and len(range) != ndim:
        raise ValueError(f"range must be a sequence of {ndim} pairs or Nones; got {range!r}")
    bins_of = [bins] * ndim if np.ndim(bins) == 0 else list(bins)
    if len(bins_of) != ndim:
        raise ValueError("should be a bin for each dimension.")
    columns = [sample[:, i] for i in np.arange(ndim)]
    ranges = [None] * ndim if range is None else range
    edges = [histogram_bin_edges(x, b, r) for x, b, r in zip(columns, bins_of, ranges)]
    places = [_bin_of(x, e) for x, e in zip(columns, edges)]
    shape = tuple(e.size + 1 for e in edges)
    flat = ravel_multi_index(tuple(places), shape, mode="clip")
    counts = reshape(bincount(flat, weights, length=math.prod(shape)), shape)
    counts = counts[(slice(1, -1),) * ndim]
    if density:
        counts = convert(counts, sample.dtype)
        counts = divide(counts, reductions.sum(counts))
        for widths in ix_(*[diff(e) for e in edges]):
            counts = divide(counts, widths)
    return counts, edges


# ---- covariance ----


@jitted(static_argnames=("rowvar", "bias", "ddof", "dtype"))
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None,
    fweights: Any = None, aweights: Any = None, dtype: Any = None,
) -> Array:  # fmt: skip
    """The covariance matrix of variables in rows (columns if not rowvar); as numpy.cov."""
    operands = [m] if y is None else [m, y]
    check_arraylike("cov", *operands)
    m, *more = promote_dtypes_inexact(*operands)
    if m.ndim > 2 or (more and more[0].ndim > 2):
        raise ValueError("m or y has more than 2 dimensions")
    x = atleast_2d(m)
    x = x.T if not rowvar and m.ndim != 1 else x
    if x.shape[0] == 0:
        return zeros((0, 0), x.dtype)
    if more:
        other = atleast_2d(more[0])
        x = concatenate((x, other.T if not rowvar and other.shape[0] != 1 else other), 0)
    if x.shape[1] == 0:
        return full(() if x.shape[0] == 1 else (x.shape[0],) * 2, np.nan, x.dtype)
    if dtype is not None:
        x = x.astype(dtype)
    if ddof is None:
        ddof = 0 if bias else 1
    weights = _sample_weights(x.shape[1], fweights, aweights)
    mean, total = averages.average(x, axis=1, weights=weights, returned=True)
    total = total[0]
    if weights is None:
        factor: Any = x.shape[1] - ddof
    elif ddof == 0:
        factor = total
    elif aweights is None:
        factor = subtract(total, ddof)
    else:
        spread = reductions.sum(multiply(weights, absolute(as_array(aweights))))
        factor = subtract(total, divide(multiply(ddof, spread), total))
    x = subtract(x, mean[:, None])
    weighted = x.T if weights is None else multiply(x, broadcast_to_rank(weights, x.ndim)).T
    return squeeze(true_divide(dot(x, conj(weighted)), factor))


def _sample_weights(count: int, fweights: Any, aweights: Any) -> Any:
    weights = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        given = ensure_arraylike("cov", given)
        if given.ndim > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if given.shape[0] != count:
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if name == "fweights" and dtypes.kind(given.dtype) not in "iu":
            raise TypeError("fweights must be integer.")
        weights = absolute(given) if weights is None else multiply(weights, absolute(given))
    return weights


@jitted(static_argnames=("rowvar", "dtype"))
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Array:
    """The matrix of correlation coefficients of variables in rows; as numpy.corrcoef."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return divide(c, c)
    deviation = convert(sqrt(real(diag(c))), c.dtype)
    c = divide(divide(c, deviation[:, None]), deviation[None, :])
    if dtypes.kind(c.dtype) == "c":
        return lax.complex(clip(lax.real(c), -1, 1), clip(lax.imag(c), -1, 1))
    return clip(c, -1, 1)


# ---- interpolation ----


@jitted(static_argnames=("left", "right", "period"))
def _interp(x: Any, xp: Any, fp: Any, left: Any, right: Any, period: Any) -> Any:
    x, xp, fp = ensure_arraylike("interp", x, xp, fp)
    if xp.shape != fp.shape or xp.ndim != 1:
        raise ValueError("xp and fp must be one-dimensional arrays of equal size")
    x, xp = promote_dtypes_inexact(x, xp)
    (fp,) = promote_dtypes_inexact(fp)
    if dtypes.kind(x.dtype) == "c":
        raise ValueError("jnp.interp: complex x values not supported.")
    for side, value in (("left", left), ("right", right)):
        if isinstance(value, str) and value != "extrapolate":
            raise ValueError(
                f"the only valid string value of `{side}` is 'extrapolate', but got: {value!r}"
            )
    if period is not None:
        if np.ndim(period) != 0:
            raise ValueError(f"period must be a scalar; got {period}")
        period = absolute(period)
        x, xp = remainder(x, period), remainder(xp, period)
        xp, fp = lax.sort_key_val(xp, fp)
        xp = concatenate([subtract(xp[-1:], period), xp, add(xp[:1], period)])
        fp = concatenate([fp[-1:], fp, fp[:1]])
    i = clip(searchsorted(xp, x, side="right"), 1, xp.size - 1)
    before = subtract(i, 1)
    rise, run = subtract(fp[i], fp[before]), subtract(xp[i], xp[before])
    flat = lax.le(lax.abs(run), constant(np.spacing(np.finfo(xp.dtype).eps), xp.dtype))
    slope = divide(subtract(x, xp[before]), where_(flat, 1, run))
    f = where_(flat, fp[before], add(fp[before], multiply(slope, rise)))
    if period is not None:
        return f
    if not isinstance(left, str):
        f = where_(less(x, xp[0]), fp[0] if left is None else left, f)
    if not isinstance(right, str):
        f = where_(greater(x, xp[-1]), fp[-1] if right is None else right, f)
    return f


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Array:
    """The piecewise linear function through (xp, fp) at x, xp increasing; as numpy.interp.

    Outside of xp it is `left` and `right` (the end values; 'extrapolate' goes on in a line)."""
    return _interp(x, xp, fp, left, right, period)


# ---- comparing arrays ----


@jitted(static_argnames=("equal_nan",))
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Array:
    """Whether |a - b| <= atol + rtol * |b|, for each element; as numpy.isclose."""
    a, b = promote_args("isclose", a, b)
    a, b = promote_dtypes_inexact(a, b)
    dtype = real_dtype(a.dtype)
    rtol, atol = convert(rtol, dtype), convert(atol, dtype)
    both_nan = logical_and(isnan(a), isnan(b))
    finite = isfinite(b)
    near = lax.le(lax.abs(lax.sub(a, b)), lax.add(atol, lax.mul(rtol, lax.abs(b))))
    out = logical_or(lax.eq(a, b), logical_and(finite, near))
    return logical_or(out, both_nan) if equal_nan else out


@jitted(static_argnames=("equal_nan",))
def allclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Array:
    """Whether isclose holds everywhere; as numpy.allclose."""
    check_arraylike("allclose", a, b)
    return reductions.all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Array:
    """Whether the arrays have the same shape and elements; as numpy.array_equal."""
    a1, a2 = asarray(a1), asarray(a2)
    if a1.shape != a2.shape:
        return array(False)
    same = equal(a1, a2)
    if equal_nan:
        same = logical_or(same, logical_and(isnan(a1), isnan(a2)))
    return reductions.all(same)


def array_equiv(a1: Any, a2: Any) -> Array:
    """Whether the arrays, broadcast together, have the same elements; as numpy.array_equiv."""
    a1, a2 = asarray(a1), asarray(a2)
    try:
        same = equal(a1, a2)
    except (TypeError, ValueError):
        return array(False)
    return reductions.all(same)
