"""Find arrows that would cross half of a large picture; a name at each end replaces them.

A hundred arrows across a hundred rows each hide all others, and take minutes to lay out.
"""

from tinyjax.core.jaxpr import Jaxpr, JaxprEqn, Var, subjaxprs

_LARGE = 100  # from this many equations on, arrows are kept short
_LONG = 12  # rows

# An equation, and an operand of it.
Use = tuple[JaxprEqn, Var]


def long_edges(jaxpr: Jaxpr) -> set[Use]:
    """The operands from far above in a large program; none in a small one."""
    uses: list[tuple[JaxprEqn, Var, int]] = []
    rows: dict[Var, int] = {}
    _place(jaxpr, 0, rows, uses)
    if len({eqn for eqn, _, _ in uses}) <= _LARGE:
        return set()
    for _, v, row in uses:  # an input is drawn directly above its first use
        rows.setdefault(v, row - 1)
    return {(eqn, v) for eqn, v, row in uses if row - rows[v] > _LONG}


def _place(
    jaxpr: Jaxpr, above: int, rows: dict[Var, int], uses: list[tuple[JaxprEqn, Var, int]]
) -> int:
    """Put each equation in a row below its operands; return the last row."""
    last = above
    for eqn in jaxpr.eqns:
        operands = [v for v in eqn.invars if isinstance(v, Var)]
        row = 1 + max([rows.get(v, above) for v in operands], default=above)
        uses += [(eqn, v, row) for v in operands]
        end = max([_place(inner, row, rows, uses) for inner in subjaxprs(eqn.params)], default=row)
        rows |= {v: end for v in eqn.outvars}
        last = max(last, end)
    return last
