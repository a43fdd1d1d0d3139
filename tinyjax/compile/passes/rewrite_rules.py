"""The rules by which equations become simpler, as tables: what is computed, and what it is instead.

After this file you can add a rule, and say why one is missing: a rule must give the very bits that the
equations give, for every value. So x + 0.0 stays, as -0.0 + 0.0 is 0.0, and so does x - x, which is NaN
for an infinity. Rules look at an equation and at those that made its operands; `rewrite` applies
them. Builds on jaxpr and primitives.

Source: IEEE 754-2019; https://docs.oracle.com/cd/E19957-01/806-3568/ncg_goldberg.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyjax.core import primitives
from tinyjax.core.bind import Primitive
from tinyjax.core.dtypes import kind
from tinyjax.core.jaxpr import Atom, JaxprEqn, Literal, Var

Producer = Mapping[Var, JaxprEqn]  # which equation makes a variable
Simpler = Atom | JaxprEqn | None  # an atom in place of the result, another equation, or no change

# ---- arithmetic ----

# Letters are values, numbers are constants (of this sign, if they are 0), and the last column has the
# kinds of dtypes that the rule is for: b bool, i and u integers, f floats.
ARITHMETIC = """
    neg (neg x)                      = x            iuf
    not (not x)                      = x            biu
    add x 0                          = x            iu
    add 0 x                          = x            iu
    add x -0.0                       = x            f       # not 0.0: -0.0 + 0.0 is 0.0
    add -0.0 x                       = x            f
    sub x 0                          = x            iuf     # not -0.0
    sub x x                          = 0            iu      # an infinite x has NaN
    mul x 1                          = x            iuf
    mul 1 x                          = x            iuf
    mul x -1                         = neg x        iuf
    mul -1 x                         = neg x        iuf
    mul x 0                          = 0            iu      # NaN, and the sign of 0
    mul 0 x                          = 0            iu
    div x 1                          = x            iuf
    max x x                          = x            biuf
    min x x                          = x            biuf
    max x -inf                       = x            f
    max -inf x                       = x            f
    min x inf                        = x            f
    min inf x                        = x            f
    and x x                          = x            biu
    or x x                           = x            biu
    and x 0                          = 0            biu
    or x 0                           = x            biu
    xor x x                          = 0            biu
    xor x 0                          = x            biu
    integer_pow[1] x                 = x            iuf
    integer_pow[2] x                 = mul x x      iuf
    select_n c x x                   = x            biuf
    select_n 0 x y                   = x            biuf
    select_n 1 x y                   = y            biuf
    copy x                           = x            biuf
    stop_gradient x                  = x            biuf
