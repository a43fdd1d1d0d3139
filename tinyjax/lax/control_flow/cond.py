"""One of several branches: `cond` and `switch`, which are one primitive, `cond_p`.

Both branches are traced and one is run; `vmap` of a predicate runs all of them, and a select chooses. For
reverse mode, a first `cond` returns the residuals of the branch that was taken, in places that all branches
share, and a second one, of the transposed branches, reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import Array, ArrayImpl, LiteralArray, ShapedArray
from tinyjax.core.avals import get_aval, to_numpy
from tinyjax.core.bind import (
    HigherOrderPrimitive,
    Tracer,
    abstract_eval_rules,
    as_array,
    impl_rules,
    no_rule_reasons,
    watched,
)
from tinyjax.core.bodies import Traced, trace_body
from tinyjax.core.config import config
from tinyjax.core.debug_info import DebugInfo, name_and_place
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprTypeError, Var
from tinyjax.core.tree_util.differences import equality_errors
from tinyjax.core.tree_util.key_paths import KeyPath, keystr, tree_leaves_with_path
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_unflatten
from tinyjax.lax.comparison import ne
from tinyjax.lax.control_flow.bodies import advice, equal_types, same_type, with_common_consts
from tinyjax.lax.conversion import convert_element_type
from tinyjax.lax.selection import clamp

# ---- the primitive ----

# Operands: an index of dtype int32 in range, and the branches' operands. Parameter: branches, a tuple
# of ClosedJaxprs of equal types.
cond_p = HigherOrderPrimitive("cond", multiple_results=True, impl_binds_primitives=True)


def _cond_impl(index: Any, *operands: Any, branches: Sequence[ClosedJaxpr]) -> list[Any]:
    """Runs the branch that is taken, and no other."""
    outs = eager_jaxpr_fun(branches[int(index)])(*operands)
    # Branches may differ in weak types: all results have the first branch's.
    outs = [ArrayImpl(to_numpy(x, aval), aval) for x, aval in zip(outs, branches[0].out_avals)]
    return watched(cond_p, {"branches": branches}, (index, *operands), outs)


def _cond_aval(
    index: ShapedArray, *operands: ShapedArray, branches: Sequence[ClosedJaxpr]
) -> list[ShapedArray]:
    first = branches[0]
    if index.dtype != np.int32 or index.shape:
        raise JaxprTypeError(f"cond takes a scalar index of dtype int32, got {index.str_short()}")
    for i, branch in enumerate(branches):
        if not _same_types(branch.in_avals, operands):
            raise JaxprTypeError(
                f"branch {i} of cond takes {_texts(branch.in_avals)}, but the operands are "
                f"{_texts(operands)}"
            )
        if not _same_types(branch.out_avals, first.out_avals):
            raise JaxprTypeError(
                f"branches 0 and {i} of cond give {_texts(first.out_avals)} and "
                f"{_texts(branch.out_avals)}"
            )
    return first.out_avals


def _same_types(ours: Sequence[ShapedArray], theirs: Sequence[ShapedArray]) -> bool:
    return len(ours) == len(theirs) and all(same_type(a, b) for a, b in zip(ours, theirs))


def _texts(avals: Sequence[ShapedArray]) -> str:
    return "(" + ", ".join(aval.str_short(short_dtypes=True) for aval in avals) + ")"


impl_rules[cond_p] = _cond_impl
abstract_eval_rules[cond_p] = _cond_aval
no_rule_reasons[cond_p, "lowering"] = (
    "runtime/loops.py makes it a branch in the schedule, loop_kernels.py one in a kernel"
)


# ---- the front doors ----

_NO_OPERAND = object()


def cond(
    pred: Any, true_fun: Callable, false_fun: Callable, *operands: Any, operand: Any = _NO_OPERAND
) -> Any:
    """`true_fun(*operands)` if `pred` holds, else `false_fun(*operands)`: an `if` that can be traced.

    `pred` is a scalar: a bool, or a number that is not 0. Both functions are traced, in all cases, and
    must give results of one tree, and of equal shapes and dtypes; one is run. They may close over
    arrays. `operand=x` gives a single operand by keyword; `cond(pred, x, true_fun, y, false_fun)`
    gives each function its own. Under disable_jit, a `pred` whose value is known is a Python `if`.
    Raises TypeError for another predicate, for what can't be called, and for results that differ."""
    if not callable(true_fun) and callable(false_fun) and len(operands) == 2:
        f, x, (y, g) = false_fun, true_fun, operands
        if callable(g):
            return cond(pred, lambda x, _: f(x), lambda _, y: g(y), x, y)
    if not (callable(true_fun) and callable(false_fun)):
        raise TypeError(
            "lax.cond: true_fun and false_fun arguments should be callable, got "
            f"{true_fun!r} and {false_fun!r}"
        )
    operands = _with_operand(operands, operand)
    pred = _checked_predicate(pred)
    if config.jax_disable_jit and _is_concrete(pred):
        return true_fun(*operands) if pred else false_fun(*operands)
    index = convert_element_type(pred, np.int32)
    return _one_of("cond", ("true_fun", "false_fun"), (true_fun, false_fun), index, operands)


