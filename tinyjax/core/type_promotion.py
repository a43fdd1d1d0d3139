"""How mixed dtypes promote: to the least upper bound in a lattice.

So int32 + float16 is float16, and a Python scalar never widens an array's dtype.

Source of the lattice: https://docs.jax.dev/en/latest/jep/9407-type-promotion.html
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tinyjax.core import dtypes, small_dtypes
from tinyjax.core.config import config

# Each dtype points at what it promotes to. Python's int, float and complex stand in the lattice for
# weakly typed values: they sit below all sized dtypes of their kind, so they never widen one.
_EDGES: dict[Any, list[Any]] = {
    "bool": [int],
    int: ["uint8", "int8", *small_dtypes.INTEGERS],
    "uint8": ["int16", "uint16"],
    "uint16": ["int32", "uint32"],
    "uint32": ["int64", "uint64"],
    "uint64": [float],
    "int8": ["int16"],
    "int16": ["int32"],
    "int32": ["int64"],
    "int64": [float],
    float: ["bfloat16", "float16", complex, *small_dtypes.FLOATS],
    "bfloat16": ["float32"],
    "float16": ["float32"],
    "float32": ["float64", "complex64"],
    "float64": ["complex128"],
    complex: ["complex64"],
    "complex64": ["complex128"],
    "complex128": [],
    # They promote to nothing: the user must choose a wider dtype explicitly.
    **{name: [] for name in (*small_dtypes.FLOATS, *small_dtypes.INTEGERS)},
}


def _above(node: Any) -> set[Any]:
    """Every node that `node` can promote to, itself among them."""
    return {node}.union(*(_above(parent) for parent in _EDGES[node]))


_UPPER_BOUNDS = {node: _above(node) for node in _EDGES}


@functools.cache
def _join(nodes: frozenset[Any]) -> Any:
    """The least node above all of `nodes`. Raises TypePromotionError if there is none."""
    common = set.intersection(*(_UPPER_BOUNDS[node] for node in nodes))
    if not common:
        names = ", ".join(sorted(getattr(node, "__name__", node) for node in nodes))
        raise TypePromotionError(
            f"Input dtypes ({names}) have no available implicit dtype promotion path: numbers of 8 bits "
            "and less are never widened unasked. Convert one with x.astype(...)"
        )
    return next(node for node in common if common <= _UPPER_BOUNDS[node])


def _node(dtype: np.dtype, weak: bool) -> Any:
    if weak and dtype != np.bool_:
        return dtypes.KIND_TO_SCALAR[dtypes.kind(dtype)]
    return dtype.name


@functools.lru_cache(4096)
def join_types(promotion: str, *types: tuple[np.dtype, bool]) -> tuple[np.dtype, bool]:
    """The (dtype, weak_type) that operands with these (dtype, weak_type) promote to.

    `promotion` is the value of jax_numpy_dtype_promotion. Raises TypePromotionError if it is "strict"
    and sized dtypes differ."""
    found = dict.fromkeys(types)
    if len(found) == 1:
        return types[0]
    for d, _ in found:
        if d == dtypes.key_dtype or d == dtypes.float0:
            raise TypeError(
                f"dtype {dtypes.short_name(d)} does not promote to or from other dtypes"
            )
    if promotion == "strict" and len({d for d, weak in found if not weak}) > 1:
        names = ", ".join(d.name for d, _ in found)
        raise TypePromotionError(
            f"Input dtypes ({names}) have no implicit promotion while jax_numpy_dtype_promotion is "
            "'strict': convert one with x.astype(...)"
        )
    if all(weak for _, weak in found):  # treated as strong: a weak float64 stays float64
        return dtypes.np_dtype(_join(frozenset(d.name for d, _ in found))), True
    join = _join(frozenset(_node(d, weak) for d, weak in found))
    return dtypes.np_dtype(join), isinstance(join, type)


class TypePromotionError(ValueError):
    """Operands of different dtypes met while jax_numpy_dtype_promotion is 'strict'."""


def promoted_type(*args: Any) -> tuple[Any, bool]:
    """The dtype that operands `args` (arrays, scalars or dtypes) are converted to, and whether it is weak.

    An Array keeps its dtype if jax_enable_x64 changes: one dtype stays as it is, also a wide one."""
    if not args:
        raise ValueError("at least one array or dtype is required")
    types = [_dtype_and_weakness(x) for x in args]
    joined, weak = join_types(config.jax_numpy_dtype_promotion, *types)
    is_unchanged = len(types) == 1 or not weak and all(d == joined for d, _ in types)
    is_weak = weak and joined != np.bool_  # comparisons may be weak bools, what combines them not
    return joined if is_unchanged else dtypes.canonicalize_dtype(joined), is_weak


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The dtype of a computation with `args` (arrays, scalars or dtypes): a weak one has the default width.

    With return_weak_type_flag, a pair (dtype, whether the result is weakly typed)."""
    dtype, weak = promoted_type(*args)
    if weak:
        dtype = dtypes.default_dtype(dtypes.KIND_TO_SCALAR[dtypes.kind(dtype)])
    return (dtype, weak) if return_weak_type_flag else dtype


def _dtype_and_weakness(x: Any) -> tuple[np.dtype, bool]:
    if x is None:  # as in NumPy and JAX: the float of the default width
        return dtypes.canonicalize_dtype(x), False
    if isinstance(x, type) and x in dtypes.PYTHON_SCALARS:  # `float` as a dtype is weak, as in JAX
        return dtypes.canonicalize_dtype(dtypes.PYTHON_SCALARS[x]), x is not bool
    if isinstance(x, (np.dtype, str, type)):
        return dtypes.canonicalize_dtype(x), False
    if hasattr(x, "dtype") and not hasattr(x, "shape"):  # jnp.float32 and other scalar types
        return dtypes.canonicalize_dtype(x.dtype), False
    return dtypes.dtype(x), dtypes.is_weakly_typed(x)


def promote_types(a: Any, b: Any) -> Any:
    """The dtype that both promote to, like jnp.promote_types."""
    types = _dtype_and_weakness(a), _dtype_and_weakness(b)
    return join_types(config.jax_numpy_dtype_promotion, *types)[0]
