"""The errors for results whose shape is not known while tracing.

Source: https://docs.jax.dev/en/latest/errors.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.core.errors import ONE_FOR_ALL, TAKE_FROM_SHAPES, JAXIndexError, why


class NonConcreteBooleanIndexError(JAXIndexError):
    """A boolean mask whose values are not known was used as an index: the result has no shape."""

    def __init__(self, tracer: Any):
        super().__init__(
            f"Array boolean indices must be concrete; got {tracer}. How many elements it selects, and so the "
            "result's shape, is not known."
            + why(
                tracer,
                "Keep the shape by jnp.where(mask, x, fill), or x.at[:].set(jnp.where(mask, new, x)) to "
                "change x; x[jnp.nonzero(mask, size=n, fill_value=0)] has n elements; sums take where=mask.",
            )
        )


NonConcreteBooleanIndexError.__module__ = (
    "tinyjax.errors"  # where users import it, as tracebacks say
)


def unknown_shape_error(shape: Sequence[Any]) -> TypeError:
    """The error for a shape that has an entry which is no known integer."""
    advice = {"traced": TAKE_FROM_SHAPES, "batched": ONE_FOR_ALL}
    return TypeError(
        f"Shapes must be 1D sequences of concrete values of integer type, got {tuple(shape)}."
        + next((why(x, advice) for x in shape if hasattr(x, "origin")), "")
    )
