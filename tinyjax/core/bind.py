"""`bind` and traces: what every operation goes through.

`bind` hands the primitive to the *current trace*, and each transformation is a trace. With no transformation
active the current trace is `EvalTrace`, which runs NumPy: eager mode, the reference that all compiled code is
compared with.

Source: https://docs.jax.dev/en/latest/autodidax.html, and JAX's design note 26844 ("stackless").
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from tinyjax.core.array import Array, ArrayImpl, LiteralArray, ShapedArray
from tinyjax.core.avals import get_aval, to_numpy
from tinyjax.core.errors import (
    ConcretizationTypeError,
    Origin,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    ambiguous_truth_error,
    escaped_tracer_error,
    made_at,
    missing_rule_error,
)
from tinyjax.core.facts import Facts, declare
from tinyjax.core.quiet import run_quietly

AxisEnv = tuple[tuple[Hashable, int], ...]  # names and sizes of axes, the innermost last

# ---- primitives ----


class Primitive:
    """A named operation that transformations have rules for.

    `multiple_results`: bind gives a list. `impl_binds_primitives`: the impl rule gets and gives Arrays, as it
    binds primitives itself (jit, cond, scan); all other impl rules get and give NumPy arrays.
    `has_effects`: it does something besides giving results (debug_print): never dropped or merged.
    `takes_functions`: its parameters are Python functions (custom_jvp_call), and so it may depend on
    tracers that are not among its operands. `facts` are those of core/facts.py."""

    takes_functions = False
    facts = Facts()

    def __init__(
        self,
        name: str,
        multiple_results: bool = False,
        impl_binds_primitives: bool = False,
        has_effects: bool = False,
        **facts: Any,
    ):
        self.name = name
        self.multiple_results = multiple_results
        self.impl_binds_primitives = impl_binds_primitives
        self.has_effects = has_effects
        declare(self, **facts)

    def bind(self, *args: Any, **params: Any) -> Any:
        """Applies the primitive to arrays, scalars or tracers, in the current trace."""
        return context.trace.process_primitive(self, args, params)

    # How JAX's documentation registers rules for a custom primitive.
    def def_impl(self, rule: Callable) -> Callable:
        impl_rules[self] = rule
        return rule

    def def_abstract_eval(self, rule: Callable) -> Callable:
        abstract_eval_rules[self] = rule
        return rule

    def def_effectful_abstract_eval(self, rule: Callable) -> Callable:
        """For a rule that returns (avals, effects). The effects are ignored; declare them by has_effects."""
        abstract_eval_rules[self] = lambda *avals, **params: rule(*avals, **params)[0]
        return rule

    def get_bind_params(self, params: dict[str, Any]) -> tuple[list, dict[str, Any]]:
        """For interpreters of jaxprs that call bind(*subfuns, *args, **params). Here subfuns is empty."""
        return [], params

    def __repr__(self) -> str:
        return self.name


class HigherOrderPrimitive(Primitive):
    """A primitive with jaxprs as parameters: a jit, a loop, a branch."""

    def bind(self, *args: Any, **params: Any) -> Any:
        for bind in bind_bodies:
            return bind(self, args, params)
        return context.trace.process_primitive(self, args, params)


# Hooks of a feature with values that are no arrays, such as boxes whose contents change. Its module appends.
# Binds a HigherOrderPrimitive, or runs a Compiled program: (primitive or program, args, params) -> results
bind_bodies: list[Callable[[Any, Sequence[Any], dict[str, Any]], list[Any]]] = []
# Called as (taker, values), raises for values that can't be there. The taker is a primitive, of which an
# equation is written, with the avals of its operands; a transformation, by its name, with its arguments; or
# ResultsOf a function.
check_values: list[Callable[[Any, Sequence[Any]], None]] = []


class ResultsOf(NamedTuple):
    """The function whose results `check_values` gets, or its name (a str) if only that is known."""

    fun: Callable | str


# primitive -> (*numpy_arrays, **params) -> numpy array (a list if multiple_results)
impl_rules: dict[Primitive, Callable[..., Any]] = {}
# primitive -> (*avals, **params) -> ShapedArray (a list if multiple_results); checks the operands
abstract_eval_rules: dict[Primitive, Callable[..., Any]] = {}
# (primitive, table name) -> why there is no such rule: written down beside the primitive.
no_rule_reasons: dict[tuple[Primitive, str], str] = {}


def missing_rule(primitive: Primitive, table: str) -> NoReturn:
    """Raises a NotImplementedError that says why there is no rule, or how to write it."""
    raise missing_rule_error(primitive.name, table, no_rule_reasons.get((primitive, table)))


# (primitive, operands, params) -> operands: what features do to the operands of an equation before it is
# written, and before jax.numpy converts them to one dtype (then the primitive is convert_element_type).
prepare_operands: list[Callable[[Primitive, Sequence[Any], dict], Sequence[Any]]] = []


def type_of_result(
    primitive: Primitive, rule: Callable, avals: Sequence[ShapedArray], params: dict[str, Any]
) -> Any:
    """The result type of the abstract_eval rule, which ignores the `extra` of avals; the extra adds its
    part."""
    for aval in avals:
        if aval.extra is not None:
            return aval.extra.result_types(primitive, rule, avals, params)
    return rule(*avals, **params)


# ---- traces and tracers ----


class Trace:
    """A transformation at work: decides what a primitive does to its tracers.

    `parent` is the trace that was current when this one began. The transformation's rules bind there.
    Traces that compute or write equations themselves have none."""

    parent: Trace

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        raise NotImplementedError


class Tracer(Array):
    """Stands for an array while a function is traced; belongs to the trace that made it."""

    __slots__ = ("_trace",)
    _trace: Trace

    @property
    def line(self) -> str | None:
        """Where the user's program made this tracer, for messages; None if that is not kept."""
        return None

    def concrete(self) -> Any:
        """The value behind this tracer if it is known while tracing, else None."""
        return None

    def origin(self) -> Origin:
        """Why Python cannot have the value of this tracer, for messages."""
        return Origin("traced", made_at(self))

    def _concrete_or(self, error: type[Exception]) -> Any:
        value = self.concrete()
        if value is None:
            raise error(self)
        return value

    def __bool__(self) -> bool:
        if self.aval.size != 1:
            raise ambiguous_truth_error(self.aval)
        return bool(self._concrete_or(TracerBoolConversionError))

    def __index__(self) -> int:
        return operator.index(self._concrete_or(TracerIntegerConversionError))

    def __int__(self) -> int:
        if self.concrete() is None:
            raise ConcretizationTypeError(self, "in int()", "x.astype(int) converts it.")
        return int(self.concrete())

    def __float__(self) -> float:
        # Raises even if the value is known, as JAX does.
        raise ConcretizationTypeError(
            self,
            "in float(), which functions of `math` call, too",
            "x.astype(float) converts it. Use jnp.sin(x) for math.sin(x).",
        )

    def __complex__(self) -> complex:
        raise ConcretizationTypeError(self, "in complex()", "x.astype(complex) converts it.")

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise TracerArrayConversionError(self)

    def __hash__(self) -> int:
        raise TypeError(
            f"unhashable type: {type(self).__name__}. A tracer has no value to hash: a dict key or a "
            "static argument must be known while tracing"
        )

    def __format__(self, spec: str) -> str:
        if spec:
            raise TypeError(
                f"unsupported format string passed to {type(self).__name__}.__format__: a tracer has no "
                f'value to format. jax.debug.print("{{x:{spec}}}", x=x) prints while the function runs'
            )
        return str(self)

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of unsized object: the array has no dimensions")
        return self.aval.shape[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.aval})"


