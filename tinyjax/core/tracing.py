"""Tracing: running a function on tracers that write down what is done to them.

The trace at work is `JaxprTrace`: each bind becomes an equation, whose results are known by aval only.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Hashable, Sequence
from types import FrameType
from typing import Any

from tinyjax.core import dtypes
from tinyjax.core.api_util import FlatFun, as_argnums, check_callable, fun_name, wrap_argnums, wraps
from tinyjax.core.array import Array, LiteralArray, ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import (
    Primitive,
    ResultsOf,
    Trace,
    Tracer,
    abstract_eval_rules,
    check_values,
    context,
    extend_axis_env,
    missing_rule,
    prepare_operands,
    set_current_trace,
    type_of_result,
)
from tinyjax.core.config import config
from tinyjax.core.debug_info import DebugInfo
from tinyjax.core.errors import UnexpectedTracerError, escaped_tracer_error, made_at
from tinyjax.core.jaxpr import (
    Atom,
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    SourceLine,
    Var,
    check_jaxpr,
)
from tinyjax.core.structs import ShapeDtypeStruct, struct_of
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_unflatten

PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
PROGRAMS_FOLDER = os.path.join(PACKAGE_FOLDER, "studio", "cli")  # written like any user program


class _IsOurs(dict[str, bool]):
    """File -> whether it is one of tinyjax's."""

    def __missing__(self, file: str) -> bool:
        is_program = file.startswith(PROGRAMS_FOLDER)
        self[file] = file.startswith((PACKAGE_FOLDER, "<frozen ")) and not is_program
        return self[file]


is_ours = _IsOurs()


def user_line() -> SourceLine | None:
    """The innermost line of the running program that is not tinyjax's own. While a jaxpr runs, it is the
    line of the current equation."""
    if context.source_info is not None:
        return context.source_info
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours[frame.f_code.co_filename]:
        frame = frame.f_back
    if frame is None:
        return None
    code = frame.f_code
    line = SourceLine((code.co_filename, frame.f_lineno, code.co_name))
    line.where = code, frame.f_lasti
    return line


