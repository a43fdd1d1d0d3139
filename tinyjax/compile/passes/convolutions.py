"""Convolutions without a border: images are first cut, or padded with zeros around and between elements.

`padding` and `lhs_dilation` become a pad. Its zeros are stored once, while many windows read each; and the
gradient by the kernel reads the same padded images.
"""

from __future__ import annotations

from tinyjax.compile.passes.patterns import Producer, primitive_named, walk
from tinyjax.compile.record import event
from tinyjax.core.bind import abstract_eval_rules
from tinyjax.core.dtypes import kind
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, Var


def convolutions(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same jaxpr, in which convolutions of numbers have neither padding nor holes between their images'
    elements, if they have several features for each group."""
    return walk(closed, _padded)


def _padded(eqn: JaxprEqn, producer: Producer) -> list[JaxprEqn] | None:
    if eqn.primitive.name != "conv_general_dilated":
        return None
    images, kernels = eqn.invars
    config = [(0, 0, 0)] * images.aval.ndim
    spatial = eqn.params["dimension_numbers"].lhs_spec[2:]
    for axis, (low, high), dilation in zip(
        spatial, eqn.params["padding"], eqn.params["lhs_dilation"]
    ):
        config[axis] = (int(low), int(high), int(dilation) - 1)
    has_border = any(map(any, config)) and eqn.outvars[0].aval.size > 0
    if not has_border or not has_several_features(eqn) or kind(images.aval.dtype) not in "iuf":
        return None
    zero = Literal(images.aval.dtype.type(0), images.aval.update(shape=()))
    pad_p, params = primitive_named("pad"), {"padding_config": tuple(config)}
    padded = Var(abstract_eval_rules[pad_p](images.aval, zero.aval, **params))
    pad = eqn.replace(primitive=pad_p, invars=[images, zero], outvars=[padded], params=params)
    none = {"padding": ((0, 0),) * len(spatial), "lhs_dilation": (1,) * len(spatial)}
    convolution = eqn.replace(invars=[padded, kernels], params=eqn.params | none)
    event(eqn, "its images are padded before", "a zero is read by as many windows as it is in", eqn)
    return [pad, convolution]


def has_several_features(eqn: JaxprEqn) -> bool:
    """Whether each element of the images is multiplied for several features of the result."""
    params, shape = eqn.params, eqn.outvars[0].aval.shape
    groups = params["feature_group_count"] * params["batch_group_count"]
    return shape[params["dimension_numbers"].out_spec[1]] > groups
