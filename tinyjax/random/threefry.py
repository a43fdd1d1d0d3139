"""Random bits from a key: the Threefry cipher in NumPy, and the primitives that call it.

A counter (0, 1, 2, ...) is encrypted with the key, so that the same key always gives the same bits, any
element can be made without the others, and no state is kept anywhere.

A key is two uint32 words. An array of keys has the dtype `dtypes.key_dtype`, whose elements are those
two words, so that indexing, reshaping and stacking keys is what it is for numbers.

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011), section 3.3.2;
https://docs.jax.dev/en/latest/jep/263-prng.html
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tinyjax.core import dtypes, primitives
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.config import config
from tinyjax.core.facts import MOVES
from tinyjax.transform.batching import batch_rules, bdim_at_front, defbroadcasting, defvectorized
from tinyjax.transform.jvp import defzero

UINT32 = np.dtype("uint32")

# ---- the cipher ----

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))  # of even and of odd groups of four rounds
PARITY = np.uint32(0x1BD11BDA)  # mixed into the third key word, so that a zero key is no weak key


def rotate_left(x: np.ndarray, distance: int) -> np.ndarray:
    """The bits of each uint32 moved `distance` places to the left; bits that leave at the left enter at
    the right. `distance` is from 1 to 31. All are uint32."""
    return (x << np.uint32(distance)) | (x >> np.uint32(32 - distance))


def threefry2x32(
    key1: np.ndarray, key2: np.ndarray, x1: np.ndarray, x2: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Encrypts pairs of uint32 words with pairs of key words: 20 rounds, all operands broadcast.

    A round adds x2 to x1, and then makes x2 its rotation, xor the new x1. Every four rounds two of the
    three key words are added, and the number of such groups so far to x2. The third key word is the
    xor of the others and PARITY. Sums of uint32 arrays lose what goes beyond 32 bits, as they should."""
    keys = (key1, key2, key1 ^ key2 ^ PARITY)
    x1, x2 = x1 + key1, x2 + key2
    for group in range(5):
        for distance in ROTATIONS[group % 2]:
            x1 = x1 + x2
            x2 = rotate_left(x2, distance) ^ x1
        x1 = x1 + keys[(group + 1) % 3]
        x2 = x2 + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x1, x2


# ---- counters: two layouts ----
#
# jax_threefry_partitionable=True: the i-th element encrypts the 64-bit counter i, in words (high, low).
# Which bits an element gets depends on its place alone, so that devices can each make a part.
# False, as before JAX 0.5: the counters are cut in two halves, and word i of the first is encrypted
# with word i of the second; the results depend on the size of the whole.


