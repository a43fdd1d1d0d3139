"""`jax.checkpoint`: a function whose backward pass recomputes values that it would otherwise keep.

`checkpoint` around a layer saves memory: the backward pass recomputes values. A policy chooses which
values are kept (transform.remat.saved_residuals prints them).

Source: https://docs.jax.dev/en/latest/gradient-checkpointing.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tinyjax.core.api_util import check_callable, wraps
from tinyjax.core.avals import get_aval
from tinyjax.core.bodies import trace_body
from tinyjax.core.debug_info import DebugInfo
from tinyjax.core.tree_util.prefixes import flatten_axes
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_unflatten
from tinyjax.transform.jit.static_arguments import positions
from tinyjax.transform.remat.policies import Policy
from tinyjax.transform.remat.primitive import remat_p


def checkpoint(
    fun: Callable,
    *,
    prevent_cse: bool | Sequence[bool] = True,
    policy: Policy | None = None,
    static_argnums: int | tuple[int, ...] = (),
    static_argnames: str | Iterable[str] = (),
) -> Callable[..., Any]:
    """`fun`, whose derivative keeps only the arguments and the values that `policy` saves for the
    backward pass.

    The values are the same. `policy` (one of jax.checkpoint_policies) is asked about each primitive
    that runs forwards; None keeps nothing. `prevent_cse=False` lets a compiler find the recomputed
    values among those of the forward pass, which is right inside a scan, where it cannot; a tuple has
    a bool, or a tree prefix of bools, an argument. Static arguments are Python values inside.
    Raises TypeError and ValueError for options that do not fit."""
    check_callable(fun, "checkpoint")
    static = (static_argnums,) if isinstance(static_argnums, int) else static_argnums
    prevent_cse = tuple(prevent_cse) if isinstance(prevent_cse, Sequence) else prevent_cse
    if not isinstance(prevent_cse, (bool, tuple)):
        raise TypeError(
            f"prevent_cse must be a bool or tuple of bools, got {prevent_cse!r} of type "
            f"{type(prevent_cse)}"
        )

    @wraps(fun)
    def fun_remat(*args: Any, **kwargs: Any) -> Any:
        called, kwargs = _without_names(fun, static_argnames, kwargs)
        dynamic, partial_fun = _without_static(called, static, args)
        leaves, in_tree = tree_flatten((dynamic, kwargs))
        avals = [get_aval(x) for x in leaves]
        fixed, types = positions(static, len(args)), tuple(map(type, leaves))
        info = DebugInfo(fun, fixed, in_tree, None, "jax.checkpoint", (), "static_argnums", types)
        jaxpr, consts, out_tree = trace_body(partial_fun, in_tree, avals, info)
        by_operand: bool | tuple[bool, ...] = prevent_cse
        if isinstance(prevent_cse, tuple):
            flags = flatten_axes("checkpoint prevent_cse", in_tree, (prevent_cse, True))
            by_operand = (False,) * len(consts) + tuple(map(bool, flags))
        outs = remat_p.bind(
            *consts,
            *leaves,
            jaxpr=jaxpr,
            prevent_cse=by_operand,
            differentiated=False,
            policy=policy,
        )
        return tree_unflatten(out_tree, outs)

    return fun_remat


remat = checkpoint


def _without_names(
    fun: Callable, static_argnames: str | Iterable[str], kwargs: dict[str, Any]
) -> tuple[Callable, dict[str, Any]]:
    """`fun` as a function of the traced arguments, and the traced keyword arguments."""
    names = {static_argnames} if isinstance(static_argnames, str) else set(static_argnames)
    static = {name: x for name, x in kwargs.items() if name in names}
    traced = {name: x for name, x in kwargs.items() if name not in names}
    return functools.partial(fun, **static) if static else fun, traced


def _without_static(
    fun: Callable, static_argnums: tuple[int, ...], args: tuple
) -> tuple[tuple, Callable]:
    """The arguments that are traced, and `fun` as a function of them."""
    if not (
        isinstance(static_argnums, tuple)
        and all(type(i) is int for i in static_argnums)  # True is not an argument number
    ):
        raise TypeError(
            "the `static_argnums` argument to `jax.checkpoint` / `jax.remat` must be an int or a tuple "
            f"of ints, but got value {static_argnums}"
        )
    if not static_argnums:
        return args, fun  # itself, so that it is traced once
    if not all(-len(args) <= i < len(args) for i in static_argnums):
        raise ValueError(
            "the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take integer "
            "values greater than or equal to `-len(args)` and less than `len(args)`, but got "
            f"{static_argnums}, while `len(args)` = {len(args)}"
        )
    static = {i % len(args) for i in static_argnums}

    def partial_fun(*dynamic: Any, **kwargs: Any) -> Any:
        given = iter(dynamic)
        return fun(*[x if i in static else next(given) for i, x in enumerate(args)], **kwargs)

    return tuple([x for i, x in enumerate(args) if i not in static]), partial_fun