class set_current_trace:  # noqa: N801  (used as a function)
    """`with set_current_trace(trace):` binds within the block go to `trace`."""

    __slots__ = ("trace", "before")

    def __init__(self, trace: Trace):
        self.trace = trace

    def __enter__(self) -> None:
        self.before = context.trace
        context.trace = self.trace

    def __exit__(self, *exc: object) -> None:
        context.trace = self.before


# ---- values as arrays ----


def as_array(x: Any) -> Any:
    """`x` as an Array or tracer: Python scalars weakly typed, NumPy values copied.

    Raises TypeError for anything else (lists: jnp.array converts them)."""
    if isinstance(x, Array):
        return x
    if hasattr(x, "__jax_array__"):
        return as_array(x.__jax_array__())
    aval = get_aval(x)
    return new_array(to_numpy(x, aval), aval)


def new_array(host: np.ndarray, aval: ShapedArray) -> ArrayImpl:
    """An array of known elements. A scalar that is made while tracing becomes a literal."""
    if not aval.shape and is_staging():
        return LiteralArray(host, aval)
    return watched(None, {}, (), [ArrayImpl(host, aval)])[0]


# ---- eager evaluation ----


def aval_of_value(x: Any) -> ShapedArray:
    """get_aval of a value. Raises UnexpectedTracerError for a tracer, whose trace has ended."""
    if isinstance(x, Tracer):
        raise escaped_tracer_error(x)
    return get_aval(x)


