"""Jaxprs: a program as a list of equations, a checker and an evaluator for them.

It is the language that tracing writes, transformations rewrite and the compiler reads. (How it is printed is
the next file, pretty_printer, which gives these classes their repr.)

    { lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = mul b a in (c,) }
      constvars invars       eqns: outvars = primitive[params] invars   outvars
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any

from tinyjax.core.array import LiteralArray, ShapedArray
from tinyjax.core.avals import get_aval, to_numpy
from tinyjax.core.bind import Primitive, abstract_eval_rules, context, missing_rule, type_of_result
from tinyjax.core.config import config
from tinyjax.core.debug_info import DebugInfo
from tinyjax.core.dtypes import is_python_scalar
from tinyjax.core.lists import pick

# ---- the parts of a jaxpr ----


class SourceLine(tuple[str, int, str]):
    """A line of the user's program: file, number, function. `where` says more exactly which part of it."""

    where: tuple[CodeType, int] | None = None  # the code of the function, and the instruction in it


class Var:
    """A variable: bound once, by an argument or an equation. Compared by identity; named when printed."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval.str_short(short_dtypes=True)}"


class DropVar(Var):
    """An unused output; printed as _."""

    __slots__ = ()


class Literal:
    """A scalar constant in an equation, printed as 2.0:f32[]."""

    __slots__ = ("val", "aval")

    def __init__(self, val: Any, aval: ShapedArray):
        self.val = val
        self.aval = aval

    @property
    def key(self) -> tuple[str, ShapedArray]:
        """Equal for literals of equal value and type. 0.0 differs from -0.0, and 1 from 1.0 and True."""
        return repr(self.val.item() if hasattr(self.val, "item") else self.val), self.aval

    def __repr__(self) -> str:
        return f"Literal({self.val!r}):{self.aval.str_short(short_dtypes=True)}"


Atom = Var | Literal


class JaxprEqn:
    """`outvars = primitive[params] invars`; `source_info` is the user's line that made it."""

    __slots__ = ("primitive", "invars", "outvars", "params", "source_info")

    def __init__(
        self,
        primitive: Primitive,
        invars: Sequence[Atom],
        outvars: Sequence[Var],
        params: dict[str, Any],
        source_info: SourceLine | None = None,
    ):
        self.primitive = primitive
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.params = params
        self.source_info = source_info

    def replace(self, **changes: Any) -> JaxprEqn:
        """A copy with some parts changed."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return JaxprEqn(**(fields | changes))

    def reduced(
        self, used_inputs: Sequence[bool], used_outputs: Sequence[bool], params: dict[str, Any]
    ) -> JaxprEqn:
        """A copy with some of the operands and results, and other parameters."""
        invars, outvars = pick(self.invars, used_inputs), pick(self.outvars, used_outputs)
        return self.replace(invars=invars, outvars=outvars, params=params)


class Jaxpr:
    """A function of `constvars` and `invars` that runs `eqns` in order and gives `outvars`."""

    __slots__ = ("constvars", "invars", "outvars", "eqns")

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Atom],
        eqns: Sequence[JaxprEqn],
    ):
        self.constvars = list(constvars)
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.eqns = list(eqns)

    def replace(self, **changes: Any) -> Jaxpr:
        """A copy with some parts changed."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return Jaxpr(**(fields | changes))


def substitute(atoms: Sequence[Atom], replaced: Mapping[Var, Atom]) -> list[Atom]:
    """The atoms, with replaced variables substituted."""
    return [replaced.get(v, v) if isinstance(v, Var) else v for v in atoms]


class ClosedJaxpr:
    """A jaxpr with the values of its constvars; `cache` keeps what `cached_on_jaxpr` made of it, and
    `debug_info`, if there is any, names its inputs and outputs."""

    __slots__ = ("jaxpr", "consts", "cache", "debug_info")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()):
        if len(consts) != len(jaxpr.constvars):
            raise ValueError(f"{len(jaxpr.constvars)} constvars but {len(consts)} consts")
        self.jaxpr = jaxpr
        self.consts = list(consts)
        self.cache: dict[Any, Any] = {}
        self.debug_info: DebugInfo | None = None

    @property
    def literals(self) -> list[Any]:
        """The consts, by another name that JAX has for them."""
        return self.consts

    @property
    def in_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.jaxpr.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.jaxpr.outvars]

    @property
    def eqns(self) -> list[JaxprEqn]:
        return self.jaxpr.eqns

    def replace(
        self, jaxpr: Jaxpr | None = None, consts: Sequence[Any] | None = None
    ) -> ClosedJaxpr:
        """A copy with jaxpr or consts changed."""
        return ClosedJaxpr(jaxpr or self.jaxpr, self.consts if consts is None else consts)

    def __repr__(self) -> str:
        return repr(self.jaxpr)


