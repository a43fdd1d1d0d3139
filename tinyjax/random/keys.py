"""Random keys: made from a seed, split, folded with data; never changed.

`k1, k2 = split(key)` instead of one global generator: a function that draws from its own key gives the same
result in any order, under jit, vmap and on any device.

Keys come in two forms: `key(0)` is typed (dtype key<fry>), `PRNGKey(0)` is raw: its two words, a uint32
array of shape (2,). Functions that make keys from keys return the form that they get.

Source: https://docs.jax.dev/en/latest/random-numbers.html
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NewType

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.bind import as_array
from tinyjax.core.primitives import shape_of
from tinyjax.numpy.util import constant, convert
from tinyjax.random.threefry import (
    PRNGImpl,
    random_bits_p,
    random_clone_p,
    random_fold_in_p,
    random_seed_p,
    random_split_p,
    random_unwrap_p,
    random_wrap_p,
    threefry2x32_p,
    threefry_impl,
)

Key = NewType("Key", Array)  # for annotations: an array of typed keys

# ---- checks at the beginning of all functions of jax.random ----


def is_key(x: Any) -> bool:
    """Whether `x` is an array of typed keys."""
    return isinstance(x, Array) and x.dtype == dtypes.key_dtype


def typed_key(name: str, key: Any, allow_batched: bool = False) -> Array:
    """`key` in its typed form, whether it was typed or raw.

    Raises TypeError if it is no key, ValueError for an array of keys unless allow_batched."""
    if is_key(key):
        typed = key
    elif key is None or isinstance(key, (list, tuple, dict)):
        raise TypeError(
            f"unexpected PRNG key type {type(key)}: make a key with jax.random.key(seed)"
        )
    else:
        typed = wrap(key)
    if typed.ndim and not allow_batched:
        raise ValueError(
            f"{name} accepts a single key, but was given a key array of shape {key.shape} != (). Use "
            "jax.vmap for batching."
        )
    return typed


def wrap(words: Any) -> Array:
    """uint32 words of shape (..., 2) as typed keys. Raises TypeError for anything else."""
    if not hasattr(words, "dtype"):
        raise TypeError(
            "JAX encountered invalid PRNG key data: expected key_data to have ndim, shape, and dtype "
            f"attributes. Got {words}. Make a key with jax.random.key(seed)"
        )
    return random_wrap_p.bind(words, impl=threefry_impl)


def in_form_of(given: Any, keys: Array) -> Array:
    """Typed keys, or their words if the caller's key was raw."""
    return keys if is_key(given) else random_unwrap_p.bind(keys)


def resolve_impl(impl: Any, dtype: Any = None) -> PRNGImpl:
    """The requested generator. Only one exists: raises ValueError or TypeError for others."""
    if impl is not None and dtype is not None:
        raise ValueError("Cannot specify both `impl` and `dtype` arguments")
    asked = impl if dtype is None else dtype
    if asked is None or asked in (threefry_impl.name, threefry_impl, dtypes.key_dtype):
        return threefry_impl
    if isinstance(asked, str):
        raise ValueError(
            f'unrecognized PRNG implementation "{asked}". Did you mean "{threefry_impl.name}"?'
        )
    raise TypeError(f"unrecognized type {type(asked)} for specifying PRNG implementation.")


# ---- keys from seeds ----


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Array:
    """A typed key of shape () from an integer of up to 64 bits.

    Raises TypeError for a seed that is no integer scalar, OverflowError for more than 64 bits."""
    return _key("key", seed, resolve_impl(impl, dtype))


def PRNGKey(seed: Any, *, impl: Any = None) -> Array:  # noqa: N802  (JAX's name)
    """A raw key, uint32 of shape (2,), from an integer; `key` is the newer form. Errors as there."""
    return random_unwrap_p.bind(_key("PRNGKey", seed, resolve_impl(impl)))


def _key(name: str, seed: Any, impl: PRNGImpl) -> Array:
    if is_key(seed):
        raise TypeError(f"{name} accepts a scalar seed, but was given a PRNG key.")
    if np.ndim(seed):
        raise TypeError(
            f"{name} accepts a scalar seed, but was given an array of shape {shape_of(seed)} != (). "
            "Use jax.vmap for batching"
        )
    if isinstance(seed, int):
        # A hash may have 64 bits: without x64 its lower 32 are used, without an OverflowError.
        default = dtypes.default_dtype(int)
        seed = constant(np.int64(seed).astype(default), default)
    return random_seed_p.bind(as_array(seed), impl=impl)


# ---- keys from keys ----


def split(key: Any, num: int | tuple[int, ...] = 2) -> Array:
    """`num` new keys (a number, or a shape), independent of each other and of the one given.

    Raises TypeError if `key` is none or `num` no integers, ValueError for an array of keys."""
    return in_form_of(key, split_typed(typed_key("split", key), num))


def split_typed(key: Array, num: int | Sequence[int] = 2) -> Array:
    shape = num if isinstance(num, Sequence) else (num,)
    return random_split_p.bind(key, shape=tuple(operator.index(n) for n in shape))


def fold_in(key: Any, data: Any) -> Array:
    """A new key from a key and a 32-bit integer: the step of a loop, or the index of a device.

    Raises TypeError if `key` is none or `data` no scalar, OverflowError for a Python integer that is
    no uint32."""
    typed = typed_key("fold_in", key)
    if np.ndim(data):
        raise TypeError(
            f"fold_in accepts a scalar, but was given an array of shape {shape_of(data)} != (). Use "
            "jax.vmap for batching."
        )
    return in_form_of(key, random_fold_in_p.bind(typed, jnp.asarray(data, dtype="uint32")))


def clone(key: Any) -> Array:
    """The same key, for a deliberate second use. Source: jax.experimental.key_reuse."""
    return random_clone_p.bind(key)


# ---- looking inside ----


def key_data(keys: Any) -> Array:
    """The words of keys: uint32 of shape (*keys.shape, 2). Raises TypeError if they are no keys."""
    return random_unwrap_p.bind(typed_key("key_data", keys, allow_batched=True))


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Array:
    """Typed keys from their words, uint32 of shape (..., 2). Raises TypeError for other arrays."""
    resolve_impl(impl, dtype)
    return wrap(key_bits_array)


def key_impl(keys: Any) -> str:
    """The name of the generator that keys are for: 'threefry2x32'."""
    typed_key("key_impl", keys, allow_batched=True)
    return threefry_impl.name


def key_dtype(impl_spec: Any = None) -> np.dtype:
    """The dtype of typed keys."""
    resolve_impl(impl_spec)
    return dtypes.key_dtype


# ---- bits ----


def random_bits(key: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
    """Uniform unsigned integers from a typed key, from which all distributions are made."""
    return random_bits_p.bind(key, bit_width=bit_width, shape=shape)


def threefry_2x32(keypair: Any, count: Any) -> Array:
    """The cipher itself (as jax.extend.random has it): `count`, uint32 of any shape, encrypted with
    two uint32 scalars. The first half of `count` is encrypted together with the second half.

    Raises TypeError for operands that are not uint32."""
    flat = jnp.ravel(count)
    padded = jnp.concatenate([flat, convert(jnp.zeros(flat.size % 2), flat.dtype)])
    key1, key2 = keypair
    words = threefry2x32_p.bind(key1, key2, *jnp.split(padded, 2))
    return jnp.concatenate(words)[: flat.size].reshape(shape_of(count))
