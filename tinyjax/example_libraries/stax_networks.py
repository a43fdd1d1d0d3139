"""Combinators of layers: in sequence, in parallel, or chosen by the inputs' shapes.

Each layer gets its own key and parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax import random

Layer = tuple[Callable[..., Any], Callable[..., Any]]


def serial(*layers: Layer) -> Layer:
    """One layer after the other. Parameters: a list with those of each.

    The key `rng` is split: each layer gets its own. Raises ValueError for no layers, and TypeError for
    anything but a pair of functions."""
    init_funs, apply_funs = _unzipped("serial", layers)

    def init_fun(rng: Any, input_shape: Any) -> tuple:
        params = []
        for init in init_funs:
            rng, layer_rng = random.split(rng)
            input_shape, param = init(layer_rng, input_shape)
            params.append(param)
        return input_shape, params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rngs = _key_for_each(kwargs.pop("rng", None), len(layers))
        for fun, param, rng in zip(apply_funs, params, rngs):
            inputs = fun(param, inputs, rng=rng, **kwargs)
        return inputs

    return init_fun, apply_fun


def parallel(*layers: Layer) -> Layer:
    """Layers side by side, from a list of inputs (see FanOut) to a list of results (see FanInSum).

    Parameters: a tuple with those of each. Keys and errors are as in `serial`."""
    init_funs, apply_funs = _unzipped("parallel", layers)

    def init_fun(rng: Any, input_shape: Sequence[Any]) -> tuple:
        rngs = random.split(rng, len(layers))
        made = [init(key, shape) for init, key, shape in zip(init_funs, rngs, input_shape)]
        return tuple(shape for shape, _ in made), tuple(param for _, param in made)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rngs = _key_for_each(kwargs.pop("rng", None), len(layers))
        return [
            fun(param, x, rng=rng, **kwargs)
            for fun, param, x, rng in zip(apply_funs, params, inputs, rngs)
        ]

    return init_fun, apply_fun


def _unzipped(name: str, layers: Sequence[Layer]) -> tuple[list[Callable], list[Callable]]:
    if not layers:
        raise ValueError(f"{name} needs at least one layer")
    for i, layer in enumerate(layers):
        if callable(layer):
            called = getattr(layer, "__name__", repr(layer))
            raise TypeError(
                f"{name}: layer {i} is not a pair (init_fun, apply_fun) but a function, {called}; call "
                "it to make a layer, as in Dense(10)"
            )
        if len(layer) != 2:
            raise ValueError(
                f"{name}: layer {i} is not a pair (init_fun, apply_fun), it has {len(layer)} entries"
            )
    return [init for init, _ in layers], [apply for _, apply in layers]


def _key_for_each(rng: Any, count: int) -> Any:
    return [None] * count if rng is None else random.split(rng, count)


def shape_dependent(make_layer: Callable[[tuple[int, ...]], Layer]) -> Layer:
    """The layer that make_layer(input_shape) returns, which is asked again for each shape."""
    return (
        lambda rng, input_shape: make_layer(input_shape)[0](rng, input_shape),
        lambda params, inputs, **kwargs: make_layer(inputs.shape)[1](params, inputs, **kwargs),
    )