def user_level() -> int:
    """The `stacklevel` with which a warning raised by this function's caller shows the user's line."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and is_ours[frame.f_code.co_filename]:
        level, frame = level + 1, frame.f_back
    return level


def line_text(source_info: SourceLine | None) -> str | None:
    if source_info is None:
        return None
    file, number, function = source_info
    return f"{file}:{number} ({function})"


# ---- the trace that writes a jaxpr ----


class JaxprTracer(Tracer):
    """Stands for a value of the jaxpr being written: an aval, and the atom that names it there.

    Its `origin`, which errors print, is in core/origins.py."""

    __slots__ = ("aval", "atom", "source_info")
    _trace: JaxprTrace

    def __init__(self, trace: JaxprTrace, aval: ShapedArray, atom: Atom, source_info: Any = None):
        self._trace = trace
        self.aval = aval
        self.atom = atom
        self.source_info = source_info

    @property
    def line(self) -> str | None:
        return line_text(self.source_info)

    def __repr__(self) -> str:
        return f"JitTracer({self.aval})"


class JaxprTrace(Trace):
    """Writes one jaxpr. Python and NumPy scalars become literals, all other outside values constvars.

    JAX calls it DynamicJaxprTrace. JAX's JaxprTrace is another class, for partial evaluation, which
    LinearizeTrace does here."""

    def __init__(self, debug_info: DebugInfo | None = None) -> None:
        self.debug_info = debug_info
        self.invars: list[Var] = []
        self.eqns: list[JaxprEqn] = []
        self.consts: dict[int, tuple[Var, Any]] = {}  # id of the value -> (its constvar, the value)
        self.finished = False

    def new_arg(self, aval: ShapedArray, source: SourceLine | None = None) -> JaxprTracer:
        var = Var(aval)
        self.invars.append(var)
        return JaxprTracer(self, aval, var, source)

    def atom(self, x: Any) -> Atom:
        """What stands for `x` in this jaxpr: the atom that a tracer of this trace holds; a Literal of a
        scalar, be it Python's, NumPy's (also an ndarray without axes) or a LiteralArray (of its `written`),
        unless it is a random key (kind "V") or its aval is no ShapedArray itself; else a constvar. Raises
        UnexpectedTracerError for a tracer whose trace has finished."""
        if type(x) is JaxprTracer and x._trace is self:
            return x.atom
        if isinstance(x, Tracer) and getattr(x._trace, "finished", False):
            raise escaped_tracer_error(x)
        aval = x.aval if isinstance(x, Array) else get_aval(x)
        is_literal = isinstance(x, LiteralArray) or not isinstance(x, Array | ShapeDtypeStruct)
        is_literal = is_literal and type(aval) is ShapedArray and dtypes.kind(aval.dtype) != "V"
        if is_literal and not aval.shape:
            return Literal(x.written if isinstance(x, LiteralArray) else x, aval)
        return self.constvar(x, aval)

    def constvar(self, x: Any, aval: ShapedArray) -> Var:
        """The constvar of an outside value: the same one if the same value comes again."""
        if id(x) not in self.consts:
            self.consts[id(x)] = Var(aval), x
        return self.consts[id(x)][0]

    def new_const(self, x: Any) -> JaxprTracer:
        """An outside value as a constvar, even if it could be a literal."""
        var = self.constvar(x, get_aval(x))
        return JaxprTracer(self, var.aval, var)

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        """Writes an equation, or what the primitive's staging rule says."""
        for prepare in prepare_operands:
            args = prepare(primitive, args, params)
        if primitive in staging_rules:
            out = staging_rules[primitive](self, args, params)
            if out is not NotImplemented:
                return out
        return self.add_eqn(primitive, args, params)

    def add_eqn(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        """Writes the equation, with the user's line, and gives a tracer of its result, or a list of
        them. Raises NotImplementedError if the primitive has no abstract_eval rule."""
        atoms, avals = [], []
        for x in args:
            atom = x.atom if type(x) is JaxprTracer and x._trace is self else self.atom(x)
            atoms.append(atom)
            avals.append(atom.aval)
        for check in check_values:
            check(primitive, avals)
        rule = abstract_eval_rules.get(primitive) or missing_rule(primitive, "abstract_eval")
        out = type_of_result(primitive, rule, avals, params)
        source = user_line()
        outvars = [Var(aval) for aval in out] if primitive.multiple_results else [Var(out)]
        self.eqns.append(JaxprEqn(primitive, atoms, outvars, params, source))
        if not primitive.multiple_results:
            return JaxprTracer(self, out, outvars[0], source)
        return [JaxprTracer(self, v.aval, v, source) for v in outvars]

    def finish(self, outs: Sequence[Any]) -> ClosedJaxpr:
        """The jaxpr that gives `outs`. The trace's tracers can't be used any more."""
        outvars = list(map(self.atom, outs))
        self.finished = True
        constvars, consts = zip(*self.consts.values()) if self.consts else ((), ())
        jaxpr = Jaxpr(constvars, self.invars, outvars, self.eqns)
        if config.jax_enable_checks:
            check_jaxpr(jaxpr)
        return ClosedJaxpr(jaxpr, consts)


# primitive -> (trace, args, params) -> results, or NotImplemented to write an equation as usual
staging_rules: dict[Primitive, Callable[..., Any]] = {}


def trace_to_jaxpr(flat_fun: Callable[..., Any], in_avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    """The jaxpr of a function of arrays that gives a flat list of arrays."""
    trace, source = JaxprTrace(getattr(flat_fun, "debug_info", None)), user_line()
    with set_current_trace(trace):
        outs = flat_fun(*[trace.new_arg(aval, source) for aval in in_avals])
        for position in range(len(outs)):
            check_output(outs[position], position)
        for check in check_values:
            check(ResultsOf(getattr(flat_fun, "fun", flat_fun)), outs)
        closed = trace.finish(outs)
    if config.jax_check_tracer_leaks:
        del outs
        check_leaks(trace)
    return closed


def check_leaks(trace: Trace) -> None:
    """Raises UnexpectedTracerError if a tracer of this trace, which has ended, is alive: it would fail
    where it is used, which may be far from where it was kept."""
    gc.collect()
    leaked = [x for x in gc.get_objects() if isinstance(x, Tracer) and x._trace is trace]
    if leaked:
        which = "".join(f"\n  {tracer}. {made_at(tracer)}" for tracer in leaked)
        raise UnexpectedTracerError(
            f"Leaked trace. Tracers that outlive the function that was traced:{which}\nA function that is "
            "transformed must return its results: don't store them in globals, attributes or outer lists"
        )


def check_output(x: Any, position: int) -> None:
    """Raises TypeError for a function result that is no array or scalar."""
    if not isinstance(x, Array):
        try:
            get_aval(x)
        except TypeError:
            info = getattr(context.trace, "debug_info", None)
            raise TypeError(
                f"{info.function if info else 'the function'} returned a value of type {type(x)} at output "
                f"component {position}, which is not a valid JAX type: {x!r}. Return arrays, scalars and "
                "pytrees of them"
            ) from None


# ---- the front doors ----


def make_jaxpr(
    fun: Callable,
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """A function of the arguments of `fun` that gives the ClosedJaxpr of `fun` at their avals.

    `axis_env` has names and sizes of the axes for collectives. With return_shape, it gives
    a pair of the jaxpr and the result's tree of ShapeDtypeStructs.
    Raises TypeError if `fun` can't be called."""
    check_callable(fun, "make_jaxpr")
    static = as_argnums(static_argnums, "static_argnums")

    @wraps(fun)
    def make_jaxpr_f(*args: Any, **kwargs: Any) -> Any:
        with extend_axis_env(tuple(axis_env or ())):
            closed_jaxpr = traced("make_jaxpr", fun, static, args, kwargs)
        return (closed_jaxpr, result_structs(closed_jaxpr)) if return_shape else closed_jaxpr

    return make_jaxpr_f


def traced(
    traced_for: str, fun: Callable, static: Sequence[int], args: tuple, kwargs: dict
) -> ClosedJaxpr:
    """The jaxpr of a function at the avals of its arguments."""
    fixed = wrap_argnums(static, len(args), "static_argnums")
    dynamic = [x for i, x in enumerate(args) if i not in fixed]

    @wraps(fun)
    def call(*dynamic: Any, **kwargs: Any) -> Any:
        it = iter(dynamic)
        return fun(*[x if i in fixed else next(it) for i, x in enumerate(args)], **kwargs)

    leaves, in_tree = tree_flatten((tuple(dynamic), kwargs))
    for check in check_values:
        check(f"{traced_for} of {fun_name(fun)}", leaves)
    info = DebugInfo(
        fun,
        fixed,
        in_tree,
        traced_for=f"jax.{traced_for}",
        static_option="static_argnums" if traced_for == "make_jaxpr" else "",
        types=tuple(map(type, leaves)),
    )
    flat_fun = FlatFun(call, in_tree, info)
    closed_jaxpr = trace_to_jaxpr(flat_fun, [get_aval(x) for x in leaves])
    closed_jaxpr.debug_info = info._replace(out_tree=flat_fun.out_tree)
    return closed_jaxpr


def result_structs(closed_jaxpr: ClosedJaxpr) -> Any:
    """The result's tree, of ShapeDtypeStructs."""
    assert closed_jaxpr.debug_info is not None
    structs = list(map(struct_of, closed_jaxpr.out_avals))
    return tree_unflatten(closed_jaxpr.debug_info.out_tree, structs)
