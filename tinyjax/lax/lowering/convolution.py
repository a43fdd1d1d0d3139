"""How a convolution lowers: on a CPU to a step of NumPy's BLAS, on a GPU to a kernel.

After this file you can say what an element of a convolution reads: the window before it, feature by feature,
and the kernel's element for each. A GPU has a work-item for each such sum, and keeps the images where they
are; a CPU gains more from a product of matrices, although that copies each window. Builds on indexing and
products.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tinyjax.compile.kernel.rules import (
    Lowering,
    OnHost,
    Position,
    Reduction,
    lowering_rules,
    sum_dtype,
    zero_of,
)
from tinyjax.core.jaxpr import JaxprEqn
from tinyjax.lax.convolution import conv_general_dilated_p
from tinyjax.lax.convolution_dims import in_layout
from tinyjax.lax.lowering.indexing import element_or
from tinyjax.lax.lowering.products import converted

if TYPE_CHECKING:
    from tinyjax.compile.codegen.codegen import Target
    from tinyjax.compile.kernel.kernel_ir import Scalar


def _convolution(eqn: JaxprEqn, target: Target) -> Lowering:
    if target.name == "gpu":
        return Reduction("add", zero_of, _summed_sizes, _term)
    return OnHost("a product of matrices, of the windows' elements")


def _summed_sizes(eqn: JaxprEqn) -> tuple[int, ...]:
    """Those of the window, and the features of a group, which images have side by side in memory."""
    shape = eqn.invars[1].aval.shape
    _, feature, *window = eqn.params["dimension_numbers"].rhs_spec
    return *(shape[axis] for axis in window), shape[feature]


def _term(
    ctx: Any,
    place: Position,
    lhs: Any,
    rhs: Any,
    *,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    **_: Any,
) -> Scalar:
    """The product at `place` in the window that the result's position numbers."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    image, out_feature, *window = (ctx.position.coords[axis] for axis in out_spec)
    *offsets, feature = place.coords
    groups = feature_group_count * batch_group_count  # one of them is 1
    group = out_feature // (rhs.aval.shape[rhs_spec[0]] // groups)
    if feature_group_count > 1:
        lhs_feature = group * rhs.aval.shape[rhs_spec[1]] + feature
    else:
        lhs_feature = feature
        image = group * (lhs.aval.shape[lhs_spec[0]] // groups) + image
    spatial = [
        at * int(stride) + offset * int(spread) - int(low)
        for at, stride, offset, spread, (low, _) in zip(
            window, window_strides, offsets, rhs_dilation, padding
        )
    ]
    zero = ctx.constant(0, lhs.aval.dtype)
    places = in_layout([image, lhs_feature, *spatial], lhs_spec)
    element = element_or(ctx, lhs, places, in_layout([1, 1, *lhs_dilation], lhs_spec), lambda: zero)
    weight = rhs.at(in_layout([out_feature, feature, *offsets], rhs_spec))
    return ctx.op(
        "mul", *(converted(ctx, x, sum_dtype(ctx.avals_out[0].dtype)) for x in (element, weight))
    )


lowering_rules[conv_general_dilated_p] = _convolution
