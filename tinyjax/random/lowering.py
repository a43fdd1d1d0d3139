"""Random bits in kernels: the cipher as a lowering rule, and operations on keys as arithmetic on words.

random.split and random.bits count (iota) in a kernel, and encrypt the count with the key's words. The bits
are those of random/threefry.py, whose NumPy functions have the same names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.compile.kernel.rules import Elementwise, OnHost, lowering_rules
from tinyjax.compile.kernel.writer import Number
from tinyjax.compile.passes.lower_prng_keys import conversions, is_key, word_rules
from tinyjax.core.avals import get_aval
from tinyjax.core.config import config
from tinyjax.core.jaxpr import JaxprEqn
from tinyjax.core.primitives import shape_of
from tinyjax.lax.conversion import convert_element_type_p
from tinyjax.lax.creation import iota_p
from tinyjax.random import threefry
from tinyjax.random.threefry import UINT32
from tinyjax.transform.batching import batch_rules, moveaxis, not_mapped

# ---- the cipher, element by element ----


def _threefry2x32(ctx: Any, key1: Number, key2: Number, x1: Number, x2: Number) -> list[Number]:
    """The cipher of random/threefry.py, line by line."""

    def rotate_left(x: Number, distance: int) -> Number:
        return x << distance | x >> (32 - distance)

    keys = (key1, key2, key1 ^ key2 ^ int(threefry.PARITY))
    x1, x2 = x1 + key1, x2 + key2
    for group in range(5):
        for distance in threefry.ROTATIONS[group % 2]:
            x1 = x1 + x2
            x2 = rotate_left(x2, distance) ^ x1
        x1 = x1 + keys[(group + 1) % 3]
        x2 = x2 + keys[(group + 2) % 3] + (group + 1)
    return [x1, x2]


lowering_rules[threefry.threefry2x32_p] = Elementwise(_threefry2x32, cost=120)
for _name in "seed wrap unwrap split fold_in bits clone".split():
    lowering_rules[getattr(threefry, f"random_{_name}_p")] = OnHost(
        "kernels do not compute with random keys"
    )

# ---- words, of keys of shape s: shape s + (2,) ----


def _cipher(key1: Any, key2: Any, x1: Any, x2: Any) -> list[Any]:
    return threefry.threefry2x32_p.bind(key1, key2, x1, x2)


def _word(words: Any, number: int) -> Any:
    return lax.index_in_dim(words, number, -1, keepdims=False)


def _joined(first: Any, second: Any) -> Any:
    return lax.stack([first, second], axis=len(shape_of(first)))


def _converted(x: Any, dtype: Any) -> Any:
    """Integers in another dtype, wrapped around."""
    return convert_element_type_p.bind(x, new_dtype=np.dtype(dtype), weak_type=False)


def _high_and_low(integers: Any) -> tuple[Any, Any]:
    """The halves of integers as 64 bits; for smaller integers the high half is 0."""
    low = _converted(integers, UINT32)
    if get_aval(integers).dtype.itemsize < 8:
        return lax.full(shape_of(integers), 0, UINT32), low
    high = lax.shift_right_logical(_converted(integers, "uint64"), np.uint64(32))
    return _converted(high, UINT32), low


def _count(size: int) -> Any:
    """0, 1, 2, ..."""
    dtype = UINT32 if size <= 2**32 else np.dtype("uint64")
    return iota_p.bind(dtype=dtype, shape=(size,), dimension=0)


def _join_words(high: Any, low: Any) -> Any:
    shifted = lax.shift_left(_converted(high, "uint64"), np.uint64(32))
    return lax.bitwise_or(shifted, _converted(low, "uint64"))


# ---- counters: the two layouts ----


def _encrypt_halves(words: Any, size: int) -> Any:
    half = math.ceil(size / 2)
    first = _count(half)
    second = lax.add(first, np.uint32(half))
    if size % 2:  # an odd one out is encrypted with 0
        second = lax.select(lax.eq(second, np.uint32(size)), lax.full_like(second, 0), second)
    # The words of the keys have an axis at the end for the counters.
    key1, key2 = (lax.slice_in_dim(words, i, i + 1, axis=-1) for i in (0, 1))
    axes = range(len(shape_of(words)) - 1)
    first, second = lax.expand_dims(first, axes), lax.expand_dims(second, axes)
    encrypted = _cipher(key1, key2, first, second)
    return lax.slice_in_dim(lax.concatenate(encrypted, len(axes)), 0, size, axis=-1)


def _counted(words: Any, shape: tuple[int, ...]) -> list[Any]:
    behind = shape_of(words)[:-1] + (1,) * len(shape)
    key1, key2 = (lax.reshape(_word(words, i), behind) for i in (0, 1))
    axes = range(len(behind) - len(shape))
    counters = _high_and_low(lax.reshape(_count(math.prod(shape)), shape))
    return _cipher(key1, key2, *(lax.expand_dims(x, axes) for x in counters))


# ---- operations on keys ----


def _split(words: Any, *, shape: tuple[int, ...]) -> Any:
    if config.jax_threefry_partitionable:
        return _joined(*_counted(words, shape))
    bits = _encrypt_halves(words, 2 * math.prod(shape))
    return lax.reshape(bits, (*shape_of(words)[:-1], *shape, 2))


def _bits(words: Any, *, bit_width: int, shape: tuple[int, ...]) -> Any:
    if not config.jax_threefry_partitionable:
        return _bits_original(words, bit_width, shape)
    high, low = _counted(words, shape)
    if bit_width == 64:
        return _join_words(high, low)
    return _converted(lax.bitwise_xor(high, low), f"uint{bit_width}")


def _bits_original(words: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    batch, size = shape_of(words)[:-1], math.prod(shape)
    bits = _encrypt_halves(words, math.ceil(size * bit_width / 32))
    if bit_width == 64:
        high, low = (lax.slice_in_dim(bits, i * size, (i + 1) * size, axis=-1) for i in (0, 1))
        bits = _join_words(high, low)
    elif bit_width < 32:  # each word gives several elements, the lowest bits first
        count = 32 // bit_width
        shape_of_parts = (*shape_of(bits), count)
        shifts = lax.mul(_count(count), np.uint32(bit_width))
        shifts = lax.broadcast_in_dim(shifts, shape_of_parts, (len(batch) + 1,))
        repeated = lax.broadcast_in_dim(bits, shape_of_parts, range(len(batch) + 1))
        parts = _converted(lax.shift_right_logical(repeated, shifts), f"uint{bit_width}")
        bits = lax.reshape(parts, (*batch, math.prod(shape_of_parts[-2:])))
        bits = lax.slice_in_dim(bits, 0, size, axis=-1)
    return lax.reshape(bits, (*batch, *shape))


word_rules[threefry.random_seed_p] = lambda seeds, *, impl: _joined(*_high_and_low(seeds))
word_rules[threefry.random_wrap_p] = lambda words, *, impl: words
word_rules[threefry.random_unwrap_p] = lambda words: words
word_rules[threefry.random_clone_p] = lambda words: words
word_rules[threefry.random_split_p] = _split
word_rules[threefry.random_fold_in_p] = lambda words, data: _joined(
    *_cipher(_word(words, 0), _word(words, 1), *_high_and_low(data))
)
word_rules[threefry.random_bits_p] = _bits
conversions["keys"] = lambda words: threefry.random_wrap_p.bind(words, impl=threefry.threefry_impl)
conversions["words"] = threefry.random_unwrap_p.bind


def _moved(eqn: JaxprEqn, args: Sequence[Any]) -> list[Any] | None:
    """The rule of a primitive that moves keys: it moves their first words and their second words alike."""
    if eqn.primitive not in batch_rules or eqn.primitive.impl_binds_primitives:
        return None
    dims = [v.aval.ndim if is_key(v.aval) else not_mapped for v in eqn.invars]
    outs, out_dims = batch_rules[eqn.primitive](args, dims, **eqn.params)
    if not eqn.primitive.multiple_results:
        outs, out_dims = [outs], [out_dims]
    return [moveaxis(x, dim, -1) for x, dim in zip(outs, out_dims)]


conversions["moved"] = _moved
