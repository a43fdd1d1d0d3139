"""Lesson 6: a program that reads programs.

    count_multiplications(jax.make_jaxpr(f)(x).jaxpr)

Before you run something large, ask what it will cost: no array needs to be there.
"""

from __future__ import annotations

import math

from tinyjax.core.jaxpr import Jaxpr, subjaxprs


def count_multiplications(jaxpr: Jaxpr) -> int:
    """How many multiplications of two numbers the program does, in its `mul` and `dot_general`.

    A `mul` does one for each element of its result. A `dot_general` does for each element of its result
    as many as the axes have elements, all together, that it sums over: its parameter `dimension_numbers`
    is ((these axes of the left operand, of the right), (batch axes of the left, of the right)). An
    equation with jaxprs inside does what they do: `subjaxprs(eqn.params)` gives them. But a `scan` does
    it `eqn.params["length"]` times; a `cond` runs one of its branches, of which the most expensive one
    counts; and of a `while` nobody knows how often it runs: it raises a ValueError."""
    total = 0
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        size = sum(math.prod(v.aval.shape) for v in eqn.outvars)
        inside = [count_multiplications(inner) for inner in subjaxprs(eqn.params)]
        if name == "mul":
            total += size
        elif name == "dot_general":
            (summed, _), _ = eqn.params["dimension_numbers"]
            total += size * math.prod(eqn.invars[0].aval.shape[axis] for axis in summed)
        elif name == "scan":
            total += eqn.params["length"] * sum(inside)
        elif name == "cond":
            total += max(inside)
        elif name == "while":
            raise ValueError("how often a while loop runs is not known before it runs")
        else:
            total += sum(inside)
    return total
