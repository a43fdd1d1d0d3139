"""Custom derivative rules, backward: `custom_vjp`.

Rules are checked when they are called.

Source: https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tinyjax.core import dtypes
from tinyjax.core.api_util import fun_name
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Tracer
from tinyjax.core.debug_info import DebugInfo
from tinyjax.core.errors import UnexpectedTracerError
from tinyjax.core.tree_util.prefixes import broadcast_prefix
from tinyjax.core.tree_util.pytrees import (
    PyTreeDef,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_unflatten,
)
from tinyjax.transform.custom.calls import (
    FunctionWithRules,
    SymbolicZero,
    TypedFun,
    check_same_result,
    from_symbolic_zero,
    leaf_paths,
    positional,
    to_symbolic_zero,
    with_user_source_info,
)
from tinyjax.transform.custom.vjp_call import custom_vjp_call_p
from tinyjax.transform.jit.static_arguments import with_static
from tinyjax.transform.jvp import Zero

# ---- the front door ----


@dataclass(slots=True)
class CustomVJPPrimal:
    """An argument of a fwd rule with symbolic_zeros: the array, and whether the function is
    differentiated with respect to it."""

    value: Any
    perturbed: bool


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The values of a pytree of CustomVJPPrimals. Raises TypeError for other leaves."""

    def value(leaf: Any) -> Any:
        if type(leaf) is not CustomVJPPrimal:
            raise TypeError(f"expected CustomVJPPrimal leaves, got one of type {type(leaf)}")
        return leaf.value

    return tree_map(value, tree)