def switch(
    index: Any, branches: Sequence[Callable], *operands: Any, operand: Any = _NO_OPERAND
) -> Any:
    """`branches[index](*operands)`, where an `index` out of range is that of the nearest branch.

    `index` is an integer scalar; -1 is brought to 0, and does not count from the end. The branches
    are as cond's. Under disable_jit, an index whose value is known indexes a Python list.
    Raises TypeError as cond does, ValueError if there are no branches."""
    branches = tuple(branches)
    if not all(callable(branch) for branch in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    operands = _with_operand(operands, operand)
    index = _checked_index(index)
    if not branches:
        raise ValueError("Empty branch sequence: lax.switch needs at least one branch")
    if len(branches) == 1:
        return branches[0](*operands)
    last = np.array(len(branches) - 1, np.int32)
    index = clamp(np.array(0, np.int32), convert_element_type(index, np.int32), last)
    if config.jax_disable_jit and _is_concrete(index):
        return branches[int(index)](*operands)
    names = ["branch 0", *(f"branch{i}" for i in range(1, len(branches)))]
    return _one_of("switch", names, branches, index, operands)


def _with_operand(operands: tuple, operand: Any) -> tuple:
    """The operands, one of which may have been given by keyword."""
    if operand is _NO_OPERAND:
        return operands
    if operands:
        raise TypeError(
            "if 'operand' keyword is passed then no positional operands can be passed, got "
            f"operand={operand!r} and positional operands {operands}"
        )
    return (operand,)


def _checked_predicate(pred: Any) -> Any:
    """A bool scalar, from a bool or a real number."""
    if pred is None:
        raise TypeError("cond predicate is None")
    if isinstance(pred, Sequence):
        raise TypeError(f"Pred must be a scalar, got {pred!r} of type {type(pred)}")
    try:
        aval = get_aval(pred)
    except TypeError:
        raise TypeError(f"Pred type must be either boolean or number, got {pred!r}.") from None
    if aval.shape:
        raise TypeError(
            f"Pred must be a scalar, got an array of shape {aval.shape}: jnp.where chooses element by "
            "element, and vmap of cond does too"
        )
    kind = aval.dtype.kind  # NumPy's kind of bfloat16 is V: it is refused, as in JAX
    if kind not in "biuf":
        raise TypeError(f"Pred type must be either boolean or number, got {aval.dtype.name}.")
    if kind == "b":
        return pred
    if not isinstance(pred, Array):
        return pred != 0
    return ne(pred, LiteralArray(np.zeros((), aval.dtype), aval))


def _checked_index(index: Any) -> Any:
    """An integer scalar."""
    shape = np.shape(index)
    if shape:
        raise TypeError(f"Branch index must be scalar, got {index!r} of shape {shape}.")
    try:
        aval = get_aval(index)
    except TypeError:
        raise TypeError(f"Index type must be an integer, got {index!r}.") from None
    if dtypes.kind(aval.dtype) not in "iu":
        raise TypeError(f"Index type must be an integer, got {index!r} as {aval.dtype.name}.")
    return index


def _is_concrete(x: Any) -> bool:
    return not isinstance(x, Tracer) or x.concrete() is not None


def _one_of(
    name: str, names: Sequence[str], functions: Sequence[Callable], index: Any, operands: tuple
) -> Any:
    """Traces the functions to branches and binds cond_p."""
    leaves, in_tree = tree_flatten((operands, {}))
    in_avals = [get_aval(x) for x in leaves]
    traced: dict[int, Traced] = {}  # a function that is given twice is traced once
    for f in functions:
        if id(f) not in traced:
            info = DebugInfo(f, (), in_tree, traced_for=f"lax.{name}")
            traced[id(f)] = trace_body(f, in_tree, in_avals, info)
    for f, f_name in zip(functions, names):
        _check_same_results(name, names[0], functions[0], f_name, f, traced)

    bodies, consts, out_trees = zip(*traced.values())
    branches, shared = with_common_consts(bodies, consts)
    inputs = [*shared, *leaves]
    sources, branches = _without_forwarded(branches)
    branch_of = dict(zip(traced, branches))
    in_order = [branch_of[id(f)] for f in functions]
    if name == "cond":
        in_order.reverse()  # False is 0, True is 1
    computed = iter(cond_p.bind(index, *inputs, branches=tuple(in_order)))
    outs = [next(computed) if i is None else as_array(inputs[i]) for i in sources]
    return tree_unflatten(out_trees[0], outs)


def _without_forwarded(
    branches: Sequence[ClosedJaxpr],
) -> tuple[list[int | None], list[ClosedJaxpr]]:
    """The branches without the results that are the same input in each; and for each result, which input
    it is (None: it is computed)."""
    sources: list[int | None] = []
    for atoms in zip(*[branch.jaxpr.outvars for branch in branches]):
        places = {
            branch.jaxpr.invars.index(v)
            if isinstance(v, Var) and v in branch.jaxpr.invars
            else None
            for branch, v in zip(branches, atoms)
        }
        sources.append(places.pop() if len(places) == 1 else None)
    if all(source is None for source in sources):
        return sources, list(branches)
    return sources, [_computing(branch, sources) for branch in branches]


def _computing(branch: ClosedJaxpr, sources: Sequence[int | None]) -> ClosedJaxpr:
    outvars = [v for v, source in zip(branch.jaxpr.outvars, sources) if source is None]
    return branch.replace(jaxpr=branch.jaxpr.replace(outvars=outvars))


# ---- what differs between branches ----


def _check_same_results(
    name: str, a_name: str, a: Callable, b_name: str, b: Callable, traced: dict[int, Traced]
) -> None:
    """Raises TypeError, naming each place, if two branches give different trees or types."""
    (a_body, _, a_tree), (b_body, _, b_tree) = traced[id(a)], traced[id(b)]
    if a_tree != b_tree:
        differences = [
            f"{a_name} output{_at(path)} is a {ours} but {b_name} output{_at(path)} is a {theirs}, so {why}"
            for path, ours, theirs, why in equality_errors(a_tree, b_tree)
        ]
        what = "branch outputs must have the same pytree structure"
    else:
        paths = [
            path for path, _ in tree_leaves_with_path(tree_unflatten(a_tree, a_body.out_avals))
        ]
        differences = [
            f"the output of {a_name}{_at(path)} has type {ours.str_short()} but the corresponding "
            f"output of {b_name} has type {theirs.str_short()}"
            for path, ours, theirs in zip(paths, a_body.out_avals, b_body.out_avals)
            if not equal_types(ours, theirs)
        ]
        what = "branches must have equal output types"
    if differences:
        listed = "\n".join(f"  * {difference}" for difference in differences)
        raise TypeError(
            f"{name} {what} but they differ:\n{listed}\n{a_name} is {name_and_place(a)}, {b_name} is "
            f"{name_and_place(b)}. Make both return one tree, with "
            "equal shapes and dtypes at each place (x.astype, jnp.zeros_like, ... bring them together"
            f"{advice(zip(a_body.out_avals, b_body.out_avals), 'one')})"
        )


def _at(path: KeyPath) -> str:
    return f" at path {keystr(path)}" if path else ""
