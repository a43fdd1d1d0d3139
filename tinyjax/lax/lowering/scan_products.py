"""Loop distribution: products in a scan that don't need the carry, or that the carry doesn't need, leave it.

    gates = x @ w + h @ u       x @ w becomes one product of all x, before the loop
    y = h @ v                   becomes one product of all h, after the loop
    dw = dw + x.T @ d           becomes one product, after the loop, that sums over the iterations too

A step's product reads all of w for a few rows, and often runs on one core; the product of all steps is a
large one. What it is computed from leaves the loop with it, or the equations that read its result.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tinyjax import lax
from tinyjax.compile.passes.expand import CALL, expansions
from tinyjax.compile.passes.inline import inline
from tinyjax.compile.passes.loops import Loop, is_control_flow, loop_of
from tinyjax.compile.passes.patterns import Producer, walk
from tinyjax.compile.passes.products import multiplications
from tinyjax.core.array import ShapedArray
from tinyjax.core.jaxpr import (
    Atom,
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Var,
    all_jaxprs,
    eval_jaxpr,
    has_effects,
    jaxpr_as_fun,
    without_dead_code,
)
from tinyjax.core.lists import split_list
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.lax.control_flow.scan import scan_p
from tinyjax.lax.dot_product import dot_general_p
from tinyjax.lax.joining import concatenate_p
from tinyjax.transform.batching import batch_rules, vmap

MIN_MULTIPLICATIONS = 2**12  # of an iteration: smaller products are fast where they are
MAX_BYTES = 2**26  # that leave the loop before it, or after it, in all iterations


def _distributed(eqn: JaxprEqn, _: Jaxpr) -> Callable[..., list[Any]] | None:
    """The scan with its products before and after it; None if none leaves it."""
    loop = loop_of(eqn)
    if loop is None or not 1 < (loop.length or 0):
        return None
    if not any(_is_product(e) for jaxpr in all_jaxprs(loop.body.jaxpr) for e in jaxpr.eqns):
        return None
    parts = _Parts(loop)
    return parts.run if parts.early or parts.late or parts.sums else None


def _is_product(eqn: JaxprEqn) -> bool:
    return eqn.primitive is dot_general_p and multiplications(eqn) >= MIN_MULTIPLICATIONS


def _can_leave(eqn: JaxprEqn) -> bool:
    """Whether an equation can be one of all iterations. A callback runs once in each."""
    is_mapped = eqn.primitive in batch_rules and not eqn.primitive.facts.calls_python
    return is_mapped and not (is_control_flow(eqn) or has_effects(eqn))


class _Parts:
    """The body of a scan in parts: equations before it, those of each iteration, and those after it.

    `early` are the products before it. `late` are the equations after it, and `sums` has for each position of
    the carry the products that are added to it, with the equations that give them another shape."""

    def __init__(self, loop: Loop):
        self.loop = loop
        body = inline(loop.body)
        xs = loop.parts(body.jaxpr.invars)[-1]
        body = _with_split_products(body, _made_of(body.jaxpr, [*_fixed(loop, body), *xs]))
        self.constants, jaxpr = body.consts, body.jaxpr
        self.jaxpr = jaxpr
        _, _, self.carry, self.xs = loop.parts(jaxpr.invars)
        self.outs, self.ys = split_list(jaxpr.outvars, len(self.carry))
        self.fixed = _fixed(loop, body)
        self.same = _made_of(jaxpr, self.fixed)
        before = _made_of(jaxpr, [*self.fixed, *self.xs])
        early = [e for e in jaxpr.eqns if self._is_wanted(e) and e.outvars[0] in before]
        made = self._closed(jaxpr.eqns, self.xs, [e.outvars[0] for e in early]).jaxpr.eqns
        self.early = early if self._fit(v for e in made for v in e.outvars) else []
        self.eqns = _without(jaxpr.eqns, self.early)
        self.rows = [*self.xs, *(eqn.outvars[0] for eqn in self.early)]
        self.sums = dict(self._sums())
        late = self._late()
        self.late = late if self._fit(v for e in late for v in [*e.invars, *e.outvars]) else []

    def _is_wanted(self, eqn: JaxprEqn) -> bool:
        """Whether a product has one operand that is the same in each iteration."""
        return _is_product(eqn) and len(self.same.intersection(eqn.invars)) == 1

    def _fit(self, atoms: Iterable[Atom]) -> bool:
        """Whether these values of all iterations are few bytes."""
        nbytes = sum(v.aval.size * v.aval.dtype.itemsize for v in {*atoms} - self.same)
        return (self.loop.length or 0) * nbytes <= MAX_BYTES

    # ---- sums over the iterations ----

    def _sums(self) -> Iterable[tuple[int, list[list[JaxprEqn]]]]:
        producer = {v: eqn for eqn in self.eqns for v in eqn.outvars}
        reads = Counter([v for eqn in self.eqns for v in eqn.invars] + self.jaxpr.outvars)
        for number, (v, out) in enumerate(zip(self.carry, self.outs)):
            terms = _terms(out, producer, reads)
            if len(terms) == 1 or v not in terms or reads[v] > 1:
                continue
            found = [chain for term in terms if (chain := self._product_chain(term, producer))]
            if found and self._fit(v for chain in found for v in chain[0].invars):
                left = [term for term in terms if not self._product_chain(term, producer)]
                self._replace_sum(number, left)
                yield number, found

    def _product_chain(self, v: Atom, producer: dict[Any, JaxprEqn]) -> list[JaxprEqn]:
        """A product of two operands that change, and the transpositions and reshapes from it to v."""
        chain: list[JaxprEqn] = []
        while (eqn := producer.get(v)) and eqn.primitive.name in ("transpose", "reshape"):
            chain.insert(0, eqn)
            v = eqn.invars[0]
        is_sum = eqn is not None and _is_product(eqn) and self.same.isdisjoint(eqn.invars)
        return [eqn, *chain] if is_sum and eqn else []

    def _replace_sum(self, number: int, terms: Sequence[Atom]) -> None:
        """Makes the carry at this position the sum of these terms."""
        producer = {v: eqn for eqn in self.eqns for v in eqn.outvars}
        last = producer[self.outs[number]]
        total = terms[0]
        for term in terms[1:]:
            made = last.replace(invars=[total, term], outvars=[Var(last.outvars[0].aval)])
            self.eqns.append(made)
            total = made.outvars[0]
        self.outs[number] = total

    # ---- after the loop ----

    def _late(self) -> list[JaxprEqn]:
        """The products that the carry doesn't need, and what reads them."""
        needed = {v for v in self.outs if isinstance(v, Var)}
        for eqn in reversed(self.eqns):
            if not _can_leave(eqn) or not needed.isdisjoint(eqn.outvars):
                needed.update(v for v in eqn.invars if isinstance(v, Var))
        made: set[Atom] = set()
        late = []
        for eqn in self.eqns:
            if not needed.isdisjoint(eqn.outvars) or not _can_leave(eqn):
                continue
            if self._is_wanted(eqn) or not made.isdisjoint(eqn.invars):
                late.append(eqn)
                made.update(eqn.outvars)
        products = [chain[0] for chains in self.sums.values() for chain in chains]
        read = {*self.ys, *(v for product in products for v in product.invars)}
        for eqn in reversed(late):
            if not read.isdisjoint(eqn.outvars):
                read.update(eqn.invars)
        return [eqn for eqn in late if not read.isdisjoint(eqn.outvars)]

    # ---- the program ----

    def run(self, *operands: Any) -> list[Any]:
        """What the scan computes."""
        loop = self.loop
        _, consts, carry, xs = loop.parts(operands)
        values = dict(zip(self.jaxpr.constvars, self.constants))
        values |= dict(zip(self.jaxpr.invars, operands))
        fixed = [values[v] for v in self.fixed]
        outs = [eqn.outvars[0] for eqn in self.early]
        rows = [*xs, *self._mapped(self.jaxpr.eqns, self.xs, outs)(fixed, xs)]
        late = {v for eqn in self.late for v in eqn.outvars}
        stays = [v for v in self.ys if v not in late]
        summed = [v for chains in self.sums.values() for chain in chains for v in chain[0].invars]
        read = [*(v for eqn in self.late for v in eqn.invars), *summed]
        known = {*self.same, *self.rows, *late}
        between = list(dict.fromkeys(v for v in read if isinstance(v, Var) and v not in known))
        invars = [*self.jaxpr.constvars, *self.jaxpr.invars, *self.rows[len(xs) :]]
        iteration = _without(self.eqns, self.late)
        body = _closed(invars, [*self.outs, *stays, *between], iteration)
        params = loop.eqn.params | {"jaxpr": body, "num_consts": len(consts) + len(self.constants)}
        results = scan_p.bind(*self.constants, *consts, *carry, *rows, **params)
        last, made, stacks = split_list(results, len(carry), len(stays))
        stacked = dict(zip([*self.rows, *between], [*rows, *stacks])) | dict(zip(stays, made))
        outs = [v for v in dict.fromkeys([*self.ys, *summed]) if v in late]
        seen = [*self.rows, *between]
        after = self._mapped(self.eqns, seen, outs)(fixed, [stacked[v] for v in seen])
        stacked |= dict(zip(outs, after))
        for number, chains in self.sums.items():
            if self.outs[number] is self.carry[number]:
                last[number] = carry[number]
            for product, *shapes in chains:
                term = _summed(product, shapes, *(stacked[v] for v in product.invars))
                last[number] = lax.add(last[number], term)
        return [*last, *(stacked[v] for v in self.ys)]

    def _mapped(
        self, eqns: Sequence[JaxprEqn], rows: Sequence[Var], outs: Sequence[Var]
    ) -> Callable[[list[Any], list[Any]], list[Any]]:
        """The function of the fixed operands and of stacks of `rows` that computes stacks of `outs`."""
        if not outs:
            return lambda fixed, stacks: []
        function = jaxpr_as_fun(self._closed(eqns, rows, outs))
        return vmap(lambda fixed, row: function(*fixed, *row), (None, 0))

    def _closed(
        self, eqns: Sequence[JaxprEqn], rows: Sequence[Var], outs: Sequence[Var]
    ) -> ClosedJaxpr:
        """The jaxpr of the fixed operands and of `rows` that computes `outs`."""
        known = {*rows}
        eqns = [eqn for eqn in eqns if _can_leave(eqn) and known.isdisjoint(eqn.outvars)]
        return _closed([*self.fixed, *rows], outs, eqns)