def counters(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """0, 1, 2, ... in `shape`, as high and low uint32 words."""
    count = np.arange(math.prod(shape), dtype=np.uint64).reshape(shape)
    return (count >> np.uint64(32)).astype(UINT32), count.astype(UINT32)


def encrypt_halves(words: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The old layout: one uint32 for each element of the 1-d `count`, for key words of shape (..., 2)."""
    size = len(count)
    first, second = np.append(count, np.zeros(size % 2, UINT32)).reshape(2, -1)
    key1, key2 = words[..., :1], words[..., 1:]
    return np.concatenate(threefry2x32(key1, key2, first, second), axis=-1)[..., :size]


def counted(words: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The new layout: two words for each element of `shape`, behind the axes of the keys."""
    behind = words.shape[:-1] + (1,) * len(shape)
    key1, key2 = (words[..., i].reshape(behind) for i in (0, 1))
    return threefry2x32(key1, key2, *counters(shape))


# ---- operations on keys, on key words of shape (..., 2) ----


def seed_words(seeds: np.ndarray) -> np.ndarray:
    """The key words of integer seeds: the high and low halves of their 64 bits.

    Seeds of 32 bits or less have zero in the high word."""
    high = np.zeros(seeds.shape, UINT32)
    if seeds.dtype.itemsize == 8:
        high = (seeds.astype(np.uint64) >> np.uint64(32)).astype(UINT32)
    return np.stack([high, seeds.astype(UINT32)], axis=-1)


def split_words(words: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """`shape` new keys from each key."""
    if config.jax_threefry_partitionable:
        return keys_by_counting(words, shape)
    bits = encrypt_halves(words, np.arange(2 * math.prod(shape), dtype=UINT32))
    return bits.reshape((*words.shape[:-1], *shape, 2))


def keys_by_counting(words: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """`shape` new keys from each key: the two words that each counter is encrypted to (`counted`).

    The result has the shape (*shape of the keys, *shape, 2)."""
    return np.stack(counted(words, shape), axis=-1)


def fold_in_words(words: np.ndarray, data: np.ndarray) -> np.ndarray:
    """A new key from each key and a number: the number, as a seed, encrypted with the key.

    `words` has the shape (..., 2), and `data` is an array of integers, which is broadcast with the keys;
    `seed_words` makes words of it. The result has the shape (..., 2)."""
    data_words = seed_words(data)
    return np.stack(
        threefry2x32(words[..., 0], words[..., 1], data_words[..., 0], data_words[..., 1]), axis=-1
    )


def random_words(words: np.ndarray, bit_width: int, shape: tuple[int, ...]) -> np.ndarray:
    """Uniform unsigned integers of `bit_width` bits, `shape` of them for each key."""
    if config.jax_threefry_partitionable:
        return _bits_partitionable(words, bit_width, shape)
    return _bits_original(words, bit_width, shape)


def _bits_partitionable(words: np.ndarray, bit_width: int, shape: tuple[int, ...]) -> np.ndarray:
    high, low = counted(words, shape)
    if bit_width == 64:
        return _join_words(high, low)
    return (high ^ low).astype(f"uint{bit_width}")


def _bits_original(words: np.ndarray, bit_width: int, shape: tuple[int, ...]) -> np.ndarray:
    batch, size = words.shape[:-1], math.prod(shape)
    bits = encrypt_halves(words, np.arange(math.ceil(size * bit_width / 32), dtype=UINT32))
    if bit_width == 64:
        bits = _join_words(bits[..., :size], bits[..., size:])
    elif bit_width < 32:  # each word gives several elements, the lowest bits first
        shifts = np.arange(0, 32, bit_width, dtype=UINT32)
        parts = (bits[..., None] >> shifts).astype(f"uint{bit_width}")
        bits = parts.reshape((*batch, bits.shape[-1] * len(shifts)))[..., :size]
    return bits.reshape((*batch, *shape))


def _join_words(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    return (high.astype(np.uint64) << np.uint64(32)) | low


# ---- the primitives ----


class PRNGImpl:
    """The generator that a key is for: the `impl` parameter of random_seed and random_wrap."""

    name = "threefry2x32"
    tag = "fry"

    def __repr__(self) -> str:
        return self.tag  # as printed in jaxprs


threefry_impl = PRNGImpl()

threefry2x32_p = Primitive(
    "threefry2x32", multiple_results=True, axes="elementwise", cost=1, makes_nan=False
)
random_seed_p = Primitive("random_seed", axes="elementwise", **MOVES)
random_wrap_p = Primitive("random_wrap", axes="keys", **MOVES)
random_unwrap_p = Primitive("random_unwrap", axes="keys", **MOVES, keys="other")
random_split_p = Primitive("random_split", axes="keys", **MOVES, keys="used")
random_fold_in_p = Primitive("random_fold_in", axes="elementwise", **MOVES, keys="other")
random_bits_p = Primitive("random_bits", axes="keys", **MOVES, keys="used")
random_clone_p = Primitive("random_clone", axes="elementwise", **MOVES, keys="other")


def words_of(keys: np.ndarray) -> np.ndarray:
    """Keys as uint32 words, in a new last axis."""
    return keys["fry"]


def keys_of(words: np.ndarray) -> np.ndarray:
    """uint32 words, two of them along the last axis, as keys."""
    keys = np.empty(words.shape[:-1], dtypes.key_dtype)
    keys["fry"] = words
    return keys


impl_rules[threefry2x32_p] = lambda *operands: list(threefry2x32(*operands))
impl_rules[random_seed_p] = lambda seeds, *, impl: keys_of(seed_words(seeds))
impl_rules[random_wrap_p] = lambda words, *, impl: keys_of(words)
impl_rules[random_unwrap_p] = words_of
impl_rules[random_split_p] = lambda keys, *, shape: keys_of(split_words(words_of(keys), shape))
impl_rules[random_bits_p] = lambda keys, *, bit_width, shape: random_words(
    words_of(keys), bit_width, shape
)
impl_rules[random_clone_p] = lambda key: key
impl_rules[random_fold_in_p] = lambda keys, data: keys_of(fold_in_words(words_of(keys), data))


def _threefry2x32_aval(*avals: ShapedArray) -> list[ShapedArray]:
    if any(aval.dtype != UINT32 for aval in avals):
        got = ", ".join(aval.str_short(short_dtypes=True) for aval in avals)
        raise TypeError(f"Arguments to threefry2x32 must have uint32 type, got {got}")
    return [ShapedArray(primitives.broadcast_shapes("threefry2x32", *avals), UINT32)] * 2


def _random_seed_aval(seeds: ShapedArray, *, impl: PRNGImpl) -> ShapedArray:
    if dtypes.kind(seeds.dtype) not in "iu":
        raise TypeError(f"PRNG key seed must be an integer; got dtype {seeds.dtype.name}")
    return ShapedArray(seeds.shape, dtypes.key_dtype)


def _random_wrap_aval(words: ShapedArray, *, impl: PRNGImpl) -> ShapedArray:
    problem = "JAX encountered invalid PRNG key data: expected key_data"
    if words.ndim < 1:
        raise TypeError(f"{problem}.ndim >= 1; got ndim={words.ndim}")
    if words.shape[-1] != 2:
        raise TypeError(
            f"{problem}.shape to end with (2,); got shape={words.shape}: a key is two words. Make one "
            "with jax.random.key(seed)"
        )
    if words.dtype != UINT32:
        raise TypeError(f"{problem}.dtype = uint32; got dtype={words.dtype.name}")
    return ShapedArray(words.shape[:-1], dtypes.key_dtype)


def _check_keys(name: str, keys: ShapedArray) -> None:
    if keys.dtype != dtypes.key_dtype:
        raise TypeError(f"{name} takes key array operand, got dtype {keys.dtype.name}")


def _random_unwrap_aval(keys: ShapedArray) -> ShapedArray:
    _check_keys("random_unwrap", keys)
    return ShapedArray((*keys.shape, 2), UINT32)


def _random_split_aval(keys: ShapedArray, *, shape: tuple[int, ...]) -> ShapedArray:
    _check_keys("random_split", keys)
    return ShapedArray((*keys.shape, *_checked_shape("random_split", shape)), dtypes.key_dtype)


def _random_fold_in_aval(keys: ShapedArray, data: ShapedArray) -> ShapedArray:
    _check_keys("random_fold_in", keys)
    return ShapedArray(primitives.broadcast_shapes("random_fold_in", keys, data), dtypes.key_dtype)


def _random_bits_aval(keys: ShapedArray, *, bit_width: int, shape: tuple[int, ...]) -> ShapedArray:
    _check_keys("random_bits", keys)
    if bit_width not in (8, 16, 32, 64):
        raise TypeError(f"random_bits requires 8-, 16-, 32- or 64-bit field width, got {bit_width}")
    dtype = np.dtype(f"uint{bit_width}")
    return ShapedArray((*keys.shape, *_checked_shape("random_bits", shape)), dtype)


def _checked_shape(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    if any(size < 0 for size in shape):
        raise ValueError(f"{name} shape must have no negative sizes, got {shape}")
    return shape


abstract_eval_rules[threefry2x32_p] = _threefry2x32_aval
abstract_eval_rules[random_seed_p] = _random_seed_aval
abstract_eval_rules[random_wrap_p] = _random_wrap_aval
abstract_eval_rules[random_unwrap_p] = _random_unwrap_aval
abstract_eval_rules[random_split_p] = _random_split_aval
abstract_eval_rules[random_fold_in_p] = _random_fold_in_aval
abstract_eval_rules[random_bits_p] = _random_bits_aval
abstract_eval_rules[random_clone_p] = lambda key: key


def _random_wrap_batch(vals: Any, dims: Any, *, impl: PRNGImpl) -> Any:
    (words,), (dim,) = vals, dims
    return random_wrap_p.bind(bdim_at_front(words, dim, 1), impl=impl), 0


# Random bits are no differentiable function of a key: all tangents are zero.
for _primitive in (
    threefry2x32_p, random_seed_p, random_wrap_p, random_unwrap_p,
    random_split_p, random_fold_in_p, random_bits_p, random_clone_p,
):  # fmt: skip
    defzero(_primitive)
# Results have their own axes behind the keys' axes, so a batch dim stays where it is.
for _primitive in (random_seed_p, random_unwrap_p, random_split_p, random_bits_p, random_clone_p):
    defvectorized(_primitive)
for _primitive in (threefry2x32_p, random_fold_in_p):
    defbroadcasting(_primitive)
batch_rules[random_wrap_p] = _random_wrap_batch
