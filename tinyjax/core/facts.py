"""The facts of a primitive: what other folders derive their rules from, declared where it is defined.

A fact that is not declared is None, and rules that are derived from it assume nothing: the result is not
split over devices, and its lowering rule implies the cost. `tests/lax/test_facts.py` finds what is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Facts:
    """`axes`: which axes of the operands a result has ("elementwise", "reduction", "matrices 2 1";
    "unclear" if no word says it): a word from which rules follow, such as how the axes are split over
    devices. None stands for the primitive's name. `cost`: arithmetic operations for each element of the
    result, or (operations, special functions); or a function from an equation to all of its operations.
    If None, the lowering rule implies it.
    `makes_nan`: whether its arithmetic can give NaN.
    `linear`: "all" if it is linear in all operands together (add), "each" if it is linear in each operand
    while the others stay fixed (mul), else the numbers of the operands that it is linear in together.
    `is_step`: its derivative is zero. `keys`: what becomes of random keys in the first operand: they are
    "used", or the result has the "same" keys, a "part" of them, or "other" ones.
    `ignored_params`: parameters that it has in JAX and no compiled program reads. Only None is accepted,
    except for parameters that a feature reads, which say where a result is.
    `calls_python`: its impl rule calls a user's function, which must run as often as the program says.
    `is_identity`: in a compiled program, which runs on one device, its results are its operands."""

    axes: str | None = None
    cost: Any = None
    makes_nan: bool | None = None
    linear: str | tuple[int, ...] | None = None
    is_step: bool = False
    keys: str | None = None
    ignored_params: tuple[str, ...] = ()
    calls_python: bool = False
    is_identity: bool = False


# Facts of exp, sin, ...; of primitives that only move elements; the ignored parameter of many functions
FUNCTION: dict[str, Any] = {"cost": (0, 1), "makes_nan": True}
MOVES: dict[str, Any] = {"cost": 0, "makes_nan": False}
ACCURACY = ("accuracy",)

axes_words: dict[str, str] = {}  # the declared `axes`, by the primitive's name


def declare(primitive: Any, **facts: Any) -> None:
    """Adds to the facts of a primitive. Raises TypeError for a name that is no fact."""
    primitive.facts = replace(primitive.facts, **facts)
    if primitive.facts.axes:
        axes_words[primitive.name] = primitive.facts.axes
