"""A jaxpr as a list of NumPy calls: eager evaluation that looks nothing up.

After this file you can say what eager evaluation costs beside NumPy: for each operation `bind` asks
for the current trace, the avals and the rules, and makes an Array. In a jaxpr that is run many times
all that is settled: a `NumpyProgram` calls the same impl rules in the same order, with NumPy arrays in
numbered places. It gives what eval_jaxpr gives, bit for bit. A fast path: builds on jaxpr and simplify.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.core import impl_rules, missing_rule, run_quietly, to_numpy
from tinyjax.jaxpr import ClosedJaxpr, JaxprEqn, Literal
from tinyjax.opencl.simplify import inline_calls

# An impl rule with its parameters, the places of its operands, whether it gives several results, and
# the places of what nothing needs after it.
Instruction = tuple[Callable[..., Any], list[int], bool, list[int]]


class NumpyProgram:
    """The equations of a jaxpr as calls of impl rules.

    In memory stand the constants, then the arguments, then the results as they are made.
    Raises NotImplementedError for a jaxpr that is more than NumPy calls: one with loops, or effects."""

    def __init__(self, closed: ClosedJaxpr):
        flat = inline_calls(closed)
        jaxpr = flat.jaxpr
        self.constants = [to_numpy(x, v.aval) for v, x in zip(jaxpr.constvars, flat.consts)]
        atoms = [v for eqn in jaxpr.eqns for v in eqn.invars] + jaxpr.outvars
        literals = {id(v): v for v in atoms if isinstance(v, Literal)}
        self.constants += [to_numpy(v.val, v.aval) for v in literals.values()]

        bound = [*jaxpr.invars, *[v for eqn in jaxpr.eqns for v in eqn.outvars]]
        names: list[int] = [id(v) for v in (*jaxpr.constvars, *literals.values(), *bound)]
        self.place_of = {name: place for place, name in enumerate(names)}
        self.results = [self.place_of[id(v)] for v in jaxpr.outvars]
        needed = {*self.results, *range(len(self.constants))}
        self.instructions = [self._instruction(eqn, needed) for eqn in reversed(jaxpr.eqns)][::-1]

    def _instruction(self, eqn: JaxprEqn, needed: set[int]) -> Instruction:
        primitive = eqn.primitive
        if primitive.takes_arrays or primitive.has_effects:
            raise NotImplementedError(f"'{primitive}' is more than a NumPy call")
        impl = impl_rules.get(primitive) or missing_rule(primitive, "impl")
        call = functools.partial(impl, **eqn.params) if eqn.params else impl
        places = [self.place_of[id(v)] for v in eqn.invars]
        last_used = [place for place in places if place not in needed]
        needed.update(places)
        return call, places, primitive.multiple_results, last_used

    def __call__(self, args: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results for these arguments, which have the avals of the jaxpr's invars."""
        return run_quietly(self.run, args)

    def run(self, args: Sequence[np.ndarray]) -> list[np.ndarray]:
        memory: list[Any] = [*self.constants, *args]
        fetch = memory.__getitem__
        for call, places, multiple_results, last_used in self.instructions:
            out = call(*map(fetch, places))
            if multiple_results:
                memory += [np.asarray(x) for x in out]
            else:
                memory.append(out if type(out) is np.ndarray else np.asarray(out))
            for place in last_used:
                memory[place] = None
        return list(map(fetch, self.results))


# The C library gives freed memory back to the system as soon as there is some, and then every larger
# array costs page faults, often more than what is computed in it. glibc learns how much to keep, twice
# the largest block that was ever freed; one of more than 32 MB teaches it nothing. So we free one of that
# size, which is never touched: an eager gradient on 50,000 to 1,000,000 elements then takes a third of
# the time. Other C libraries learn nothing from it, and lose nothing.
np.empty(2**25 - 2**16, np.uint8)
