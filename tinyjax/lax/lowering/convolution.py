"""How a convolution lowers: on a CPU to a kernel like a matrix product's, on a GPU to a sum for each element.

Each element of the result reads its window, feature by feature, and the matching elements of the kernel. That
is a matrix product whose left matrix has a row for each position: its window. The windows are not copied
("im2col"): a row's elements are read directly from the images. Of a window that is read for a single feature,
a CPU too computes a sum for each element. If a dtype has no vectors, NumPy's BLAS multiplies copies.

Source: E. Georganas and others, "Anatomy of High-Performance Deep Learning Convolutions on SIMD
Architectures", 2018
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyjax import lax
from tinyjax.compile.kernel import rules
from tinyjax.compile.kernel.writer import Number
from tinyjax.compile.passes.expand import expansions
from tinyjax.core.dtypes import kind
from tinyjax.core.jaxpr import JaxprEqn
from tinyjax.lax.convolution import conv_general_dilated_p
from tinyjax.lax.convolution_dims import in_layout, phases
from tinyjax.lax.joining import stack_p
from tinyjax.lax.lowering.complex_sums import product_of_halves, product_of_integers
from tinyjax.lax.lowering.indexing import element_or
from tinyjax.lax.lowering.products import has_product, product_of

if TYPE_CHECKING:
    from tinyjax.compile.target import Target


def _convolution(eqn: JaxprEqn, target: Target) -> rules.Lowering:
    if target.name == "gpu" or not _has_several_features(eqn):
        return REDUCTION
    reason = _why_no_kernel(eqn)
    return rules.OnHost(reason) if reason else PRODUCT


def _why_no_kernel(eqn: JaxprEqn) -> str:
    """Why BLAS multiplies copies of the windows; empty if a kernel computes the convolution instead."""
    out, numbers = eqn.outvars[0].aval, eqn.params["dimension_numbers"]
    if out.size == 0 or 0 in _summed_sizes(eqn):
        return "there is nothing to add up"
    if not has_product(out.dtype):
        return f"there are no products of vectors of {out.dtype}"
    if out.size == out.shape[numbers.out_spec[1]] and numbers.rhs_spec[0] == 0:
        return "one window, and a kernel whose features are apart in memory"
    return ""


def _has_several_features(eqn: JaxprEqn) -> bool:
    """Whether each element of the images is multiplied for several features of the result."""
    params, shape = eqn.params, eqn.outvars[0].aval.shape
    groups = params["feature_group_count"] * params["batch_group_count"]
    return shape[params["dimension_numbers"].out_spec[1]] > groups


def _padded(eqn: JaxprEqn) -> Callable | None:
    """The convolution of images that are cut or padded before, around and between their elements. Zeros are
    then stored once, while many windows read each; the gradient by the kernel reads the same images."""
    params, images = eqn.params, eqn.invars[0].aval
    pairs = zip(params["padding"], params["lhs_dilation"])
    border = [(int(low), int(high), int(dilation) - 1) for (low, high), dilation in pairs]
    has_border = any(map(any, border)) and eqn.outvars[0].aval.size > 0
    if not has_border or _are_apart(eqn) or kind(images.dtype) not in "iuf":
        return None
    config = in_layout([(0, 0, 0), (0, 0, 0), *border], params["dimension_numbers"].lhs_spec)
    plain = {"padding": ((0, 0),) * len(border), "lhs_dilation": (1,) * len(border)}
    zero = np.zeros((), images.dtype)
    return lambda x, w: [eqn.primitive.bind(lax.pad(x, zero, config), w, **params | plain)]


def _in_phases(eqn: JaxprEqn) -> Callable | None:
    """The convolution of images with holes as one for each phase of the result: no hole is multiplied."""
    (x, w), out = (v.aval for v in eqn.invars), eqn.outvars[0].aval
    found = phases(x.shape, w.shape, eqn.params)
    if found is None:
        return None
    axis = found.out_axis

    def convolution(x: Any, w: Any) -> list[Any]:
        outs = []
        for part, params in zip(found.parts, found.params):
            if part:
                of_part = lax.slice_in_dim(w, part.start, None, part.step, found.kernel_axis)
                outs.append(eqn.primitive.bind(x, of_part, **params))
            else:
                count = max(1, -(-found.size // len(found.parts)))
                shape = (*out.shape[:axis], count, *out.shape[axis + 1 :])
                outs.append(lax.full(shape, 0, out.dtype))
        stacked = stack_p.bind(*outs, axis=axis + 1)
        interleaved = lax.collapse(stacked, axis, axis + 2)
        return [lax.slice_in_dim(interleaved, 0, found.size, axis=axis)]

    return convolution


def _are_apart(eqn: JaxprEqn) -> bool:
    """Whether neighbours in the result read elements that are not neighbours, as an image's features lie
    between them. To load these takes longer than to test whether they are inside."""
    numbers, (images, weights) = eqn.params["dimension_numbers"], [v.aval for v in eqn.invars]
    has_last = numbers.lhs_spec[1] == images.ndim - 1 and weights.shape[numbers.rhs_spec[1]] > 1
    return has_last and not _has_several_features(eqn)


def _summed_sizes(eqn: JaxprEqn) -> tuple[int, ...]:
    """The kernel's sizes in memory, without the axis of the results' features."""
    out_feature = eqn.params["dimension_numbers"].rhs_spec[0]
    return tuple(n for axis, n in enumerate(eqn.invars[1].aval.shape) if axis != out_feature)


def _factors(
    ctx: Any, place: rules.Position, lhs: Any, rhs: Any, *, window_strides: Any, padding: Any,
    lhs_dilation: Any, rhs_dilation: Any, dimension_numbers: Any, feature_group_count: int,
    batch_group_count: int, **_: Any,
) -> tuple[Number, Number]:  # fmt: skip
    """The two factors at `place` in the window for this position of the result."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    image, out_feature, *window = (ctx.position.coords[axis] for axis in out_spec)
    summed = [axis for axis in range(rhs.aval.ndim) if axis != rhs_spec[0]]
    along = dict(zip(summed, place.coords))
    feature, *offsets = (along[axis] for axis in rhs_spec[1:])
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
    return element, weight


_term = product_of(_factors)
REDUCTION = rules.Reduction("add", rules.zero_of, _summed_sizes, _term)
PRODUCT = rules.Product("add", rules.zero_of, _summed_sizes, _term, factors=_factors)

rules.lowering_rules[conv_general_dilated_p] = _convolution
expansions[conv_general_dilated_p] = lambda eqn, _: (
    _in_phases(eqn) or _padded(eqn) or product_of_integers(eqn) or product_of_halves(eqn)
)