def _fixed(loop: Loop, body: ClosedJaxpr) -> list[Var]:
    """The variables of the body that are the same in each iteration: constants, and a carry that stays."""
    _, consts, carry, _ = loop.parts(body.jaxpr.invars)
    kept = [v for v, out in zip(carry, body.jaxpr.outvars) if out is v]
    return [*body.jaxpr.constvars, *consts, *kept]


def _made_of(jaxpr: Jaxpr, variables: Iterable[Var]) -> set[Var]:
    """These variables, and the results of equations that read no others."""
    known = {*variables}
    for eqn in jaxpr.eqns:
        if _can_leave(eqn) and known.issuperset(v for v in eqn.invars if isinstance(v, Var)):
            known.update(eqn.outvars)
    return known


def _without(eqns: Iterable[JaxprEqn], others: Iterable[JaxprEqn]) -> list[JaxprEqn]:
    left_out = {*others}
    return [eqn for eqn in eqns if eqn not in left_out]


def _with_split_products(body: ClosedJaxpr, before: set[Var]) -> ClosedJaxpr:
    """Splits a product of rows that are joined from known ones and others into a sum of products. If the
    joined rows are made anyway, as a result, that is worth it only where half of each is known."""

    def change(eqn: JaxprEqn, producer: Producer) -> list[JaxprEqn] | None:
        joined = producer.get(eqn.invars[0]) if _is_product(eqn) else None
        if joined is None or joined.primitive is not concatenate_p:
            return None
        (axes, (axis, *_)), (batch, _) = eqn.params["dimension_numbers"]
        if axes != (joined.params["dimension"],) or batch or before.issuperset(joined.invars):
            return None
        if before.isdisjoint(joined.invars) or eqn.invars[1] not in before:
            return None
        sizes = [v.aval.shape[axes[0]] for v in joined.invars]
        stops = list(itertools.accumulate(sizes))
        known = sum(size for size, v in zip(sizes, joined.invars) if v in before)
        if eqn.invars[0] in body.jaxpr.outvars and 2 * known < stops[-1]:
            return None

        def product(matrix: Any, *parts: Any) -> list[Any]:
            rows = [
                lax.slice_in_dim(matrix, stop - size, stop, axis=axis)
                for size, stop in zip(sizes, stops)
            ]
            return [functools.reduce(lax.add, map(partial_product, parts, rows))]

        def partial_product(part: Any, rows: Any) -> Any:
            return dot_general_p.bind(part, rows, **eqn.params)

        operands = [eqn.invars[1], *joined.invars]
        avals = [ShapedArray(v.aval.shape, v.aval.dtype) for v in operands]
        params = {"call_jaxpr": trace_to_jaxpr(product, avals)}
        return [eqn.replace(primitive=CALL, invars=operands, params=params)]

    return inline(walk(body, change))


