"""Products of matrices and tensors: dot, matmul, tensordot, outer, kron, cross.

All but kron and cross are one dot_general. einsum is in contraction.py, jnp.linalg in linalg.py.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import type_promotion
from tinyjax.core.array import Array
from tinyjax.core.avals import get_aval
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy.creation import array
from tinyjax.numpy.manipulation import expand_dims, moveaxis, ravel, reshape
from tinyjax.numpy.mapping import vectorize
from tinyjax.numpy.promotion import promote_dtypes
from tinyjax.numpy.reductions import check_no_out
from tinyjax.numpy.ufuncs import conj, multiply, subtract
from tinyjax.numpy.util import check_arraylike, convert, ensure_arraylike, user_dtype
from tinyjax.transform.jit.api import jitted

# ---- one dot_general ----


def _result_type(name: str, a: Any, b: Any, preferred: Any) -> tuple[np.dtype, bool]:
    """The dtype and weak type of a product."""
    if preferred is not None:
        return user_dtype(preferred, name), False
    return type_promotion.result_type(a, b, return_weak_type_flag=True)


def _contract(
    a: Any,
    b: Any,
    numbers: Any,
    precision: Any,
    result_type: tuple[np.dtype, bool],
    out_sharding: Any = None,
) -> Any:
    dtype, weak_type = result_type
    out = lax.dot_general(a, b, numbers, precision, dtype, out_sharding=out_sharding)
    return convert(out, dtype, weak_type)


def dot(
    a: Any,
    b: Any,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Array:
    """The last axis of `a` contracted with the second to last of `b` (its only one); as numpy.dot.

    Scalars multiply. `out_sharding` splits the result over devices. Raises TypeError if the sizes
    differ."""
    a, b = ensure_arraylike("dot", a, b)
    result_type = _result_type("dot", a, b, preferred_element_type)
    if a.ndim == 0 or b.ndim == 0:
        contracting: Any = ((), ())
    else:
        contracting = ((a.ndim - 1,), (max(0, b.ndim - 2),))
    return _contract(a, b, (contracting, ((), ())), precision, result_type, out_sharding)


def matmul(
    a: Any,
    b: Any,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Array:
    """The matrix product over the last two axes, the others broadcast; as numpy.matmul.

    `out_sharding` says how the result is split over devices.
    A vector is a row on the left, a column on the right. Raises ValueError for scalars and batch axes
    that do not broadcast, TypeError if the contracted sizes differ."""
    a, b = ensure_arraylike("matmul", a, b)
    for position, x in enumerate((a, b)):
        if x.ndim < 1:
            raise ValueError(
                f"matmul input operand {position} must have ndim at least 1, but it has ndim {x.ndim}"
            )
    result_type = _result_type("matmul", a, b, preferred_element_type)
    if a.ndim <= 2 and b.ndim <= 2:
        numbers = (((a.ndim - 1,), (0,)), ((), ()))
        return _contract(a, b, numbers, precision, result_type, out_sharding)
    return _batched_matmul(a, b, precision, result_type, out_sharding)


def _batched_matmul(
    a: Any, b: Any, precision: Any, result_type: tuple[np.dtype, bool], out_sharding: Any
) -> Any:
    """Batch axes that both have are batch dimensions; batch axes of one side are kept on that side.

    An axis of size 1 is squeezed away and so never copied; the result's axes are put in order."""
    a_batch = a.shape[:-2] if a.ndim > 1 else ()
    b_batch = b.shape[:-2] if b.ndim > 1 else ()
    rank = max(len(a_batch), len(b_batch))
    a_sizes = (None,) * (rank - len(a_batch)) + a_batch
    b_sizes = (None,) * (rank - len(b_batch)) + b_batch
    # Axes to squeeze of a, of b; batch dimensions as axes of the squeezed operands; axes of the result.
    a_squeeze: list[int] = []
    b_squeeze: list[int] = []
    shared: list[int] = []
    only_a: list[int] = []
    only_b: list[int] = []
    a_dims, b_dims, both_squeeze = [], [], []
    for i, (n, m) in enumerate(zip(a_sizes, b_sizes)):
        a_axis = len(shared) + len(only_a)
        b_axis = len(shared) + len(only_b)
        if n is None:
            only_b.append(i)
        elif m is None:
            only_a.append(i)
        elif n == 1 or m == 1:
            if n == 1:
                a_squeeze.append(a_axis + len(a_squeeze))
            if m == 1:
                b_squeeze.append(b_axis + len(b_squeeze))
            if n == m:
                both_squeeze.append(i)
            else:
                (only_b if n == 1 else only_a).append(i)
        elif n == m:
            a_dims.append(a_axis)
            b_dims.append(b_axis)
            shared.append(i)
        else:
            raise ValueError(
                "Incompatible types for matmul arguments: "
                f"{get_aval(a).str_short(short_dtypes=True)} and {get_aval(b).str_short(short_dtypes=True)}"
            )
    b_is_matrix = b.ndim > 1
    if a.ndim > 1:
        only_a.append(rank)
    if b_is_matrix:
        only_b.append(rank + (a.ndim > 1))
    order = tuple(int(i) for i in np.argsort([*shared, *only_a, *only_b]))
    a = lax.squeeze(a, tuple(a_squeeze)) if a_squeeze else a
    b = lax.squeeze(b, tuple(b_squeeze)) if b_squeeze else b
    numbers = (((a.ndim - 1,), (b.ndim - 1 - b_is_matrix,)), (a_dims, b_dims))
    dtype, weak_type = result_type
    out = lax.dot_general(a, b, numbers, precision, dtype, out_sharding=out_sharding)
    out = lax.transpose(out, order)
    if both_squeeze:
        out = lax.expand_dims(out, tuple(both_squeeze))
    return convert(out, dtype, weak_type)


