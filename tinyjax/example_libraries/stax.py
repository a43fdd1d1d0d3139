"""Stax: networks as pairs of functions, put together from layers.

A layer is a pair (init_fun, apply_fun). The first makes parameters, the second is a pure function of them, so
that grad, vmap and jit can take it.

    init_fun, apply_fun = serial(Conv(32, (3, 3), padding="SAME"), Relu, Flatten, Dense(10), LogSoftmax)
    out_shape, params = init_fun(jax.random.key(0), (128, 28, 28, 1))
    predictions = apply_fun(params, images)

init_fun(rng, input_shape) returns the shape of the layer's result and its parameters, a pytree, `()` if it
has none. apply_fun(params, inputs, **kwargs) returns the result; the one kwarg that layers know is `rng`, a
key, for Dropout. `serial` and `parallel` make layers of layers. In shapes, a batch size of -1 stands for one
that is not known yet.

These are examples, as they are in JAX; real libraries such as Flax have much more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import tinyjax.numpy as jnp
from tinyjax import lax, random
from tinyjax.core.declared_functions import named
from tinyjax.core.missing_names import getattr_of
from tinyjax.example_libraries.stax_networks import (  # noqa: F401
    Layer,
    parallel,
    serial,
    shape_dependent,
)
from tinyjax.lax.convolution_dims import conv_general_shape_tuple, conv_transpose_shape_tuple
from tinyjax.lax.convolution_functions import conv_general_dilated, conv_transpose
from tinyjax.nn.activations import elu, gelu, leaky_relu, relu, selu, sigmoid, softplus
from tinyjax.nn.functions import standardize
from tinyjax.nn.initializers import glorot_normal, normal, ones, zeros
from tinyjax.numpy.log_sums import log_softmax, softmax

# Older names that programs still use.
glorot, randn, logsoftmax = glorot_normal, normal, log_softmax

Shape = tuple[int, ...]


# ---- layers with parameters ----

NORMAL, TINY_NORMAL, GLOROT_NORMAL = normal(), normal(1e-6), glorot_normal()


def Dense(out_dim: int, W_init: Any = GLOROT_NORMAL, b_init: Any = NORMAL) -> Layer:
    """inputs @ W + b: (..., in_dim) to (..., out_dim). Parameters: (W, b)."""

    def init_fun(rng: Any, input_shape: Shape) -> tuple:
        k1, k2 = random.split(rng)
        weights = W_init(k1, (input_shape[-1], out_dim)), b_init(k2, (out_dim,))
        return (*input_shape[:-1], out_dim), weights

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        w, b = params
        return jnp.dot(inputs, w) + b

    return init_fun, apply_fun


def _conv_layer(
    name: str, shape_tuple: Callable[..., Shape], convolve: Callable[..., Any], doc: str
) -> Callable[..., Layer]:
    """A maker of layers that convolve; `shape_tuple` knows the shape that `convolve` makes."""

    @named(name, doc)
    def make(
        dimension_numbers: tuple[str, str, str],
        out_chan: int,
        filter_shape: Sequence[int],
        strides: Sequence[int] | None = None,
        padding: Any = "VALID",
        W_init: Any = None,
        b_init: Any = TINY_NORMAL,
    ) -> Layer:
        lhs_spec, rhs_spec, out_spec = dimension_numbers
        if len(filter_shape) != len(rhs_spec) - 2:
            raise ValueError(
                f"filter_shape {tuple(filter_shape)} must have a size for each axis of the window, of "
                f"which {rhs_spec!r} has {len(rhs_spec) - 2}"
            )
        strides = tuple(strides or (1,) * len(filter_shape))
        w_init = W_init or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O"))

        def init_fun(rng: Any, input_shape: Shape) -> tuple:
            if len(input_shape) != len(lhs_spec):
                raise IndexError(
                    f"a convolution of layout {lhs_spec!r} takes inputs of {len(lhs_spec)} axes, got "
                    f"the input_shape {tuple(input_shape)}"
                )
            sizes = {"O": out_chan, "I": input_shape[lhs_spec.index("C")]}
            sizes |= zip([letter for letter in rhs_spec if letter not in "OI"], filter_shape)
            kernel_shape = tuple(sizes[letter] for letter in rhs_spec)
            bias_shape = tuple(out_chan if letter == "C" else 1 for letter in out_spec)
            k1, k2 = random.split(rng)
            weights = w_init(k1, kernel_shape), b_init(k2, bias_shape)
            return shape_tuple(
                input_shape, kernel_shape, strides, padding, dimension_numbers
            ), weights

        def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
            w, b = params
            return convolve(inputs, w, strides, padding, dimension_numbers=dimension_numbers) + b

        return init_fun, apply_fun

    return make


GeneralConv = _conv_layer(
    "GeneralConv",
    conv_general_shape_tuple,
    conv_general_dilated,
    """A convolution with `out_chan` kernels of a window of `filter_shape`, and a bias for each.

    `dimension_numbers`, `strides` and `padding` are as in lax.conv_general_dilated; W_init is by default
    glorot_normal. Parameters: (W, b). Raises ValueError for a filter_shape that does not fit the layout,
    its init_fun IndexError for such an input_shape.""",
)
GeneralConvTranspose = _conv_layer(
    "GeneralConvTranspose",
    conv_transpose_shape_tuple,
    conv_transpose,
    """The same with lax.conv_transpose, which makes `strides` times as many elements.""",
)
Conv = partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


def BatchNorm(
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Any = zeros,
    gamma_init: Any = ones,
) -> Layer:
    """Shifts and scales to mean 0 and variance 1 along `axis`, then by gamma and beta, which are learned.

    Mean and variance are always those of the inputs at hand: nothing is remembered for later.
    Parameters: (beta, gamma), of the shape of the other axes; `()` for one that is not wanted."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init_fun(rng: Any, input_shape: Shape) -> tuple:
        shape = tuple(size for i, size in enumerate(input_shape) if i not in axes)
        k1, k2 = random.split(rng)
        beta = beta_init(k1, shape) if center else ()
        gamma = gamma_init(k2, shape) if scale else ()
        return input_shape, (beta, gamma)

    def apply_fun(params: Any, x: Any, **kwargs: Any) -> Any:
        beta, gamma = params
        beside = tuple(None if i in axes else slice(None) for i in range(jnp.ndim(x)))
        z = standardize(x, axes, epsilon=epsilon)
        if scale:
            z = gamma[beside] * z
        return z + beta[beside] if center else z

    return init_fun, apply_fun