def _closed(invars: Sequence[Var], outs: Sequence[Atom], eqns: Sequence[JaxprEqn]) -> ClosedJaxpr:
    return without_dead_code(ClosedJaxpr(Jaxpr([], list(invars), list(outs), list(eqns)), ()))


def _terms(v: Atom, producer: dict[Any, JaxprEqn], reads: Counter) -> list[Atom]:
    """The terms of a sum that is read once, from left to right."""
    eqn = producer.get(v)
    if eqn is None or eqn.primitive.name not in ("add", "add_any") or reads[v] > 1:
        return [v]
    if any(u.aval.shape != v.aval.shape for u in eqn.invars):
        return [v]
    return [term for u in eqn.invars for term in _terms(u, producer, reads)]


def _summed(product: JaxprEqn, shapes: Sequence[JaxprEqn], left: Any, right: Any) -> Any:
    """The sum of the products of all rows of two stacks, in the shape of each."""
    summed, batch = (
        [tuple(axis + 1 for axis in axes) for axes in pair]
        for pair in product.params["dimension_numbers"]
    )
    numbers = tuple((0, *axes) for axes in summed), tuple(batch)
    total = dot_general_p.bind(left, right, **product.params | {"dimension_numbers": numbers})
    (out,) = shapes[-1].outvars if shapes else product.outvars
    return eval_jaxpr(Jaxpr([], list(product.outvars), [out], list(shapes)), (), total)[0]


expansions[scan_p] = _distributed