def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Array:
    """The dot product of the flattened arrays, `a` conjugated; as numpy.vdot."""
    a, b = ensure_arraylike("vdot", a, b)
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    return dot(ravel(conj(a)), ravel(b), **options)


def vecdot(
    x1: Any,
    x2: Any,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """The dot products of vectors along `axis`, x1 conjugated, others broadcast; as numpy.vecdot."""
    x1, x2 = ensure_arraylike("jnp.vecdot", x1, x2)
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(
            f"axes must match; got shapes {x1.shape} and {x2.shape} with axis={axis!r}"
        )
    x1, x2 = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    return vectorize(functools.partial(vdot, **options), signature="(n),(n)->()")(x1, x2)


@jitted
def matvec(x1: Any, x2: Any, /) -> Array:
    """Matrices times vectors, batch axes broadcast; as numpy.matvec."""
    x1, x2 = ensure_arraylike("matvec", x1, x2)
    return vectorize(matmul, signature="(n,m),(m)->(n)")(x1, x2)


@jitted
def vecmat(x1: Any, x2: Any, /) -> Array:
    """Conjugated vectors times matrices, batch axes broadcast; as numpy.vecmat."""
    x1, x2 = ensure_arraylike("vecmat", x1, x2)
    return vectorize(matmul, signature="(n),(n,m)->(m)")(conj(x1), x2)


def tensordot(
    a: Any,
    b: Any,
    axes: Any = 2,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Array:
    """`a` and `b` contracted over `axes`: a count, a pair of axes or of lists; as numpy.tensordot.

    `out_sharding` says how the result is split over devices.
    Raises TypeError for axes of another form."""
    a, b = ensure_arraylike("tensordot", a, b)
    result_type = _result_type("tensordot", a, b, preferred_element_type)
    numbers = (_tensordot_axes(a, b, axes), ((), ()))
    return _contract(a, b, numbers, precision, result_type, out_sharding)


def _tensordot_axes(a: Any, b: Any, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if type(axes) is int:
        if axes > min(a.ndim, b.ndim):
            raise TypeError(
                f"Number of tensordot axes (axes {axes}) exceeds input ranks ({a.shape} and {b.shape})"
            )
        return tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    if not isinstance(axes, (tuple, list)) or len(axes) != 2:
        raise TypeError(
            "tensordot axes argument must be an int, a pair of ints, or a pair of lists/tuples of ints."
        )
    first, second = axes
    if isinstance(first, int) and isinstance(second, int):
        first, second = (first,), (second,)
    if not isinstance(first, (tuple, list)) or not isinstance(second, (tuple, list)):
        raise TypeError(
            "tensordot requires both axes lists to be either ints, tuples or lists, got "
            f"{first} and {second}"
        )
    if len(first) != len(second):
        raise TypeError(
            f"tensordot requires axes lists to have equal length, got {first} and {second}."
        )
    return (
        tuple(canonicalize_axis(i, a.ndim) for i in first),
        tuple(canonicalize_axis(i, b.ndim) for i in second),
    )


def inner(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Array:
    """The last axes of `a` and `b` contracted; as numpy.inner."""
    a, b = ensure_arraylike("inner", a, b)
    if a.ndim == 0 or b.ndim == 0:
        if preferred_element_type is not None:
            a, b = (convert(x, user_dtype(preferred_element_type, "inner")) for x in (a, b))
        return multiply(a, b)
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    return tensordot(a, b, (-1, -1), **options)


# ---- products without contraction ----


def outer(a: Any, b: Any, out: None = None) -> Array:
    """Each element of flat `a` times each of flat `b`; as numpy.outer."""
    check_no_out("outer", out)
    a, b = promote_dtypes(*ensure_arraylike("outer", a, b))
    return multiply(ravel(a)[:, None], ravel(b)[None, :])


@jitted
def kron(a: Any, b: Any) -> Array:
    """The Kronecker product: each element of `a` times the whole of `b`; as numpy.kron."""
    check_arraylike("kron", a, b)
    a, b = promote_dtypes(a, b)
    if a.ndim < b.ndim:
        a = expand_dims(a, range(b.ndim - a.ndim))
    elif b.ndim < a.ndim:
        b = expand_dims(b, range(a.ndim - b.ndim))
    shape = tuple(n * m for n, m in zip(a.shape, b.shape))
    a_wide = expand_dims(a, range(1, 2 * a.ndim, 2))
    b_wide = expand_dims(b, range(0, 2 * b.ndim, 2))
    return reshape(lax.mul(a_wide, b_wide), shape)


@jitted(static_argnames=("axisa", "axisb", "axisc", "axis"))
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Array:
    """The cross product of vectors of three elements; as numpy.cross.

    Raises ValueError for other sizes."""
    check_arraylike("cross", a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ValueError(
            f"Dimension must be 3 for cross product, got shapes {a.shape} and {b.shape}"
        )
    a0, a1, a2 = (a[..., i] for i in range(3))
    b0, b1, b2 = (b[..., i] for i in range(3))
    minor = lambda p, q, r, s: subtract(multiply(p, q), multiply(r, s))  # noqa: E731
    c = array([minor(a1, b2, a2, b1), minor(a2, b0, a0, b2), minor(a0, b1, a1, b0)])
    return moveaxis(c, 0, axisc)
