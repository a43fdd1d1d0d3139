"""`AvalExtra`: what a feature must define to add something to the types of arrays (`ShapedArray.extra`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

ShapedArray = Any  # as core/array.py imports this file for type checkers


class AvalExtra(Protocol):
    """A feature's addition to an array's shape, dtype and weak type (`ShapedArray.extra`)."""

    def without_axis(self, axis: int) -> AvalExtra | None:
        """The extra of a slice along an axis."""

    def with_axis(self, axis: int) -> AvalExtra | None:
        """The extra of a stack along a new axis."""

    def of_any_shape(self) -> AvalExtra | None:
        """The part of it that does not depend on the shape."""

    def text(self, shape: tuple[int, ...]) -> str:
        """The shape as printed types show it: [2,3], with the extra's own text."""

    def here(self) -> AvalExtra | None:
        """The part of it that is meaningful under the named axes bound here."""

    def result_types(
        self, primitive: Any, rule: Any, avals: Sequence[ShapedArray], params: dict[str, Any]
    ) -> Any:
        """The result types of the abstract_eval rule for these operands, with their extras added."""

    def difference(self, a: ShapedArray, b: ShapedArray) -> str:
        """The part of the extra in which two types differ, for messages."""

    def advice(self, pairs: Sequence[tuple[ShapedArray, ShapedArray]], what: str) -> str:
        """How to give `what` the type of the other one of a pair, for messages."""

    def check_scanned(self, avals: Sequence[ShapedArray]) -> None:
        """Raises ValueError where scan can't go along axis 0 of arrays of these types."""

    def cast(self, x: Any) -> Any:
        """`x`, with of_any_shape() of this in its type."""

    def params_for(self, primitive: str) -> dict[str, Any]:
        """Parameters of this primitive that give its result this type."""

    def place_of_cotangent(self, aval: ShapedArray, cts: Sequence[Any]) -> Any:
        """As lax.placing.place_of_cotangent, where any of these types has an extra."""

    def of_mapped_axis(self, leaves: Sequence[Any], dims: Sequence[int | None], name: Any) -> Any:
        """The `extra` of vmap's AxisData; `name` is its spmd_axis_name."""
