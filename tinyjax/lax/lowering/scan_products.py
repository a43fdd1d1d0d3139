"""Loop distribution: products in a scan that don't need the carry, or that the carry doesn't need, leave it.

    gates = x @ w + h @ u       x @ w becomes one product of all x, before the loop
    y = h @ v                   becomes one product of all h, after the loop
    dw = dw + x.T @ d           becomes one product, after the loop, that sums over the iterations too

A step's product reads all of w for a few rows, and often runs on one core; the product of all steps is a large
one. What such a product is computed from leaves with it, and so do the equations that read its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tinyjax import lax
from tinyjax.compile.fusion.cost_record import bytes_of
from tinyjax.compile.passes.expand import expansions
from tinyjax.compile.passes.loops import Loop, is_control_flow, loop_of
from tinyjax.compile.passes.products import multiplications
from tinyjax.core.inlining import inline_calls
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
from tinyjax.lax.control_flow.scan import scan_p
from tinyjax.lax.dot_product import dot_general_p
from tinyjax.transform.batching import vmap

MIN_MULTIPLICATIONS = 2**12  # of an iteration: smaller products are fast where they are
MAX_BYTES = 2**26  # that leave the loop before it, or after it, in all iterations


def _distributed(eqn: JaxprEqn) -> Callable[..., list[Any]] | None:
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
    return not (is_control_flow(eqn) or has_effects(eqn) or "callback" in eqn.params)


class _Parts:
    """The body of a scan in parts: equations before it, those of each iteration, and those after it.

    `early` are the products before it. `late` are the equations after it, and `sums` has for each position of
    the carry the products that are added to it, with the equations that give them another shape."""

    def __init__(self, loop: Loop):
        self.loop = loop
        body = inline_calls(loop.body)
        self.constants = body.consts
        jaxpr = self.jaxpr = body.jaxpr
        _, consts, self.carry, self.xs = loop.parts(jaxpr.invars)
        self.outs, self.ys = split_list(jaxpr.outvars, len(self.carry))
        kept = [v for v, out in zip(self.carry, self.outs) if out is v]
        self.fixed = [*jaxpr.constvars, *consts, *kept]
        self.same, before = {*self.fixed}, {*self.fixed, *self.xs}
        for eqn in jaxpr.eqns:
            operands = {v for v in eqn.invars if isinstance(v, Var)}
            if _can_leave(eqn) and operands <= before:
                before.update(eqn.outvars)
                if operands <= self.same:
                    self.same.update(eqn.outvars)
        early = [e for e in jaxpr.eqns if self._is_wanted(e) and e.outvars[0] in before]
        self.early = early if self._fit(e.outvars[0] for e in early) else []
        self.eqns = [eqn for eqn in jaxpr.eqns if eqn not in self.early]
        self.rows = [*self.xs, *(eqn.outvars[0] for eqn in self.early)]
        self.sums = dict(self._sums())
        late = self._late()
        self.late = late if self._fit(v for e in late for v in [*e.invars, *e.outvars]) else []

    def _is_wanted(self, eqn: JaxprEqn) -> bool:
        """Whether a product has one operand that is the same in each iteration."""
        return _is_product(eqn) and len(self.same.intersection(eqn.invars)) == 1

    def _fit(self, atoms: Iterable[Atom]) -> bool:
        """Whether these values of all iterations are few bytes."""
        return (self.loop.length or 0) * sum(bytes_of(v.aval) for v in {*atoms}) <= MAX_BYTES

    # ---- sums over the iterations ----

    def _sums(self) -> Iterable[tuple[int, list[list[JaxprEqn]]]]:
        producer = {v: eqn for eqn in self.eqns for v in eqn.outvars}
        reads = [v for eqn in self.eqns for v in eqn.invars] + self.jaxpr.outvars
        for number, (v, out) in enumerate(zip(self.carry, self.outs)):
            terms = _terms(out, producer)
            if len(terms) == 1 or v not in terms or reads.count(v) > 1:
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
        last = producer[self.outs[number]]  # type: ignore[index]
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
        iteration = [eqn for eqn in self.eqns if eqn not in self.late]
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
        known = {*rows}
        eqns = [eqn for eqn in eqns if known.isdisjoint(eqn.outvars)]
        function = jaxpr_as_fun(_closed([*self.fixed, *rows], outs, eqns))
        return vmap(lambda fixed, row: function(*fixed, *row), (None, 0))


def _closed(invars: Sequence[Var], outs: Sequence[Atom], eqns: Sequence[JaxprEqn]) -> ClosedJaxpr:
    return without_dead_code(ClosedJaxpr(Jaxpr([], list(invars), list(outs), list(eqns)), ()))


def _terms(v: Atom, producer: dict[Any, JaxprEqn]) -> list[Atom]:
    """The terms of a sum, from left to right."""
    eqn = producer.get(v)
    if eqn is None or eqn.primitive.name not in ("add", "add_any"):
        return [v]
    if any(u.aval.shape != v.aval.shape for u in eqn.invars):
        return [v]
    return [term for u in eqn.invars for term in _terms(u, producer)]


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
