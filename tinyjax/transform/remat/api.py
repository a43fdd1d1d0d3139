"""`jax.checkpoint`: a function whose backward pass computes again what it would otherwise have kept.

After this file you can trade memory for time: put `checkpoint` around a layer, name values by
`checkpoint_name`, choose by a policy what is kept, and see by `print_saved_residuals` what that is.
Builds on transform.remat.primitive and lax.control_flow.bodies.

Source: https://docs.jax.dev/en/latest/gradient-checkpointing.html
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from tinyjax.compile.kernel.rules import Elementwise, lowering_rules
from tinyjax.core.api_util import FlatFun, check_callable
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.bodies import trace_body
from tinyjax.core.errors import ConcretizationTypeError
from tinyjax.core.jaxpr import JaxprEqn, Literal, Var
from tinyjax.core.tracing import line_text, trace_to_jaxpr
from tinyjax.core.tree_util.key_paths import keystr, tree_flatten_with_path
from tinyjax.core.tree_util.prefixes import flatten_axes
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_map, tree_unflatten
from tinyjax.transform.batching import defvectorized
from tinyjax.transform.jvp import jvp_rules
from tinyjax.transform.partial_eval import linearize_flat
from tinyjax.transform.remat.policies import Policy, nothing_saveable
from tinyjax.transform.remat.primitive import reduce_precision_p, remat_p

# ---- names for values ----

name_p = Primitive("name")  # parameter: name
impl_rules[name_p] = lambda x, *, name: x
abstract_eval_rules[name_p] = lambda x, *, name: x
# The tangent needs no name: policies ask about what is known in the forward pass.
jvp_rules[name_p] = lambda primals, tangents, *, name: (
    name_p.bind(*primals, name=name),
    tangents[0],
)
defvectorized(name_p)
lowering_rules[name_p] = Elementwise(lambda ctx, x, *, name: x, cost=0)


def checkpoint_name(x: Any, name: str) -> Any:
    """`x`, a pytree of arrays, under a name that policies such as save_only_these_names know.

    Source: https://docs.jax.dev/en/latest/_autosummary/jax.ad_checkpoint.checkpoint_name.html
    """
    return tree_map(lambda leaf: name_p.bind(leaf, name=name), x)


# ---- policies: which results may be kept ----

# What a policy of one's own may return, besides True and False (JAX's third, to move results to another
# memory, has no place here: there is one memory).
Saveable, Recompute = True, False


def everything_saveable(*_: Any, **__: Any) -> bool:
    """Keeps all that the backward pass needs, as if there were no jax.checkpoint."""
    return True


@dataclass(frozen=True)
class DotsSaveable:
    """Keeps the results of matrix products: the costliest to compute again."""

    only_if_no_batch_dims: bool

    def __call__(self, primitive: Primitive, *avals: ShapedArray, **params: Any) -> bool:
        if primitive.name != "dot_general":
            return primitive.name == "conv_general_dilated" and not self.only_if_no_batch_dims
        _, batch_dims = params["dimension_numbers"]
        return not self.only_if_no_batch_dims or not any(batch_dims)


@dataclass(frozen=True)
class SaveOnlyTheseNames:
    saveable_names: frozenset[str]

    def __call__(self, primitive: Primitive, *avals: ShapedArray, **params: Any) -> bool:
        return primitive is name_p and params["name"] in self.saveable_names


@dataclass(frozen=True)
class SaveAnyNamesButThese:
    names: frozenset[str]

    def __call__(self, primitive: Primitive, *avals: ShapedArray, **params: Any) -> bool:
        return primitive is name_p and params["name"] not in self.names


def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """Keeps the values that checkpoint_name has given one of these names, and nothing else."""
    return SaveOnlyTheseNames(frozenset(names_which_can_be_saved))


def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """Keeps the values that checkpoint_name has given any other name, and nothing else."""
    return SaveAnyNamesButThese(frozenset(names_not_to_save))


def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """Keeps everything, in JAX 0.10 also what has one of these names: the named value is that which
    checkpoint_name was given, and could be kept under no name all the same."""
    return lambda *_, **__: True


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Keeps what either of the policies keeps."""

    def policy(primitive: Primitive, *avals: ShapedArray, **params: Any) -> bool:
        answers = policy_1(primitive, *avals, **params), policy_2(primitive, *avals, **params)
        if not all(isinstance(answer, bool) for answer in answers):
            raise ValueError(
                "The return value of the policies should be a boolean. Got: "
                f"{answers[0]} and {answers[1]}"
            )
        return any(answers)

    return policy


dots_saveable = DotsSaveable(only_if_no_batch_dims=False)
dots_with_no_batch_dims_saveable = DotsSaveable(only_if_no_batch_dims=True)

checkpoint_policies = SimpleNamespace(
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    dots_saveable=dots_saveable,
    checkpoint_dots=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
    save_anything_except_these_names=save_anything_except_these_names,
    save_any_names_but_these=save_any_names_but_these,
    save_only_these_names=save_only_these_names,
    save_from_both_policies=save_from_both_policies,
)

