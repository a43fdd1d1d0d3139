"""A loop over a range of numbers: `fori_loop`, which is a scan or a while_loop.

The loop is a scan if its bounds are known while tracing: a scan keeps the residuals of each iteration, so
`jax.grad` works. Otherwise it is a while_loop.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from tinyjax.core import dtypes
from tinyjax.core.avals import get_aval, to_numpy
from tinyjax.core.bind import Tracer
from tinyjax.core.config import config
from tinyjax.core.debug_info import DebugInfo
from tinyjax.core.primitives import add
from tinyjax.core.trace_memory import memory_of
from tinyjax.core.tree_util.pytrees import tree_structure
from tinyjax.lax.comparison import lt
from tinyjax.lax.control_flow.scan import scan
from tinyjax.lax.control_flow.while_loop import while_loop
from tinyjax.lax.conversion import convert_element_type
from tinyjax.lax.elementwise import constant


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """`val = body_fun(i, val)` for i in range(lower, upper), from `init_val` on: the last `val`.

    `val` is a pytree that keeps its structure, shapes and dtypes; the bounds are integers of one dtype
    (a Python int takes that of the other). Bounds that are known while tracing make it a scan, with
    reverse mode, and `unroll` as there; others a while_loop, without. Under jax_disable_jit it is a
    Python loop.
    Raises TypeError for bounds of different dtypes, OverflowError for those that do not fit theirs,
    ValueError for unroll where the bounds are not known."""
    if not callable(body_fun):
        raise TypeError(f"lax.fori_loop: body_fun argument should be callable, got {body_fun!r}")
    dtype = _bounds_dtype(lower, upper)
    if not isinstance(lower, Tracer) and not isinstance(upper, Tracer):
        first, last = (int(to_numpy(x, get_aval(x))) for x in (lower, upper))
        return _fori_scan(first, last, body_fun, init_val, unroll or False)
    if unroll not in (None, False, 1):
        raise ValueError(
            "Can only use `unroll` in `fori_loop` if the loop bounds are statically known: here "
            f"they are {lower} and {upper}"
        )

    lower, upper = (
        x if get_aval(x).dtype == dtype else convert_element_type(x, dtype) for x in (lower, upper)
    )
    body = _as_body_of(while_loop, body_fun)
    return while_loop(_is_below, body, (lower, upper, init_val))[2]


def _is_below(loop_carry: Any) -> Any:
    i, upper, _ = loop_carry
    return lt(i, upper)


# body_fun -> its bodies for scan and while_loop. They are cached so that each is traced once, and refer
# to body_fun weakly, so that it can be freed.
_bodies: WeakKeyDictionary[Callable, dict[Callable, Callable]] = WeakKeyDictionary()


def _as_body_of(loop: Callable, body_fun: Callable) -> Callable:
    known, reference = memory_of(_bodies, body_fun), _reference_to(body_fun)

    def body_of_scan(loop_carry: Any, _: None) -> Any:
        i, val = loop_carry
        return (i + 1, reference()(i, val)), None

    def body_of_while(loop_carry: Any) -> Any:
        i, upper, val = loop_carry
        return add(i, constant(i, 1)), upper, reference()(i, val)

    return known.setdefault(loop, body_of_scan if loop is scan else body_of_while)


def _reference_to(fun: Callable) -> Callable[[], Any]:
    try:
        return weakref.ref(fun)
    except TypeError:  # its class has no weak references
        return lambda: fun


def _fori_scan(
    lower: int, upper: int, body_fun: Callable, init_val: Any, unroll: int | bool
) -> Any:
    """The loop as a scan without xs and ys, whose carry is (i, val) and begins as (lower, init_val).

    `_as_body_of(scan, body_fun)` is its body. If upper is not above lower, there are no iterations. Under
    jax_disable_jit scan does not allow that, so the value is init_val itself."""
    length = max(upper - lower, 0)
    if config.jax_disable_jit and length == 0:
        return init_val

    body = _as_body_of(scan, body_fun)
    in_tree = tree_structure(((lower, init_val), {}))
    info = DebugInfo(
        body_fun, (), in_tree, traced_for="lax.fori_loop", roles=("the loop index", "the carry")
    )
    (_, val), _ = scan(
        body, (lower, init_val), None, length=length, unroll=unroll, _debug_info=info
    )
    return val


def _bounds_dtype(lower: Any, upper: Any) -> Any:
    """The dtype of the loop's index."""
    a, b = get_aval(lower), get_aval(upper)
    if a.shape or b.shape:
        raise TypeError(f"fori_loop's bounds must be scalars, got shapes {a.shape} and {b.shape}")
    if a.dtype == b.dtype:
        return a.dtype
    if dtypes.kind(a.dtype) == dtypes.kind(b.dtype) == "i" and a.weak_type != b.weak_type:
        return b.dtype if a.weak_type else a.dtype
    raise TypeError(
        "lower and upper arguments to fori_loop must have equal types, got "
        f"{a.dtype.name} and {b.dtype.name}"
    )