def subjaxprs(params: dict[str, Any]) -> list[Jaxpr]:
    """The jaxprs among an equation's parameters, such as those of jit."""
    found: list[Jaxpr] = []
    for value in params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, ClosedJaxpr):
                found.append(item.jaxpr)
            elif isinstance(item, Jaxpr):
                found.append(item)
    return found


def all_jaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The jaxpr and those within its equations, however deep; each once."""
    found = {jaxpr}
    pending = [jaxpr]
    while pending:
        yield (outer := pending.pop())
        inside = [inner for eqn in outer.eqns if eqn.params for inner in subjaxprs(eqn.params)]
        pending += [inner for inner in dict.fromkeys(inside) if inner not in found]
        found.update(inside)


def has_effects(eqn: JaxprEqn) -> bool:
    """Whether the equation, or one of a jaxpr nested in it, has effects besides its results."""
    if eqn.primitive.has_effects or not eqn.params:
        return eqn.primitive.has_effects
    inside = [each for sub in subjaxprs(eqn.params) for each in all_jaxprs(sub)]
    return any(inner.primitive.has_effects for each in inside for inner in each.eqns)


# ---- evaluation ----


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list[Any]:
    """Runs a jaxpr on values, or on tracers: each equation is one `bind`, during which the user's line
    (`context.source_info`) is the equation's.

    Raises TypeError if the number of arguments is not that of the jaxpr's invars."""
    if len(args) != len(jaxpr.invars):
        raise TypeError(f"the jaxpr takes {len(jaxpr.invars)} arguments, got {len(args)}")
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts))
    env.update(zip(jaxpr.invars, args))

    source_before = context.source_info
    try:
        for eqn in jaxpr.eqns:
            context.source_info = eqn.source_info
            invals = [literal_value(v) if isinstance(v, Literal) else env[v] for v in eqn.invars]
            outs = eqn.primitive.bind(*invals, **eqn.params)
            env.update(zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs]))
    finally:
        context.source_info = source_before
    return [literal_value(v) if isinstance(v, Literal) else env[v] for v in jaxpr.outvars]


def literal_value(literal: Literal) -> Any:
    """The literal as a value whose aval is the literal's: a Python scalar stays one if that is its type,
    which depends on jax_enable_x64."""
    if is_python_scalar(literal.val) and get_aval(literal.val) is literal.aval:
        return literal.val
    return LiteralArray(to_numpy(literal.val, literal.aval), literal.aval, literal.val)


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr) -> Callable[..., list[Any]]:
    """The function that a closed jaxpr is: takes arrays, gives a list of arrays."""
    return lambda *args: eval_jaxpr(closed_jaxpr.jaxpr, closed_jaxpr.consts, *args)


# ---- checking ----


class JaxprTypeError(TypeError):
    """A jaxpr that is not well-formed."""


def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Checks that variables are bound once and before use, and that avals are what rules say.

    Raises JaxprTypeError, which names the variable and the equation: "is bound twice, the second time
    in" it, or "is used in" it "before it is bound"."""
    bound: set[Var] = set()

    def bind(variables: Sequence[Var], where: str) -> None:
        for v in variables:
            if v in bound:
                raise JaxprTypeError(f"variable {v} is bound twice, the second time in {where}")
            bound.add(v)

    def use(atoms: Sequence[Atom], where: str) -> None:
        for v in atoms:
            if isinstance(v, Var) and v not in bound:
                raise JaxprTypeError(f"variable {v} is used in {where} before it is bound")

    bind(jaxpr.constvars, "constvars")
    bind(jaxpr.invars, "invars")
    for eqn in jaxpr.eqns:
        use(eqn.invars, repr(eqn))
        _check_eqn(eqn)
        bind(eqn.outvars, repr(eqn))
    use(jaxpr.outvars, "outvars")


def _check_eqn(eqn: JaxprEqn) -> None:
    for sub in subjaxprs(eqn.params):
        check_jaxpr(sub)
    rule = abstract_eval_rules.get(eqn.primitive) or missing_rule(eqn.primitive, "abstract_eval")
    out = type_of_result(eqn.primitive, rule, [v.aval for v in eqn.invars], eqn.params)
    expected = out if eqn.primitive.multiple_results else [out]
    for v, aval in zip(eqn.outvars, expected, strict=True):
        if v.aval.strip_weak_type() != aval.strip_weak_type():
            raise JaxprTypeError(
                f"{eqn}: {eqn.primitive.name} gives {aval.str_short(short_dtypes=True)}, but the variable is "
                f"{v.aval.str_short(short_dtypes=True)}"
            )


