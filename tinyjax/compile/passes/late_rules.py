"""Rewrite rules that may add terms in another order, and so round them otherwise.

They are applied once the rules that change no bit (rewrite_rules.py) change nothing more.
"""

from __future__ import annotations

from tinyjax.compile.passes.patterns import Producer, Simpler
from tinyjax.compile.passes.products import sides_of
from tinyjax.compile.passes.rewrite_rules import ANY, Rules, rewrite_rules, rule
from tinyjax.core.dtypes import is_inexact
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal

LATE_RULES: Rules = {}
AS_THEY_LIE = "the product reads elements where they lie"
UPDATED = "the sum is updated, instead of zeros"


@rule("dot_general x (transpose y)", "dot_general x y", ANY, AS_THEY_LIE, LATE_RULES)
@rule("dot_general (transpose x) y", "dot_general x y", ANY, AS_THEY_LIE, LATE_RULES)
def operand_as_it_lies(eqn: JaxprEqn, producer: Producer, before: JaxprEqn) -> Simpler:
    """The product of an untransposed operand, if its kept axes stay in order."""
    permutation = before.params["permutation"]
    for number, side in enumerate(sides_of(eqn)):
        kept = [permutation[axis] for axis in side.kept]
        if producer.get(eqn.invars[number]) is before and kept == sorted(kept):
            numbers = [list(pair) for pair in eqn.params["dimension_numbers"]]
            for pair in numbers:
                pair[number] = tuple(int(permutation[axis]) for axis in pair[number])
            invars = list(eqn.invars)
            invars[number] = before.invars[0]
            params = eqn.params | {"dimension_numbers": tuple(map(tuple, numbers))}
            return eqn.replace(invars=invars, params=params)
    return None


@rule("transpose (dot_general x y)", "dot_general y x", ANY, AS_THEY_LIE, LATE_RULES)
def transposed_product(eqn: JaxprEqn, producer: Producer, product: JaxprEqn) -> Simpler:
    """The product of transposed B and transposed A, for A B with rows and columns transposed."""
    left, right = sides_of(product)
    batch, rows = len(left.batch), len(left.kept)
    axes = range(len(eqn.params["permutation"]))
    swapped = [*axes[:batch], *axes[batch + rows :], *axes[batch : batch + rows]]
    if list(eqn.params["permutation"]) != swapped or producer.readers[eqn.invars[0]] > 1:
        return None
    numbers = tuple(tuple(reversed(pair)) for pair in product.params["dimension_numbers"])
    precision = product.params["precision"]
    params = product.params | {
        "dimension_numbers": numbers,
        "precision": precision[::-1] if isinstance(precision, tuple) else precision,
    }
    return product.replace(invars=product.invars[::-1], outvars=eqn.outvars, params=params)


@rule("add x (scatter-add z ...)", "scatter-add x ...", ANY, UPDATED, LATE_RULES)
@rule("add (scatter-add z ...) x", "scatter-add x ...", ANY, UPDATED, LATE_RULES)
@rule("add_any x (scatter-add z ...)", "scatter-add x ...", ANY, UPDATED, LATE_RULES)
@rule("add_any (scatter-add z ...) x", "scatter-add x ...", ANY, UPDATED, LATE_RULES)
def updated_sum(eqn: JaxprEqn, producer: Producer, update: JaxprEqn) -> Simpler:
    """An update of the other operand, for the update of zeros that only the sum reads.

    The gradient of an array that a program indexes several times is a sum of such updates, one for each
    place. Each is then rounded beside the array's element, as in XLA; 16-bit floats would lose small ones."""
    (out,), (zeros, *others) = update.outvars, update.invars
    made = producer.get(zeros)
    if made is None or made.primitive.name != "broadcast_in_dim" or producer.readers[out] > 1:
        return None
    (number,), dtype = made.invars, out.aval.dtype
    if not isinstance(number, Literal) or number.val or (is_inexact(dtype) and dtype.itemsize < 4):
        return None
    other = next((v for v in eqn.invars if v is not out and v.aval.shape == out.aval.shape), None)
    return other and update.replace(invars=[other, *others], outvars=eqn.outvars)


def late_rules(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Operands that are no longer read stay, as dead code."""
    return rewrite_rules(closed, LATE_RULES)
