"""The jax.numpy API: NumPy's functions on JAX arrays.

This file only re-exports; the functions are in the files beside it, a family each, in the layers that
layers.py lists. Importing it gives Array its operators and methods (array_methods.py).

Sources: https://docs.jax.dev/en/latest/jax.numpy.html, and for each function
https://docs.jax.dev/en/latest/_autosummary/jax.numpy.<name>.html
"""

# ruff: noqa: F401  (re-exports)
# The names of a family are listed together.
# ruff: isort: skip_file
# fmt: off

import sys as _sys

# NumPy's constants, abstract dtypes and a few functions, which are the same here.
from numpy import (
    e, euler_gamma, inf, nan, newaxis, pi, generic, number, integer, signedinteger, unsignedinteger,
    inexact, floating, complexfloating, flexible, character, object_,
    save, savez, iterable, array_repr, array_str,
)
from numpy.exceptions import ComplexWarning

from tinyjax.core.array import Array as ndarray
from tinyjax.core.dtypes import finfo, iinfo, issubdtype
from tinyjax.core.type_promotion import promote_types
from tinyjax.numpy import array_methods as _array_methods
from tinyjax.numpy import linalg
from tinyjax.numpy import ufunc_methods as _ufunc_methods
from tinyjax.numpy.array_api import __array_namespace_info__
from tinyjax.numpy.averages import average, mean, std, var
from tinyjax.numpy.bits import packbits, unpackbits
from tinyjax.numpy.choosing import choose, compress, extract, select, where
from tinyjax.numpy.contraction import einsum, einsum_path
from tinyjax.numpy.creation import (
    array, asarray, copy, empty, empty_like, from_dlpack, frombuffer, fromfile, fromiter,
    fromstring, full, full_like, load, ones, ones_like, zeros, zeros_like,
)
from tinyjax.numpy.cumulative import (
    cumprod, cumsum, cumulative_prod, cumulative_sum, diff, ediff1d, gradient, nancumprod,
    nancumsum, trapezoid, unwrap,
)
from tinyjax.numpy.gcd_lcm import gcd, lcm
from tinyjax.numpy.dtype_tools import (
    can_cast, dtype, get_printoptions, isdtype, printoptions, result_type, set_printoptions,
)
from tinyjax.numpy.editing import (
    delete, fill_diagonal, insert, place, put, put_along_axis, trim_zeros,
)
from tinyjax.numpy.elementary import (
    acos, acosh, angle, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, asin, asinh,
    atan, atan2, atanh, cbrt, clip, cos, cosh, deg2rad, degrees, exp, exp2, expm1, hypot, log,
    log1p, log2, log10, logaddexp, logaddexp2, nan_to_num, rad2deg, radians, sin, sinh, sqrt,
    tan, tanh,
)
from tinyjax.numpy.grids import (
    c_, fromfunction, index_exp, indices, ix_, meshgrid, mgrid, ogrid, r_, s_,
)
from tinyjax.numpy.joining import (
    append, array_split, block, column_stack, concat, concatenate, dsplit, dstack, hsplit, hstack,
    resize, split, stack, tile, unstack, vsplit, vstack,
)
from tinyjax.numpy.linear_algebra import (
    cross, dot, inner, kron, matmul, matvec, outer, tensordot, vdot, vecdot, vecmat,
)
from tinyjax.numpy.logic import (
    bitwise_and, bitwise_count, bitwise_invert, bitwise_left_shift, bitwise_not, bitwise_or,
    bitwise_right_shift, bitwise_xor, copysign, equal, greater, greater_equal, invert, isfinite,
    isinf, isnan, isneginf, isposinf, left_shift, less, less_equal, logical_and, logical_not,
    logical_or, logical_xor, nextafter, not_equal, right_shift, signbit, spacing,
)
from tinyjax.numpy.manipulation import (
    astype, atleast_1d, atleast_2d, atleast_3d, expand_dims, flip, fliplr, flipud, iscomplex,
    iscomplexobj, isreal, isrealobj, isscalar, matrix_transpose, moveaxis, ndim, permute_dims,
    ravel, reshape, roll, rollaxis, rot90, shape, size, squeeze, swapaxes, transpose,
)
from tinyjax.numpy.mapping import apply_along_axis, apply_over_axes, piecewise, vectorize
from tinyjax.numpy.nan_reductions import (
    nanargmax, nanargmin, nanmax, nanmean, nanmin, nanprod, nanstd, nansum, nanvar,
)
from tinyjax.numpy.padding import pad
from tinyjax.numpy.polynomial import (
    bartlett, blackman, hamming, hanning, poly, polyadd, polyder, polydiv, polyint, polymul,
    polysub, polyval,
)
from tinyjax.numpy.quantiles import (
    median, nanmedian, nanpercentile, nanquantile, percentile, quantile,
)
from tinyjax.numpy.ranges import arange, geomspace, linspace, logspace
from tinyjax.numpy.reductions import all, amax, amin, any, count_nonzero, max, min, minmax, prod, ptp, sum
from tinyjax.numpy.rounding import around, ceil, floor, frexp, ldexp, modf, rint, round, trunc
from tinyjax.numpy.scalar_types import (
    bfloat16, bool_, cdouble, complex64, complex128, complex_, csingle, double, float4_e2m1fn,
    float8_e3m4, float8_e4m3, float8_e4m3b11fnuz, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2,
    float8_e5m2fnuz, float8_e8m0fnu, float16, float32, float64, float_, int2, int4, int8, int16,
    int32, int64, int_, single, uint, uint2, uint4, uint8, uint16, uint32, uint64,
)
from tinyjax.numpy.searching import (
    argmax, argmin, argwhere, bincount, flatnonzero, nonzero, ravel_multi_index, unravel_index,
)
from tinyjax.numpy.setops import (
    intersect1d, isin, setdiff1d, setxor1d, union1d, unique, unique_all, unique_counts,
    unique_inverse, unique_values,
)
from tinyjax.numpy.sorted_search import digitize, searchsorted
from tinyjax.numpy.sorting import argpartition, argsort, lexsort, partition, sort, sort_complex, top_k
from tinyjax.numpy.statistics import (
    allclose, array_equal, array_equiv, corrcoef, cov, histogram, histogram2d, histogram_bin_edges,
    histogramdd, interp, isclose,
)
from tinyjax.numpy.taking import repeat, take, take_along_axis
from tinyjax.numpy.triangles import (
    diag, diag_indices, diag_indices_from, diagflat, diagonal, eye, identity, mask_indices, trace,
    tri, tril, tril_indices, tril_indices_from, triu, triu_indices, triu_indices_from, vander,
)
from tinyjax.numpy.ufunc_methods import frompyfunc, ufunc
from tinyjax.numpy.ufuncs import (
    abs, absolute, add, conj, conjugate, divide, divmod, fabs, float_power, floor_divide, fmax,
    fmin, fmod, heaviside, imag, maximum, minimum, mod, multiply, negative, positive, pow, power,
    real, reciprocal, remainder, sign, square, subtract, true_divide,
)
from tinyjax.numpy.util import broadcast_arrays, broadcast_shapes, broadcast_to

_array_methods.attach(_sys.modules[__name__])
_ufunc_methods.attach()

bool = bool_

# Imported on first access: {the module: its names}.
_LAZY_NAMES = {
    "convolution": ("convolve", "correlate"),
    "fitting": ("polyfit", "roots"),
    "kaiser_window": ("i0", "kaiser"),
    "sinc_function": ("sinc",),
}
