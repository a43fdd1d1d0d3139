"""Rewrite rules, as tables: a pattern, its replacement, and why no bit of any result differs.

A rule must give the very bits that the equations give, for every value, but for the bits of a NaN. So x + 0.0
stays, as -0.0 + 0.0 is 0.0, and so does x - x, which is NaN for an infinity. Rules look at an equation and at
those that made its operands.

Source: IEEE 754-2019; https://docs.oracle.com/cd/E19957-01/806-3568/ncg_goldberg.html
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tinyjax.compile.passes.patterns import (
    Producer,
    Rule,
    Simpler,
    constant,
    parse,
    same_type,
    walk,
)
from tinyjax.compile.record import event
from tinyjax.core import primitives
from tinyjax.core.dtypes import kind
from tinyjax.core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Literal

# ---- arithmetic ----

# Letters are values, and numbers are constants (of this sign, if they are 0). The third column has the
# kinds of dtypes that the rule is for: b bool, i and u integers, f floats.
ARITHMETIC = """
    neg (neg x)      | x       | iuf  | the sign is turned around twice
    not (not x)      | x       | biu  | each bit is turned around twice
    add x 0          | x       | iu   | of floats, -0.0 + 0.0 is 0.0
    add 0 x          | x       | iu   | of floats, 0.0 + -0.0 is 0.0
    add x -0.0       | x       | f    | 0.0 + -0.0 is 0.0, and -0.0 + -0.0 is -0.0
    add -0.0 x       | x       | f    | -0.0 + 0.0 is 0.0, and -0.0 + -0.0 is -0.0
    sub x 0          | x       | iuf  | -0.0 - 0.0 is -0.0; it would not be with -0.0
    sub x x          | 0       | iu   | of floats, inf - inf is NaN
    mul x 1          | x       | iuf  | exact, and nothing is rounded
    mul 1 x          | x       | iuf  | exact, and nothing is rounded
    mul x -1         | neg x   | if   | exact, with the other sign
    mul -1 x         | neg x   | if   | exact, with the other sign
    mul x 0          | 0       | iu   | of floats, NaN * 0.0 is NaN, and -1.0 * 0.0 is -0.0
    mul 0 x          | 0       | iu   | of floats, 0.0 * NaN is NaN, and 0.0 * -1.0 is -0.0
    div x 1          | x       | iuf  | exact, and nothing is rounded
    max x x          | x       | biuf | the larger one is either
    min x x          | x       | biuf | the smaller one is either
    max x -inf       | x       | f    | nothing is less than -inf, and of NaN it is NaN
    max -inf x       | x       | f    | nothing is less than -inf, and of NaN it is NaN
    min x inf        | x       | f    | nothing is more than inf, and of NaN it is NaN
    min inf x        | x       | f    | nothing is more than inf, and of NaN it is NaN
    and x x          | x       | biu  | each bit is as it was
    or x x           | x       | biu  | each bit is as it was
    and x 0          | 0       | biu  | no bit is set in both
    or x 0           | x       | biu  | no bit is added
    xor x x          | 0       | biu  | no bit differs
    xor x 0          | x       | biu  | no bit is turned around
    integer_pow[1] x | x       | iuf  | one factor
    integer_pow[2] x | mul x x | iuf  | the one multiplication that it is
    select_n c x x   | x       | biuf | whichever is chosen
    select_n 0 x y   | x       | biuf | False chooses the first
    select_n 1 x y   | y       | biuf | True chooses the second
    copy x           | x       | biuf | no value ever changes
    stop_gradient x  | x       | biuf | it stops derivatives, not values
"""

# Elements that stay as they are, or only move; c are complex numbers, and V random keys
MOVES = """
    convert_element_type x | x         | biufcV | it has the dtype
    reshape x              | x         | biufcV | it has the shape
    slice x                | x         | biufcV | it is all of it
    broadcast_in_dim x     | x         | biufcV | nothing is repeated
    reduce_sum[axes=()] x  | x         | biufcV | along no axis there is nothing to combine
    reduce_prod[axes=()] x | x         | biuf   | the same; (inf + 0j) * 1 has a NaN
    reduce_max[axes=()] x  | x         | biufcV | along no axis there is nothing to combine
    reduce_min[axes=()] x  | x         | biufcV | along no axis there is nothing to combine
    reshape (reshape x)    | reshape x | biufcV | elements stay in the order that they have in memory