# ---- layers without parameters ----


def _without_params(shape_of: Callable[[Any], Any], fun: Callable[[Any], Any]) -> Layer:
    """The layer that is `fun` of its inputs, whose result has the shape that `shape_of` makes of theirs."""
    return (
        lambda rng, input_shape: (shape_of(input_shape), ()),
        lambda params, inputs, **kwargs: fun(inputs),
    )


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """A layer that applies `fun(inputs, **fun_kwargs)`, which keeps the shape."""
    return _without_params(lambda shape: shape, partial(fun, **fun_kwargs))


Tanh = elementwise(jnp.tanh)
Relu = elementwise(relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(log_softmax, axis=-1)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(softplus)
Sigmoid = elementwise(sigmoid)
Elu = elementwise(elu)
LeakyRelu = elementwise(leaky_relu)
Selu = elementwise(selu)
Gelu = elementwise(gelu)
Identity = elementwise(lambda x: x)


# ---- pooling ----


def _pooling_layer(reducer: Any, init_val: float, is_mean: bool = False) -> Callable[..., Layer]:
    """A maker of layers that reduce the elements of each window to one."""

    def PoolingLayer(
        window_shape: Sequence[int],
        strides: Sequence[int] | None = None,
        padding: str = "VALID",
        spec: str | None = None,
    ) -> Layer:
        """Reduces windows of `window_shape` that begin every `strides` (by default 1) elements.

        `spec`, such as "NCHW", says which axes are batch and channels; by default the first and the
        last. No parameters. init_fun raises ValueError for a shape without the spec's axes."""
        places = (0, len(window_shape) + 1) if spec is None else (spec.index("N"), spec.index("C"))
        beside = sorted(places)
        window = _with_ones(window_shape, beside)
        by = _with_ones(strides or (1,) * len(window_shape), beside)

        def out_shape(input_shape: Shape) -> Shape:
            if len(input_shape) != len(window):
                raise ValueError(
                    f"pooling by windows of {tuple(window_shape)} takes inputs of {len(window)} axes, "
                    f"got the input_shape {tuple(input_shape)}"
                )
            pads = lax.padtype_to_pads(input_shape, window, by, padding)
            return lax.reduce_window_shape_tuple(input_shape, window, by, pads)

        def pool(inputs: Any) -> Any:
            out = lax.reduce_window(inputs, init_val, reducer, window, by, padding)
            if not is_mean:
                return out
            # A window at the edge has fewer elements: those of the padding do not count.
            spatial = [size for i, size in enumerate(inputs.shape) if i not in beside]
            all_ones = jnp.ones(spatial, inputs.dtype)
            counts = lax.reduce_window(
                all_ones, 0.0, lax.add, window_shape, strides or (1,) * len(window_shape), padding
            )
            for axis in beside:
                counts = jnp.expand_dims(counts, axis)
            return out / counts

        return _without_params(out_shape, pool)

    return PoolingLayer


def _with_ones(sizes: Sequence[int], axes: Sequence[int]) -> Shape:
    """The sizes with 1 for each of the `axes`, in ascending order, in addition."""
    sizes = list(sizes)
    for axis in axes:
        sizes.insert(axis, 1)
    return tuple(sizes)


MaxPool = _pooling_layer(lax.max, -jnp.inf)
SumPool = _pooling_layer(lax.add, 0.0)
AvgPool = _pooling_layer(lax.add, 0.0, is_mean=True)


# ---- shapes, branches and noise ----

Flatten = _without_params(
    lambda shape: (shape[0], math.prod(shape[1:])), lambda x: jnp.reshape(x, (x.shape[0], -1))
)


def FanOut(num: int) -> Layer:
    """Gives its input `num` times, to layers in `parallel`."""
    return _without_params(lambda shape: [shape] * num, lambda x: [x] * num)


FanInSum = _without_params(lambda shapes: shapes[0], sum)


def FanInConcat(axis: int = -1) -> Layer:
    """Puts the results of layers in `parallel` beside each other along `axis`."""

    def out_shape(shapes: Sequence[Shape]) -> Shape:
        size = sum(shape[axis] for shape in shapes)
        return tuple(size if i == axis % len(shapes[0]) else n for i, n in enumerate(shapes[0]))

    return _without_params(out_shape, partial(jnp.concatenate, axis=axis))


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Keeps each element with probability `rate`, divided by it, and sets the others to 0.

    In another mode than "train", such as "test", it changes nothing. apply_fun needs a key, `rng`, in
    every mode, and raises ValueError without one."""

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError(
                "Dropout needs a PRNG key: call apply_fun(params, inputs, rng=key), with a key such as "
                "jax.random.key(0), another one in each step"
            )
        if mode != "train":
            return inputs
        keep = random.bernoulli(rng, rate, inputs.shape)
        return jnp.where(keep, inputs / rate, 0)

    return lambda rng, input_shape: (input_shape, ()), apply_fun


__getattr__ = getattr_of(__name__)
