"""Signs of eigenvectors and singular vectors: whether the results of a program depend on them.

An eigenvector times -1 is one too, and so is a pair of singular vectors. LAPACK's signs follow from its
steps, so that only LAPACK has them. But v f(w) v^T and (u / s) vh multiply each vector by itself or by its
partner, which has the same sign. What an equation makes of signs follows from two facts: whether it is linear
in its operands, and where its lowering rule reads them.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Container, Mapping, Sequence

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
    zeros: set[Atom] = set()
    for v, axis in zip(eqn.outvars, axes):
        if axis is not None:
            coords = variables("axis", v.aval.shape)
            signs[v] = frozenset([(*coords[:-2], coords[axis])])
    for each in jaxpr.eqns:
        if each.primitive.facts.linear == "all" and all(_is_zero(u, zeros) for u in each.invars):
            zeros.update(each.outvars)
        if not signs.keys().isdisjoint(each.invars):
            found = _signs_of_result(each, signs, zeros)
            if found is None:
                return False
            if found:
                signs[each.outvars[0]] = found
    return signs.keys().isdisjoint(jaxpr.outvars)


def _is_zero(u: Atom, zeros: Container[Atom]) -> bool:
    return not u.val if isinstance(u, Literal) else u in zeros


def _signs_of_result(
    eqn: JaxprEqn, signs: Mapping[Atom, Signs], zeros: Container[Atom]
) -> Signs | None:
    """The signs of an element of the result, by its coordinates; None if signs change it in another way."""
    name, is_linear, (out, *others) = eqn.primitive.name, eqn.primitive.facts.linear, eqn.outvars
    if name in ("abs", "square") or name == "integer_pow" and eqn.params["y"] % 2 == 0:
        return NO_SIGNS
    if others or out.aval.dtype.kind != "f" or isinstance(lowering_of(eqn, CPU), InOrder | OnHost):
        return None
    coords = variables("axis", out.aval.shape)
    factors = [
        _signs_of_element(signs.get(u, NO_SIGNS), u, read)
        for u, read in elements_read(eqn, out, coords, CPU)
        if u.aval.dtype.kind == "f" and u not in zeros
    ]
    if is_linear == "each" or name == "div":
        is_once = len(factors) == sum(isinstance(u, Var) for u in eqn.invars)
        found = functools.reduce(operator.xor, factors) if is_once else None
    elif is_linear is not None or name in ("integer_pow", "select_n"):
        numbers = [NO_SIGNS for u in eqn.invars if isinstance(u, Literal) and u.val]
        alike = {*factors, *numbers}
        found = alike.pop() if len(alike) == 1 else None
    else:
        return None
    own = {name for at in coords for name in at.names}
    is_own = found is not None and all(at.names <= own for vector in found for at in vector)
    return found if is_own else None


def _signs_of_element(signs: Signs, u: Var, read: Sequence[Index]) -> Signs:
    """The signs of the element of `u` at `read`."""
    places = dict(zip(variables("axis", u.aval.shape), read))

    def moved(at: Index) -> Index:
        return as_index(linear(at.with_variables(places.__getitem__)), {})  # one form of equal sums

    return frozenset(tuple(map(moved, vector)) for vector in signs)
