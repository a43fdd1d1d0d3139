"""Random numbers without passing keys: a generator with its number of draws in a Ref.

`rng.normal()` increments the number of draws in the Ref; each draw has its own key, made from the generator's
key and that number.

Source: https://docs.jax.dev/en/latest/jep/28738-mutable-rng.html
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax import random
from tinyjax.refs import ref as refs
from tinyjax.refs.ref import Ref
from tinyjax.tree_util import register_dataclass

__all__ = ["StatefulPRNG", "stateful_rng"]

Size = int | Sequence[int] | None


@register_dataclass
@dataclass(frozen=True)
class StatefulPRNG:
    """A generator of random numbers: a key, and the number of draws so far. `stateful_rng` makes one."""

    _base_key: Any
    _counter: Ref

    def key(self, shape: int | Sequence[int] = ()) -> Any:
        """A new key, or an array of them. Raises ValueError for a generator that is several."""
        if np.shape(self._base_key):
            raise ValueError("cannot operate on split stateful generator: map over it, by jax.vmap")
        key = random.fold_in(self._base_key, self._counter[...])
        refs.addupdate(self._counter, ..., 1)
        sizes = _sizes(shape)
        return random.split(key, sizes) if sizes else key

    def random(self, size: Size = None, dtype: Any = float) -> Any:
        """Floats from 0 up to 1."""
        return random.uniform(self.key(), shape=_sizes(size), dtype=dtype)

    def uniform(self, low: Any = 0, high: Any = 1, size: Size = None, *, dtype: Any = float) -> Any:
        """Floats from low up to high."""
        shape = _sizes(size, low, high)
        return random.uniform(self.key(), shape, minval=low, maxval=high, dtype=dtype)

    def normal(self, loc: Any = 0, scale: Any = 1, size: Size = None, *, dtype: Any = float) -> Any:
        """Numbers of the normal distribution."""
        x = random.normal(self.key(), _sizes(size, loc, scale), dtype)
        return (jnp.asarray(loc) + jnp.asarray(scale) * x).astype(dtype)

    def integers(self, low: Any, high: Any = None, size: Size = None, *, dtype: Any = int) -> Any:
        """Integers from low (inclusive) to high (exclusive); from 0 to low, if there is no high."""
        if high is None:
            low, high = 0, low
        shape = _sizes(size, low, high)
        return random.randint(self.key(), shape, minval=low, maxval=high, dtype=dtype)

    def split(self, num: int | Sequence[int]) -> StatefulPRNG:
        """`num` generators as one object, for jax.vmap to map over."""
        return StatefulPRNG(self.key(num), refs.new_ref(jnp.zeros(num, dtype=int)))

    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """A list of generators."""
        return [StatefulPRNG(self.key(), refs.new_ref(0)) for _ in range(n_children)]


def stateful_rng(seed: Any = None, *, impl: Any = None) -> StatefulPRNG:
    """A generator whose key is made from an integer, by default from the system's random source."""
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0] >> 1)
    return StatefulPRNG(random.key(seed, impl=impl), refs.new_ref(0))


def _sizes(size: Size, *operands: Any) -> tuple[int, ...]:
    if size is None:
        return np.broadcast_shapes(*map(np.shape, operands))
    if isinstance(size, int | np.number):
        return (operator.index(size),)
    return tuple(map(operator.index, size))
