"""Signs of eigenvectors and singular vectors: whether the results of a program depend on them.

An eigenvector times -1 is one too, and so is a pair of singular vectors. LAPACK's signs follow from its
steps, so that only LAPACK has them. But v f(w) v^T and (u / s) vh multiply each vector by itself or by its
partner, which has the same sign. What an equation makes of signs follows from two facts: whether it is linear
in its operands, and where its lowering rule reads them.

Vectors of an eigenvalue that repeats, or of singular values that are 0, differ by more than signs: any basis
of theirs is one. What depends on the basis, as |v| does, may then differ from LAPACK's.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tinyjax.compile.kernel.example_axes import elements_read, variables
from tinyjax.compile.kernel.indices import Index, as_index, linear
from tinyjax.compile.kernel.rules import InOrder, OnHost, lowering_of
from tinyjax.compile.target import CPU
from tinyjax.core.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var

Vector = tuple[Index, ...]  # which of a stack's vectors, by the coordinates of an element
Signs = frozenset[Vector]  # the vectors by whose signs an element is multiplied
NO_SIGNS: Signs = frozenset()


def are_free(eqn: JaxprEqn, axes: Sequence[int | None], jaxpr: Jaxpr) -> bool:
    """Whether no result of the jaxpr changes if vectors that the equation computes change their signs. `axes`
    has the axis that numbers the vectors in each of its results, None for those without vectors."""
    signs: dict[Atom, Signs] = {}
    for v, axis in zip(eqn.outvars, axes):
        if axis is not None:
            coords = variables("axis", v.aval.shape)
            signs[v] = frozenset([(*coords[:-2], coords[axis])])
    zeros = _Zeros()
    for each in jaxpr.eqns:
        zeros.add(each)
        if not signs.keys().isdisjoint(each.invars):
            found = _signs_of_result(each, signs, zeros)
            if found is None:
                return False
            if found:
                signs[each.outvars[0]] = found
    return signs.keys().isdisjoint(jaxpr.outvars)


@dataclass
class _Zeros:
    """Values that are 0, that count along an axis, and that are 0 off the diagonal of two axes."""

    all: set[Atom] = field(default_factory=set)
    numbers: dict[Atom, int] = field(default_factory=dict)
    diagonals: dict[Atom, tuple[int, int]] = field(default_factory=dict)

    def is_zero(self, u: Atom) -> bool:
        return not u.val if isinstance(u, Literal) else u in self.all

    def add(self, eqn: JaxprEqn) -> None:
        """Adds what is known of the results."""
        if len(eqn.outvars) != 1:
            return
        name, operands, (out,) = eqn.primitive.name, eqn.invars, eqn.outvars
        if eqn.primitive.facts.linear == "all" and all(map(self.is_zero, operands)):
            self.all.add(out)
        # one number alone may be broadcast
        if name == "iota" and out.aval.shape[eqn.params["dimension"]] > 1:
            self.numbers[out] = eqn.params["dimension"]
        elif name == "add" and operands[0] in self.numbers and self.is_zero(operands[1]):
            self.numbers[out] = self.numbers[operands[0]]
        elif name == "eq" and all(u in self.numbers for u in operands):
            first, second = (self.numbers[u] for u in operands)
            if first != second:
                self.diagonals[out] = first, second
        elif name in ("convert_element_type", "mul", "select_n"):
            known = [self.diagonals[u] for u in operands if u in self.diagonals]
            # off the diagonal, a select has its first case
            if name != "select_n" or len(operands) == 3 and self.is_zero(operands[1]):
                self.diagonals.update((out, axes) for axes in known[:1])
        elif name == "broadcast_in_dim" and operands[0] in self.diagonals:
            places = eqn.params["broadcast_dimensions"]
            first, second = self.diagonals[operands[0]]
            self.diagonals[out] = places[first], places[second]


def _signs_of_result(eqn: JaxprEqn, signs: Mapping[Atom, Signs], zeros: _Zeros) -> Signs | None:
    """The signs of an element of the result, by its coordinates; None if signs change it in another way."""
    if len(eqn.outvars) != 1:
        return None
    name, is_linear, (out,) = eqn.primitive.name, eqn.primitive.facts.linear, eqn.outvars
    if name in ("abs", "square") or name == "integer_pow" and eqn.params["y"] % 2 == 0:
        return NO_SIGNS
    if out.aval.dtype.kind != "f" or isinstance(lowering_of(eqn, CPU), InOrder | OnHost):
        return None
    coords = variables("axis", out.aval.shape)
    reads = [
        (u, read)
        for u, read in elements_read(eqn, out, coords, CPU)
        if u.aval.dtype.kind == "f" and u not in zeros.all
    ]
    factors = [_signs_of_element(signs.get(u, NO_SIGNS), u, read) for u, read in reads]
    own = {name for at in coords for name in at.names}
    if is_linear == "each" or name == "div":
        if len(factors) != sum(isinstance(u, Var) for u in eqn.invars):
            return None
        found = functools.reduce(operator.xor, factors)
        for u, read in reads:
            # a term of a sum is 0 where its two places on a diagonal matrix differ
            first, second = (read[axis] for axis in zeros.diagonals.get(u, (0, 0)))
            summed, other = (second, first) if first.names <= own else (first, second)
            if summed.op == "var" and not summed.names <= own:
                found = _moved(found, lambda v: other if v == summed else v)  # noqa: B023
    elif is_linear is not None or name in ("integer_pow", "select_n"):
        numbers = [NO_SIGNS for u in eqn.invars if isinstance(u, Literal) and u.val]
        alike = {*factors, *numbers}
        if len(alike) != 1:
            return None
        found = alike.pop()
    else:
        return None
    return found if all(at.names <= own for vector in found for at in vector) else None


def _signs_of_element(signs: Signs, u: Var, read: Sequence[Index]) -> Signs:
    """The signs of the element of `u` at `read`."""
    places = dict(zip(variables("axis", u.aval.shape), read))
    return _moved(signs, places.__getitem__)


def _moved(signs: Signs, change: Callable[[Index], Index]) -> Signs:
    """The signs with other variables; those of one vector twice cancel."""

    def one_form(at: Index) -> Index:  # equal sums are equal indices
        return as_index(linear(at.with_variables(change)), {})

    moved = (frozenset([tuple(map(one_form, vector))]) for vector in signs)
    return functools.reduce(operator.xor, moved, NO_SIGNS)