# ---- caching results derived from a jaxpr ----


NOT_MADE = object()  # None may be a result


def cached_on_jaxpr(fun: Callable) -> Callable:
    """Remembers results on the first argument, a ClosedJaxpr, by the other arguments: a jitted
    function's derivative is made once, and so compiled once."""

    @functools.wraps(fun)
    def cached(closed_jaxpr: ClosedJaxpr, *args: Any) -> Any:
        key = (fun, args, config.key)
        made = closed_jaxpr.cache.get(key, NOT_MADE)
        if made is NOT_MADE:
            made = closed_jaxpr.cache[key] = fun(closed_jaxpr, *args)
        return made

    return cached


# A hook of features: (jaxpr, is_compiled) -> the jaxpr that is compiled; or if not is_compiled, evaluated or
# transposed, as the linear jaxpr of a function is.
prepare_jaxpr: list[Callable[[ClosedJaxpr, bool], ClosedJaxpr]] = []


@cached_on_jaxpr
def constvars_as_invars(closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The jaxpr with its constvars turned into its first arguments."""
    jaxpr = closed_jaxpr.jaxpr
    return ClosedJaxpr(jaxpr.replace(constvars=[], invars=jaxpr.constvars + jaxpr.invars))


# ---- dead code elimination ----

# primitive -> (eqn, which of its results are used) -> the eqn without the others; for those with
# jaxprs as parameters, in which code can be dead too
dce_rules: dict[Primitive, Callable[[JaxprEqn, list[bool]], JaxprEqn]] = {}


def dce_jaxpr(jaxpr: Jaxpr, used_outputs: Sequence[bool]) -> tuple[Jaxpr, list[bool], list[bool]]:
    """Keeps the equations that the used outputs need, and equations with effects.

    Returns the smaller jaxpr, with only the used outputs, and which of its constvars and invars are still
    used (all invars stay in the jaxpr; unused constvars go). dce_rules have the rules for equations with
    jaxprs in them."""
    outvars = pick(jaxpr.outvars, used_outputs)
    needed = set(outvars)
    eqns = []
    for eqn in reversed(jaxpr.eqns):
        if not needed.isdisjoint(eqn.outvars) or has_effects(eqn):
            if eqn.primitive in dce_rules:  # even if all results are used: nested code can be dead
                eqn = dce_rules[eqn.primitive](eqn, [v in needed for v in eqn.outvars])
            needed.update(eqn.invars)
            eqns.append(eqn)
    used_consts = [v in needed for v in jaxpr.constvars]
    constvars = pick(jaxpr.constvars, used_consts)
    used_invars = [v in needed for v in jaxpr.invars]
    return Jaxpr(constvars, jaxpr.invars, outvars, eqns[::-1]), used_consts, used_invars


def without_dead_code(closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The jaxpr without the equations and constants that its results do not need."""
    jaxpr, used_consts, _ = dce_jaxpr(closed_jaxpr.jaxpr, [True] * len(closed_jaxpr.jaxpr.outvars))
    return ClosedJaxpr(jaxpr, pick(closed_jaxpr.consts, used_consts))


@cached_on_jaxpr
def dce_closed_jaxpr(
    closed_jaxpr: ClosedJaxpr, used_outputs: tuple[bool, ...]
) -> tuple[ClosedJaxpr, list[bool]]:
    """dce_jaxpr, which also removes unused inputs; returns which ones are used."""
    jaxpr, used_consts, used_invars = dce_jaxpr(closed_jaxpr.jaxpr, used_outputs)
    invars, consts = pick(jaxpr.invars, used_invars), pick(closed_jaxpr.consts, used_consts)
    return ClosedJaxpr(jaxpr.replace(invars=invars), consts), used_invars


@cached_on_jaxpr
def dce_with_inputs(
    closed_jaxpr: ClosedJaxpr, used_outputs: tuple[bool, ...], kept_inputs: tuple[bool, ...]
) -> ClosedJaxpr:
    """The jaxpr with exactly these results and inputs, as other branches or a loop's carry have them.
    `kept_inputs` must include all that it uses."""
    jaxpr, used_consts, _ = dce_jaxpr(closed_jaxpr.jaxpr, used_outputs)
    jaxpr = jaxpr.replace(invars=pick(jaxpr.invars, kept_inputs))
    return ClosedJaxpr(jaxpr, pick(closed_jaxpr.consts, used_consts))