"""

RESULTS: dict[str, Primitive] = {"neg": primitives.neg_p, "mul": primitives.mul_p}

Pattern = str | float | tuple[Any, ...]  # x, 1.0, or (primitive, *patterns)


@dataclass(frozen=True)
class Rule:
    """A line of the table above."""

    text: str
    primitive: str
    power: int | None  # of integer_pow
    operands: tuple[Pattern, ...]
    result: Pattern
    kinds: str


def parse(line: str) -> Rule:
    """A rule from its line."""
    line = line.split("#")[0].strip()
    left, right = line.split("=")
    *right_side, kinds = right.split()
    name, *operands = _pattern(left)
    name, power = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", name).groups()  # type: ignore[union-attr]
    result = _pattern(" ".join(right_side))
    simple = result[0] if len(result) == 1 else tuple(result)
    return Rule(line, name, None if power is None else int(power), tuple(operands), simple, kinds)


def _pattern(text: str) -> list[Any]:
    """Words, numbers as floats, and a tuple for what is in parentheses."""
    found: list[list[Any]] = [[]]
    for token in re.findall(r"[()]|[^\s()]+", text):
        if token == "(":
            found.append([])
        elif token == ")":
            inner = found.pop()
            found[-1].append(tuple(inner))
        else:
            is_number = re.fullmatch(r"-?(\d.*|inf)", token)
            found[-1].append(float(token) if is_number else token)
    return found[0]


RULES: dict[str, list[Rule]] = {}
for _line in ARITHMETIC.strip().splitlines():
    _rule = parse(_line)
    RULES.setdefault(_rule.primitive, []).append(_rule)


def arithmetic(eqn: JaxprEqn, producer: Producer) -> Simpler:
    """What the first rule of the table that fits makes of the equation."""
    for rule in RULES.get(eqn.primitive.name, ()):
        (out,), bound = eqn.outvars, dict[str, Atom]()
        if kind(out.aval.dtype) not in rule.kinds or eqn.params.get("y") != rule.power:
            continue
        if len(rule.operands) != len(eqn.invars):  # a select_n of three cases, say
            continue
        if not all(_fits(p, v, bound, producer) for p, v in zip(rule.operands, eqn.invars)):
            continue
        if isinstance(rule.result, tuple):
            name, *letters = rule.result
            operands = [bound[letter] for letter in letters]
            if any(_same_type(v, out) for v in operands):  # not numbers alone, for an array
                return eqn.replace(primitive=RESULTS[name], invars=operands, params={})
            continue
        if isinstance(rule.result, float):
            return full(eqn, rule.result)
        if _same_type(bound[rule.result], out):
            return bound[rule.result]
    return None


def _fits(pattern: Pattern, atom: Atom, bound: dict[str, Atom], producer: Producer) -> bool:
    """Whether the atom is what the pattern says; `bound` gets what the letters stand for."""
    if isinstance(pattern, str):
        return same(bound.setdefault(pattern, atom), atom)
    if isinstance(pattern, float):
        value = constant(atom, producer)
        return value is not None and _is_number(value, pattern)
    eqn = producer.get(atom) if isinstance(atom, Var) else None
    if eqn is None or eqn.primitive.name != pattern[0] or len(eqn.invars) != len(pattern) - 1:
        return False
    return all(_fits(p, v, bound, producer) for p, v in zip(pattern[1:], eqn.invars))


def same(a: Atom, b: Atom) -> bool:
    """Whether two atoms have the same value for certain."""
    if isinstance(a, Var) or isinstance(b, Var):
        return a is b
    return a.meaning == b.meaning


def constant(atom: Atom, producer: Producer) -> Any:
    """The number that an atom is, or that a broadcast repeats; None for others."""
    while isinstance(atom, Var):
        eqn = producer.get(atom)
        if eqn is None or eqn.primitive is not primitives.broadcast_in_dim_p:
            return None
        (atom,) = eqn.invars
    return atom.val if kind(atom.aval.dtype) in "biuf" else None


def _is_number(value: Any, wanted: float) -> bool:
    return bool(value == wanted) and bool(np.signbit(value) == np.signbit(wanted))


def _same_type(atom: Atom, out: Var) -> bool:
    return (atom.aval.shape, atom.aval.dtype) == (out.aval.shape, out.aval.dtype)


def full(eqn: JaxprEqn, value: float) -> Simpler:
    """A number in place of the equation's result."""
    (out,) = eqn.outvars
    number = Literal(out.aval.dtype.type(value), out.aval.update(shape=()))
    params = {"shape": out.aval.shape, "broadcast_dimensions": ()}
    if not out.aval.shape:
        return number
    return eqn.replace(primitive=primitives.broadcast_in_dim_p, invars=[number], params=params)


def divide_by_power_of_two(eqn: JaxprEqn, producer: Producer) -> Simpler:
    """x / 8 = x * 0.125: both are the same number, rounded once. Of floats of 32 and 64 bits.

    The divisor is a power of two, of either sign, whose exponent is at most 100 (in np.frexp's terms),
    so that its inverse is exact."""
    (x, y), (out,) = eqn.invars, eqn.outvars
    value = constant(y, producer)
    if out.aval.dtype.name not in ("float32", "float64") or value is None or not value:
        return None
    if not _same_type(x, out):  # a number, divided by an array
        return None
    inverse = 1 / float(value)
    mantissa, exponent = np.frexp(float(value))
    if abs(mantissa) != 0.5 or abs(exponent) > 100:
        return None
    number = Literal(out.aval.dtype.type(inverse), y.aval.update(shape=()))
    return eqn.replace(primitive=primitives.mul_p, invars=[x, number], params={})


# ---- conversions, and elements that move ----


def convert(eqn: JaxprEqn, producer: Producer) -> Simpler:
    """To the same dtype, or by way of one that holds all values: convert (convert x) = convert x.

    Not from integers by way of floats to other integers: a float that is too large becomes the largest
    integer, where an integer loses its upper bits."""
    (x,), (out,) = eqn.invars, eqn.outvars
    if _same_type(x, out):
        return x
    before = _made_by(x, eqn.primitive, producer)
    if before is None or not _holds_all(x.aval.dtype, before.invars[0].aval.dtype):
        return None
    (first,) = before.invars
    if _same_type(first, out):
        return first
    kinds = [kind(v.aval.dtype) in "iu" for v in (first, x, out)]
    return None if kinds == [True, False, True] else eqn.replace(invars=[first])


