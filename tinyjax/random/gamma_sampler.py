"""Gamma numbers by rejection: the primitive random_gamma, with all of its rules.

Propose a number that is easy to draw, accept it with the right probability, and else try again with another
key. Each element has its own key, so elements that are accepted immediately don't depend on those that need
more tries. The derivative of a draw comes from the equation that it satisfies, not from the loop.

Source: G. Marsaglia and W. Tsang, "A simple method for generating gamma variables" (2000);
M. Figurnov et al., "Implicit reparameterization gradients" (2018), for the derivative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.compile.kernel.rules import OnHost, lowering_rules
from tinyjax.compile.passes.lower_prng_keys import word_rules
from tinyjax.core import dtypes
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules, no_rule_reasons
from tinyjax.core.config import config
from tinyjax.core.facts import MOVES
from tinyjax.core.primitives import shape_of
from tinyjax.lax.control_flow.while_loop import while_loop
from tinyjax.lax.incomplete_gamma import random_gamma_grad
from tinyjax.numpy.util import constant, constant_like, dtype_of
from tinyjax.random.distributions import one_to_two
from tinyjax.random.threefry import UINT32, random_split_p, split_words, threefry2x32_p, words_of
from tinyjax.transform.batching import batch_rules, bdim_at_front, vmap
from tinyjax.transform.jvp import defjvp2

# A key here is a pair of words, uint32 scalars or arrays, with which kernels can compute.
Words = tuple[Any, Any]

# ---- keys and numbers of one element, by the layout of the counters in use ----


def _encrypted(key: Words, first: int, second: int) -> Words:
    return tuple(threefry2x32_p.bind(*key, UINT32.type(first), UINT32.type(second)))


def _split(key: Words, count: int) -> list[Words]:
    """The same as random.split(key, count)."""
    if config.jax_threefry_partitionable:
        return [_encrypted(key, 0, i) for i in range(count)]
    firsts, seconds = zip(*[_encrypted(key, i, count + i) for i in range(count)])
    words = firsts + seconds
    return list(zip(words[::2], words[1::2]))


def _bits(key: Words, bit_width: int) -> Any:
    """The same as random.bits(key), with this bit width."""
    wide = bit_width == 64
    partitionable = config.jax_threefry_partitionable
    high, low = _encrypted(key, 0, int(wide and not partitionable))
    if wide:
        shifted = lax.shift_left(high.astype("uint64"), np.uint64(32))
        return lax.bitwise_or(shifted, low.astype("uint64"))
    word = lax.bitwise_xor(high, low) if partitionable else high
    return lax.convert_element_type(word, f"uint{bit_width}")


def _uniform(key: Words, dtype: np.dtype, minval: Any = 0.0) -> Any:
    """The same as random.uniform(key, (), dtype, minval)."""
    bit_width = 8 if dtypes.finfo(dtype).nmant < 8 else 8 * dtype.itemsize
    unit = one_to_two(_bits(key, bit_width), bit_width, dtype) - constant(1, dtype)
    minval = constant(minval, dtype)
    return lax.max(minval, unit * (constant(1, dtype) - minval) + minval)


def _normal(key: Words, dtype: np.dtype) -> Any:
    """The same as random.normal(key, (), dtype)."""
    above_minus_one = np.nextafter(np.array(-1, dtype), np.array(0, dtype), dtype=dtype)
    return constant(np.sqrt(2), dtype) * lax.erf_inv(_uniform(key, dtype, above_minus_one))


# ---- the algorithm ----
#
# For normal x and v = (1 + c x)**3, the number d v has nearly a gamma distribution, with d = alpha - 1/3
# and c = 1 / (3 sqrt(d)). It is accepted if a uniform number u is below the ratio of the densities.
# This needs alpha >= 1. For smaller alpha, a gamma number of alpha + 1 is multiplied with u**(1 / alpha).

# loop(again, step, consts, carry): carry = step(consts, carry), as long as again(consts, carry).
LoopFunction = Callable[[Callable, Callable, list, list], list]


def _gamma(loop: LoopFunction, key: Words, alpha: Any, log_space: bool) -> Any:
    dtype = dtype_of(alpha)
    is_large = alpha >= constant(1, dtype)
    d = lax.select(is_large, alpha, alpha + constant(1, dtype)) - constant(1 / 3, dtype)
    c = constant(1 / 3, dtype) / lax.sqrt(d)
    key, boost_key = _split(key, 2)
    start = [*key, jnp.zeros_like(d), jnp.ones_like(d), jnp.full_like(d, 2)]  # is not accepted

    def attempt(consts: list, carry: list) -> list:
        key, x_key, u_key = _split((carry[0], carry[1]), 3)
        _, _, x, v = loop(
            lambda c, carry: carry[3] <= constant_like(carry[3], 0),
            _propose,
            consts[1:],
            [*x_key, jnp.zeros_like(carry[2]), jnp.full_like(carry[2], -1)],
        )
        return [*key, x * x, v * v * v, _uniform(u_key, dtype)]

    _, _, _, v, _ = loop(_is_rejected, attempt, [d, c], start)
    return _boosted(boost_key, alpha, is_large, d, v, log_space)


def _propose(consts: list, carry: list) -> list:
    """A normal number x, and 1 + c x, which must not be negative."""
    (c,) = consts
    key, subkey = _split((carry[0], carry[1]), 2)
    x = _normal(subkey, dtype_of(c))
    return [*key, x, constant_like(c, 1) + x * c]


def _is_rejected(consts: list, carry: list) -> Any:
    """A quick test, which accepts most proposals, and the exact test."""
    d, _ = consts
    _, _, x_squared, v, u = carry
    one, half, quick = (constant_like(v, value) for value in (1, 0.5, 0.0331))
    above_quick = u >= one - quick * (x_squared * x_squared)
    return above_quick & (lax.log(u) >= x_squared * half + d * ((one - v) + lax.log(v)))


def _boosted(key: Words, alpha: Any, is_large: Any, d: Any, v: Any, log_space: bool) -> Any:
    """d v times the factor for a small alpha; in log space, where small numbers do not become 0."""
    dtype = dtype_of(alpha)
    one = constant(1, dtype)
    u = _uniform(key, dtype)
    if not log_space:
        boost = lax.select(is_large, jnp.ones_like(d), lax.pow(one - u, one / alpha))
        return d * v * boost
    log_u = lax.log1p(-u)
    without = is_large | (log_u == constant(0, dtype))
    boost = lax.select(without, jnp.zeros_like(d), log_u * (one / alpha))
    return lax.log(d) + lax.log(v) + boost


# ---- the loop of each element, in NumPy and in kernels ----


def _loop_in_numpy(again: Callable, step: Callable, consts: list, carry: list) -> list:
    """Each round computes only the elements that continue."""
    carry = [np.array(x) for x in carry]
    places = np.flatnonzero(again(consts, _arrays(carry)))
    while places.size:
        here = [np.asarray(x)[places] for x in consts]
        after = step(_arrays(here), _arrays([x[places] for x in carry]))
        for x, new in zip(carry, after):
            x[places] = new
        places = places[np.asarray(again(_arrays(here), after))]
    return _arrays(carry)


def _arrays(xs: list) -> list:
    return [jnp.asarray(x) for x in xs]


def _loop_in_kernel(again: Callable, step: Callable, consts: list, carry: list) -> list:
    return while_loop(lambda carry: again(consts, carry), lambda carry: step(consts, carry), carry)


# ---- the primitive ----

# Operands: keys of shape s, and alpha of a shape that begins with s.
random_gamma_p = Primitive("random_gamma", axes="elementwise", **MOVES, keys="used")


def _random_gamma_impl(keys: np.ndarray, alpha: np.ndarray, *, log_space: bool) -> Any:
    count = math.prod(alpha.shape[keys.ndim :])
    words = split_words(words_of(keys), (count,)).reshape(-1, 2)
    flat = jnp.asarray(alpha.reshape(-1))
    drawn = _gamma(_loop_in_numpy, (words[:, 0], words[:, 1]), flat, log_space)
    return np.asarray(drawn).reshape(alpha.shape)


def _random_gamma_on_words(words: Any, alpha: Any, *, log_space: bool) -> Any:
    """random_gamma in a compiled program: one kernel, in which each element runs its own loop."""
    keys_shape, shape = shape_of(words)[:-1], shape_of(alpha)
    count = math.prod(shape[len(keys_shape) :])
    if not math.prod(shape):
        return alpha
    words = word_rules[random_split_p](words, shape=(count,))
    words = lax.reshape(words, (math.prod(shape), 2))
    key1, key2 = (lax.index_in_dim(words, i, -1, keepdims=False) for i in (0, 1))
    drawn = vmap(lambda key1, key2, a: _gamma(_loop_in_kernel, (key1, key2), a, log_space))(
        key1, key2, lax.reshape(alpha, (math.prod(shape),))
    )
    return lax.reshape(drawn, shape)


def _random_gamma_aval(keys: ShapedArray, alpha: ShapedArray, *, log_space: bool) -> ShapedArray:
    if keys.dtype != dtypes.key_dtype:
        raise TypeError(f"random_gamma takes a key array operand, got dtype {keys.dtype.name}")
    if not dtypes.is_float(alpha.dtype):
        raise TypeError(f"random_gamma takes a floating alpha, got dtype {alpha.dtype.name}")
    if alpha.shape[: keys.ndim] != keys.shape:
        raise TypeError(
            f"random_gamma needs a key for each array of alphas; got keys of shape {keys.shape} for "
            f"alphas of shape {alpha.shape}"
        )
    return ShapedArray(alpha.shape, alpha.dtype)


def _random_gamma_jvp(tangent: Any, drawn: Any, keys: Any, alpha: Any, *, log_space: bool) -> Any:
    """The draw x keeps its quantile F(alpha, x) when alpha changes: dx = -(dF/dalpha) / (dF/dx)."""
    if not log_space:
        return tangent * random_gamma_grad(alpha, drawn)
    sample = lax.exp(drawn)
    tiny = jnp.full_like(sample, dtypes.finfo(dtype_of(sample)).tiny)
    sample = lax.select(sample == constant_like(sample, 0), tiny, sample)
    return tangent * (random_gamma_grad(alpha, sample) / sample)


def _random_gamma_batch(vals: Any, dims: Any, *, log_space: bool) -> Any:
    size = next(shape_of(x)[d] for x, d in zip(vals, dims) if d is not None)
    keys, alpha = (bdim_at_front(x, d, size) for x, d in zip(vals, dims))
    return random_gamma_p.bind(keys, alpha, log_space=log_space), 0


impl_rules[random_gamma_p] = _random_gamma_impl
abstract_eval_rules[random_gamma_p] = _random_gamma_aval
batch_rules[random_gamma_p] = _random_gamma_batch
defjvp2(random_gamma_p, None, _random_gamma_jvp)
no_rule_reasons[random_gamma_p, "transpose"] = "its jvp is written with other primitives"
lowering_rules[random_gamma_p] = OnHost("kernels do not compute with random keys")
word_rules[random_gamma_p] = _random_gamma_on_words