class custom_vjp(FunctionWithRules):  # noqa: N801  (used as a decorator)
    """A function whose reverse-mode derivative is the pair of rules given to `defvjp`.

    It takes and gives pytrees of arrays; keyword arguments are resolved to positions. Arguments that
    `nondiff_argnums` or `nondiff_argnames` name can be any Python values but tracers: fwd gets them at
    their positions, bwd gets them first. Forward mode (jvp, jacfwd) raises TypeError. Calls raise
    AttributeError as long as there is no rule; differentiation raises TypeError or ValueError where the
    rules' results do not fit."""

    rules = ("fwd", "bwd")
    fwd: Callable | None
    bwd: Callable | None

    def defvjp(
        self,
        fwd: Callable,
        bwd: Callable,
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Sets the rules `fwd(*args) -> (out, residuals)` and
        `bwd(*nondiff_args, residuals, ct) -> (ct of each argument, ...)`, None for a zero cotangent.

        With symbolic_zeros, fwd gets CustomVJPPrimal objects, and bwd SymbolicZero objects for zero
        cotangents. optimize_remat changes no result, and is not needed here."""
        if symbolic_zeros and optimize_remat:
            raise NotImplementedError(
                "remat optimization for custom_vjp does not support symbolic zeros"
            )
        self.fwd, self.bwd = fwd, bwd
        self.symbolic_zeros = symbolic_zeros

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = fun_name(self.fun)
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"No VJP defined for custom_vjp function {name} using defvjp: give it the rules before "
                "the first call"
            )
        args = positional("custom_vjp", self.fun, args, kwargs)
        static = tuple((i, type(args[i]), args[i]) for i in self.nondiff_argnums)
        for i, _, value in static:
            _check_for_tracers(name, i, value)
        dynamic = tuple(x for i, x in enumerate(args) if i not in self.nondiff_argnums)
        leaves, in_tree = tree_flatten((dynamic, {}))
        info = DebugInfo(self.fun, self.nondiff_argnums, in_tree, traced_for="jax.custom_vjp")
        fun = TypedFun(with_static(self.fun, static), in_tree, info)
        names = (name, fun_name(self.fwd), fun_name(self.bwd))
        fwd = with_static(with_user_source_info(self.fwd), static)
        bwd = functools.partial(with_user_source_info(self.bwd), *[value for _, _, value in static])
        outs = custom_vjp_call_p.bind(
            *leaves,
            fun=fun,
            fwd=functools.partial(_call_fwd, fwd, bwd, fun, names, self.symbolic_zeros),
            names=names,
            symbolic_zeros=self.symbolic_zeros,
        )
        return tree_unflatten(fun.out_tree, outs)


def _check_for_tracers(name: str, position: int, value: Any) -> None:
    if any(isinstance(leaf, Tracer) for leaf in tree_leaves(value)):
        raise UnexpectedTracerError(
            f"Found a JAX Tracer object passed as argument {position} to the custom_vjp function {name}, "
            "which nondiff_argnums names as non-differentiable: those can't be or contain tracers, as "
            "bwd runs later. Make it a differentiable argument, with None as its cotangent"
        )


# ---- a user's rules, and checks of their results ----


def _call_fwd(
    fwd: Callable, bwd: Callable, fun: TypedFun, names: tuple[str, str, str], symbolic_zeros: bool,
    primals: Sequence[Any], perturbed: Sequence[bool],
) -> tuple[list[Any], list[Any], Callable]:  # fmt: skip
    """The results and residuals as flat lists, and bwd as a function of flat lists."""
    in_avals = [get_aval(x) for x in primals]
    if symbolic_zeros:
        primals = [CustomVJPPrimal(x, p) for x, p in zip(primals, perturbed)]
    pair = fwd(*tree_unflatten(fun.in_tree, primals)[0])
    who = f"Custom VJP fwd rule {names[1]} for function {names[0]}"
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError(
            f"{who} must produce a pair (list or tuple of length two) of the function's output and the "
            f"residuals, which are stored for the backward pass, but instead of a pair it produced {pair}"
        )
    (outs, out_tree), (residuals, res_tree) = tree_flatten(pair[0]), tree_flatten(pair[1])
    check_same_result(who, fun, out_tree, outs)
    fun.out_tree = out_tree
    who = f"Custom VJP bwd rule {names[2]} for function {names[0]}"

    def flat_bwd(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        shown = [to_symbolic_zero(ct, symbolic_zeros) for ct in cts]
        cts_in = bwd(tree_unflatten(res_tree, residuals), tree_unflatten(out_tree, shown))
        return _flat_cotangents(who, fun.in_tree, in_avals, cts_in)

    return outs, residuals, flat_bwd


def _flat_cotangents(
    who: str, in_tree: PyTreeDef, in_avals: Sequence[ShapedArray], cts: Any
) -> list[Any]:
    """The leaves of bwd's result, one for each of the function's arguments; Zero for None."""
    args_tree = in_tree.child_defs[0]
    if isinstance(cts, list) and len(cts) == len(args_tree.child_defs):
        cts = tuple(cts)
    try:
        if not isinstance(cts, tuple):
            raise ValueError
        dummy = tree_unflatten(args_tree, range(len(in_avals)))
        flat = broadcast_prefix(cts, dummy, is_leaf=lambda x: x is None)
    except ValueError:
        raise TypeError(
            f"{who} must produce an output with the same container (pytree) structure as the args tuple "
            f"of the function, a tuple with an entry for each argument, but got bwd output structure "
            f"{tree_flatten(cts)[1]} for primal input structure {args_tree}"
        ) from None
    return [_checked_ct(who, *each) for each in zip(leaf_paths(args_tree), in_avals, flat)]


def _checked_ct(who: str, path: str, in_aval: ShapedArray, ct: Any) -> Any:
    expected = in_aval.to_tangent_aval()
    if ct is None or expected.dtype == dtypes.float0:
        return Zero(expected)
    got = ct.aval if type(ct) is SymbolicZero else get_aval(ct)
    # As in JAX, a floating argument's cotangent may have another dtype.
    if got.shape != expected.shape:
        raise ValueError(
            f"{who} must produce an output with the same type as the args tuple of the function, but at "
            f"output{path} it produced {got.str_short()} for an input of type {in_aval.str_short()}: the "
            "shapes do not match"
        )
    return from_symbolic_zero(ct)