def _holds_all(wide: np.dtype, narrow: np.dtype) -> bool:
    """Whether each value of `narrow` is one of `wide`. Complex numbers and keys are left alone."""
    if kind(wide) not in "biuf" or kind(narrow) not in "biuf":
        return False
    if kind(wide) == "f" and narrow.itemsize == 8 and kind(narrow) in "iu":
        return False  # float64 has 53 bits, though NumPy calls it safe
    return np.can_cast(narrow, wide, "safe")


def transpose(eqn: JaxprEqn, producer: Producer) -> Simpler:
    """transpose (transpose x) is one transpose, or none."""
    (x,), permutation = eqn.invars, tuple(eqn.params["permutation"])
    if permutation == tuple(range(len(permutation))):
        return x
    before = _made_by(x, eqn.primitive, producer)
    if before is None:
        return None
    both = tuple(before.params["permutation"][axis] for axis in permutation)
    if both == tuple(range(len(both))):
        return before.invars[0]
    return eqn.replace(invars=before.invars, params={"permutation": both})


def reshape(eqn: JaxprEqn, producer: Producer) -> Simpler:
    """reshape (reshape x) = reshape x."""
    (x,), (out,) = eqn.invars, eqn.outvars
    if x.aval.shape == out.aval.shape:
        return x
    before = _made_by(x, eqn.primitive, producer)
    if before is None:
        return repeated(eqn, producer)
    (first,) = before.invars
    return first if first.aval.shape == out.aval.shape else eqn.replace(invars=[first])


def broadcast(eqn: JaxprEqn, producer: Producer) -> Simpler:
    """broadcast (broadcast x) = broadcast x."""
    (x,), (out,) = eqn.invars, eqn.outvars
    dimensions = tuple(eqn.params["broadcast_dimensions"])
    if x.aval.shape == out.aval.shape and dimensions == tuple(range(out.aval.ndim)):
        return x
    before = _made_by(x, eqn.primitive, producer)
    if before is None:
        return None
    both = tuple(dimensions[d] for d in before.params["broadcast_dimensions"])
    return eqn.replace(invars=before.invars, params=eqn.params | {"broadcast_dimensions": both})


def repeated(eqn: JaxprEqn, producer: Producer) -> Simpler:
    """Moving about the elements of one repeated number gives it, repeated."""
    (out,) = eqn.outvars
    before = _made_by(eqn.invars[0], primitives.broadcast_in_dim_p, producer)
    if before is None or before.invars[0].aval.shape:
        return None
    return before.replace(
        outvars=eqn.outvars,
        params=before.params | {"shape": out.aval.shape},
        source_info=eqn.source_info,
    )


def no_axes(eqn: JaxprEqn, producer: Producer) -> Simpler:
    """Along no axis there is nothing to combine."""
    (x,), (out,) = eqn.invars, eqn.outvars
    return x if not eqn.params["axes"] and _same_type(x, out) else None


def _made_by(atom: Atom, primitive: Primitive, producer: Producer) -> JaxprEqn | None:
    eqn = producer.get(atom) if isinstance(atom, Var) else None
    return eqn if eqn is not None and eqn.primitive is primitive else None


# ---- all of it ----

# by the primitive's name; those of the table are tried first
STRUCTURAL: dict[str, Callable[[JaxprEqn, Producer], Simpler]] = {
    "div": divide_by_power_of_two,
    "convert_element_type": convert,
    "transpose": transpose,
    "reshape": reshape,
    "broadcast_in_dim": broadcast,
    "squeeze": repeated,
    "rev": repeated,
    "slice": repeated,
    "reduce_sum": no_axes,
    "reduce_prod": no_axes,
    "reduce_max": no_axes,
    "reduce_min": no_axes,
}


def rewrite(eqn: JaxprEqn, producer: Producer) -> Atom | JaxprEqn:
    """The equation as simple as the rules make it, or the atom that its result is."""
    while True:
        simpler = arithmetic(eqn, producer)
        if simpler is None and eqn.primitive.name in STRUCTURAL:
            simpler = STRUCTURAL[eqn.primitive.name](eqn, producer)
        if simpler is None:
            return eqn
        if not isinstance(simpler, JaxprEqn):
            return simpler
        eqn = simpler