class EvalTrace(Trace):
    """No transformation: checks the operands by their avals, then runs the impl rule."""

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        """The result as an Array, or a list of them. The abstract_eval rule checks the operands and gives the
        avals; then the impl rule computes the elements, from NumPy arrays. With `impl_binds_primitives`,
        the impl rule gets the operands unconverted, its own binds go to this trace, and its result is
        returned unconverted. So is the result of a primitive without an abstract_eval rule.

        Raises NotImplementedError where there is no impl rule, UnexpectedTracerError for a tracer."""
        if primitive.impl_binds_primitives:
            for x in args:
                if not isinstance(x, ArrayImpl):
                    aval_of_value(x)  # raises if an operand is no array
            with set_current_trace(self):
                return impl_rules[primitive](*args, **params)
        avals, values = [], []
        for x in args:
            if isinstance(x, ArrayImpl):
                avals.append(x.aval)
                values.append(x._value)
            else:
                avals.append(aval_of_value(x))
                values.append(to_numpy(x, avals[-1]))
        impl = impl_rules.get(primitive) or missing_rule(primitive, "impl")
        abstract_eval = abstract_eval_rules.get(primitive)
        if abstract_eval is None:  # no rule yet: gives impl's result, as in JAX
            return run_quietly(impl, *values, **params)
        out_aval = type_of_result(primitive, abstract_eval, avals, params)
        out = run_quietly(impl, *values, **params)
        if primitive.multiple_results:
            results = [ArrayImpl(np.asarray(v), aval) for v, aval in zip(out, out_aval)]
        else:
            results = [ArrayImpl(np.asarray(out), out_aval)]
        for watcher in watchers:
            watcher(primitive, params, args, results)
        return results if primitive.multiple_results else results[0]


# Called as (primitive, params, operands, results) after each evaluation, to check for NaNs or to place the
# results. The primitive is None for an array made of a NumPy value.
Watcher = Callable[[Primitive | None, dict[str, Any], Sequence[Any], Sequence[ArrayImpl]], None]
watchers: list[Watcher] = []


def watch(watcher: Watcher) -> None:
    """Adds `watcher` to the watchers, unless it is one already."""
    if watcher not in watchers:
        watchers.append(watcher)


def watched(
    primitive: Primitive | None, params: dict, operands: Sequence[Any], results: list[ArrayImpl]
) -> list[ArrayImpl]:
    """The results, after all watchers have seen them."""
    for watcher in watchers:
        watcher(primitive, params, operands, results)
    return results


class _Context(threading.local):
    """The thread-local state of `bind`: the current trace, the named axes around it, and while a jaxpr
    runs, the user's source line of the current equation."""

    trace: Trace = EvalTrace()
    axis_env: AxisEnv = ()
    source_info: Any = None


context = _Context()


class restore_source_info:  # noqa: N801  (used as a function)
    """`with restore_source_info():` after the block, `context.source_info` is what it was before.

    `eval_jaxpr` and `backward_pass`, which run most often, have it written out: that saves two calls."""

    __slots__ = ("before",)

    def __enter__(self) -> None:
        self.before = context.source_info

    def __exit__(self, *exc: object) -> None:
        context.source_info = self.before


def is_staging() -> bool:
    """Whether operations are being written into a jaxpr, rather than run."""
    trace = context.trace
    while hasattr(trace, "parent"):
        trace = trace.parent
    return not isinstance(trace, EvalTrace)


# ---- named axes ----


class extend_axis_env:  # noqa: N801  (used as a function)
    """`with extend_axis_env((("i", 3),)):` within the block, "i" is the name of an axis of size 3."""

    __slots__ = ("axes", "before")

    def __init__(self, axes: AxisEnv):
        self.axes = axes

    def __enter__(self) -> None:
        self.before = context.axis_env
        context.axis_env = (*self.before, *self.axes)

    def __exit__(self, *exc: object) -> None:
        context.axis_env = self.before


def axis_size(name: Hashable) -> int:
    """The size of a named axis: of the innermost one, where several have the name.

    Raises NameError, which lists the names that are bound."""
    for known, size in reversed(context.axis_env):
        if known == name:
            return size
    bound = ", ".join(f"{known!r} (size {size})" for known, size in context.axis_env)
    raise NameError(
        f"unbound axis name: {name}. Collectives need a map around them that names the axis, such as "
        f"jax.vmap(f, axis_name={name!r}); the names bound here are: {bound or 'none'}"
    )


def in_order(names: Collection[Hashable]) -> tuple[Hashable, ...]:
    """Names of axes in the order in which they were bound."""
    return tuple([axis[0] for axis in context.axis_env if axis[0] in names])