"""

Rules = dict[str, list[Rule]]  # by the primitive's name; the first rule that applies is used
RULES: Rules = {}


def add_rule(made: Rule, rules: Rules = RULES) -> None:
    rules.setdefault(made.primitive, []).append(made)


for _line in [*ARITHMETIC.strip().splitlines(), *MOVES.strip().splitlines()]:
    add_rule(parse(_line))

# ---- rules with a function, for conditions that no pattern can express ----

# f(eqn, producer, *equations in the pattern's parentheses) -> the replacement
Apply = Callable[..., Simpler]
ANY = "biufcV"
SAME_PLACES = "each element comes to the same places"


def rule(
    pattern: str, instead: str, kinds: str, why: str, rules: Rules = RULES
) -> Callable[[Apply], Apply]:
    """The decorated function becomes a rule: the columns are those of the tables above."""

    def add(apply: Apply) -> Apply:
        line = " | ".join([pattern, instead, kinds, why])
        add_rule(parse(line, lambda eqn, match: apply(eqn, match.producer, *match.eqns)), rules)
        return apply

    return add


@rule("div x 2**n", "mul x 2**-n", "f", "2**-n is exact, so that both are rounded once")
def divide_by_power_of_two(eqn: JaxprEqn, producer: Producer) -> Simpler:
    """x / 8 = x * 0.125: both are the same number, rounded once. For floats of 32 and 64 bits.

    The divisor is a power of two, of either sign, whose exponent is from -100 to 100 (in np.frexp's
    terms), so that its inverse is exact. If it is an array of one number, the factor is the number alone: a
    literal without axes."""
    (x, y), (out,) = eqn.invars, eqn.outvars
    value = constant(y, producer)
    if out.aval.dtype.name not in ("float32", "float64") or value is None or not value:
        return None
    if not same_type(x, out):  # a number, divided by an array
        return None
    inverse = 1 / float(value)
    mantissa, exponent = np.frexp(float(value))
    if abs(mantissa) != 0.5 or abs(exponent) > 100:
        return None
    number = Literal(out.aval.dtype.type(inverse), y.aval.update(shape=()))
    return eqn.replace(primitive=primitives.mul_p, invars=[x, number], params={})


@rule("concatenate x ...", "x", ANY, "nothing is added to it")
def joined_with_nothing(eqn: JaxprEqn, producer: Producer) -> Simpler:
    """The one operand that has elements, or a join of all that have some."""
    parts = [x for x in eqn.invars if x.aval.shape[eqn.params["dimension"]]]
    if len(parts) == 1:
        return parts[0]
    return eqn.replace(invars=parts) if 1 < len(parts) < len(eqn.invars) else None


@rule("squeeze (slice (stack x ...))", "x", ANY, "it is that operand")
def part_of_stack(eqn: JaxprEqn, producer: Producer, cut: JaxprEqn, stack: JaxprEqn) -> Simpler:
    """The operand of a stack, if the slice selects it and the axis is removed."""
    chosen = stack.invars[cut.params["start_indices"][stack.params["axis"]]]
    is_one = tuple(eqn.params["dimensions"]) == (stack.params["axis"],)
    return chosen if is_one and same_type(chosen, eqn.outvars[0]) else None


@rule("transpose x", "x", ANY, "no axis moves")
def transpose_in_order(eqn: JaxprEqn, producer: Producer) -> Simpler:
    """The operand, if all axes stay where they are."""
    permutation = tuple(eqn.params["permutation"])
    return eqn.invars[0] if permutation == tuple(range(len(permutation))) else None


@rule("transpose (transpose x)", "transpose x", ANY, SAME_PLACES)
def transpose_once(eqn: JaxprEqn, producer: Producer, before: JaxprEqn) -> Simpler:
    both = tuple(before.params["permutation"][axis] for axis in eqn.params["permutation"])
    return eqn.replace(invars=before.invars, params={"permutation": both})


@rule("broadcast_in_dim (broadcast_in_dim x)", "broadcast_in_dim x", ANY, SAME_PLACES)
def broadcast_once(eqn: JaxprEqn, producer: Producer, before: JaxprEqn) -> Simpler:
    dimensions = eqn.params["broadcast_dimensions"]
    both = tuple(dimensions[d] for d in before.params["broadcast_dimensions"])
    return eqn.replace(invars=before.invars, params=eqn.params | {"broadcast_dimensions": both})


# ---- all of it ----


def rewrite_rules(closed: ClosedJaxpr, rules: Rules = RULES) -> ClosedJaxpr:
    """Each equation is rewritten as long as a rule applies."""

    def change(eqn: JaxprEqn, producer: Producer) -> list[Atom | JaxprEqn] | None:
        if eqn.primitive.name not in rules:
            return None
        simpler = rewrite(eqn, producer, rules)
        return None if simpler is eqn else [simpler]

    return walk(closed, change)


def rewrite(eqn: JaxprEqn, producer: Producer, rules: Rules = RULES) -> Atom | JaxprEqn:
    """The equation simplified by the rules, or the atom that replaces its result."""
    for rule in rules.get(eqn.primitive.name, ()):
        fits = kind(eqn.outvars[0].aval.dtype) in rule.kinds
        if fits and (simpler := rule.apply(eqn, producer)) is not None:
            event(eqn, ("becomes", simpler), f"{rule}: {rule.why}", eqn)
            return rewrite(simpler, producer, rules) if isinstance(simpler, JaxprEqn) else simpler
    return eqn