# ---- the front door ----

_NOT_GIVEN = object()


def checkpoint(
    fun: Callable,
    *,
    prevent_cse: bool | Sequence[bool] = True,
    policy: Policy | None = None,
    static_argnums: int | tuple[int, ...] = (),
    concrete: Any = _NOT_GIVEN,
) -> Callable[..., Any]:
    """`fun`, but its derivative keeps only the arguments, and what `policy` says, for the backward pass.

    The values are the same. `policy` (one of jax.checkpoint_policies) is asked about each primitive
    that runs forwards; None keeps nothing. `prevent_cse=False` lets a compiler find the recomputed
    values among those of the forward pass, which is right inside a scan, where it cannot; a tuple has
    a bool, or a tree prefix of bools, an argument. Static arguments are Python values inside.
    Raises TypeError and ValueError for options that do not fit, NotImplementedError for `concrete`.
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.checkpoint.html
    """
    check_callable(fun, "checkpoint")
    if concrete is not _NOT_GIVEN:
        raise NotImplementedError(
            "The `concrete` option to `jax.checkpoint` was removed in JAX v0.10.0: make the arguments "
            "whose values the function needs static, by static_argnums"
        )
    static = (static_argnums,) if isinstance(static_argnums, int) else static_argnums
    if isinstance(prevent_cse, Sequence):
        prevent_cse = tuple(prevent_cse)
    if not isinstance(prevent_cse, (bool, tuple)):
        raise TypeError(
            f"prevent_cse must be a bool or tuple of bools, got {prevent_cse!r} of type "
            f"{type(prevent_cse)}"
        )

    @functools.wraps(fun)
    def fun_remat(*args: Any, **kwargs: Any) -> Any:
        dynamic, partial_fun = _without_static(fun, static, args)
        leaves, in_tree = tree_flatten((dynamic, kwargs))
        avals = [get_aval(x) for x in leaves]
        try:
            jaxpr, consts, out_tree = trace_body(partial_fun, in_tree, avals)
        except ConcretizationTypeError as e:
            e.add_note("jax.checkpoint traces its function: static_argnums names arguments to keep")
            raise
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


def _without_static(
    fun: Callable, static_argnums: tuple[int, ...], args: tuple
) -> tuple[tuple, Callable]:
    """The arguments that are traced, and `fun` as a function of them."""
    if not (
        isinstance(static_argnums, tuple)
        and all(type(i) is int for i in static_argnums)  # True is no argument's number
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


# ---- what a derivative keeps ----


def saved_residuals(fun: Callable, *args: Any, **kwargs: Any) -> list[tuple[ShapedArray, str]]:
    """The aval of each array that grad of `fun` keeps for its backward pass, and where it is from."""
    leaves, in_tree = tree_flatten((args, kwargs))
    flat_fun = FlatFun(fun, in_tree)
    closed = trace_to_jaxpr(
        lambda *xs: linearize_flat(flat_fun, xs)[1].residuals, [get_aval(x) for x in leaves]
    )
    jaxpr = closed.jaxpr
    rounded = {e.outvars[0]: e.invars[0] for e in jaxpr.eqns if e.primitive is reduce_precision_p}
    kept = [rounded.get(v, v) if isinstance(v, Var) else v for v in jaxpr.outvars]

    found = [(v.aval, "from a literal") for v in kept if isinstance(v, Literal)]
    found += [(v.aval, "from a constant") for v in jaxpr.constvars if v in kept]
    names = _argument_names(fun, args, kwargs)
    found += [
        (v.aval, f"from the argument {name}") for v, name in zip(jaxpr.invars, names) if v in kept
    ]
    found += [(v.aval, _origin(eqn)) for eqn in jaxpr.eqns for v in eqn.outvars if v in kept]
    return found


def print_saved_residuals(fun: Callable, *args: Any, **kwargs: Any) -> None:
    """Prints what saved_residuals gives, a line each.

    Source: https://docs.jax.dev/en/latest/_autosummary/jax.ad_checkpoint.print_saved_residuals.html
    """
    for aval, origin in saved_residuals(fun, *args, **kwargs):
        print(f"{aval.str_short(short_dtypes=True)} {origin}")


def _origin(eqn: JaxprEqn) -> str:
    line = line_text(eqn.source_info)
    if eqn.primitive is name_p:
        return f"named '{eqn.params['name']}' from {line}"
    if eqn.primitive.name == "jit":
        return f"output of jitted function '{eqn.params['name']}' from {line}"
    return f"output of {eqn.primitive} from {line}"


def _argument_names(fun: Callable, args: tuple, kwargs: dict) -> list[str]:
    """The names of all leaves of the arguments, as x, x['a'] or, where there is no signature, args[0]."""
    try:
        bound = inspect.signature(fun).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        bound = {"args": args, "kwargs": kwargs}
    return [
        name + keystr(path)
        for name, value in bound.items()
        for path, _ in tree_flatten_with_path(value)[0]
    ]
