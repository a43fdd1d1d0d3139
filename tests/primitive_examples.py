"""A call of every primitive: what test_primitives.py walks. A new primitive gets its line here."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax, random
from tinyjax.interpreters.jvp import add_any_p
from tinyjax.random.threefry import threefry2x32_p
from tinyjax.transfer import device_put


class Example(NamedTuple):
    """A function that binds the primitive, arguments for it, and whether its derivative there is
    that of finite differences (False at integers, jumps and kinks)."""

    fun: Callable[..., Any]
    args: tuple[Any, ...]
    smooth: bool = True


def floats(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> np.ndarray:
    """Distinct numbers in random order: derivatives of max and sort have no ties to break."""
    count = int(np.prod(shape))
    values = np.linspace(low, high, count, dtype=np.float64) + 0.01
    return np.random.default_rng(seed).permutation(values).reshape(shape).astype(np.float32)


x = floats(2, 3)
y = floats(2, 3, seed=1)
positive = floats(2, 3, low=0.2, high=3.0)
unit = floats(2, 3, low=-0.9, high=0.9)
ints = np.array([[3, -7, 5], [-2, 8, 1]], np.int32)
other_ints = np.array([[2, 3, -4], [1, 2, 3]], np.int32)
bools = np.array([[True, False, True], [False, False, True]])
compl = (x + 1j * y).astype(np.complex64)
seeds = np.array([0, 42], np.uint32)
bits_of = random.key_data


def unary(fun: Callable, arg: np.ndarray = x) -> list[Example]:
    return [Example(fun, (arg,))]


def step(fun: Callable, *args: Any) -> list[Example]:
    """An example whose derivative is not asked for: integers, or a piecewise constant function."""
    return [Example(fun, args, smooth=False)]


def dot(lhs_contract: Any, rhs_contract: Any, lhs_batch: Any = (), rhs_batch: Any = ()) -> Callable:
    numbers = ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))
    return lambda a, b: lax.dot_general(a, b, numbers)


EXAMPLES: dict[str, list[Example]] = {
    # ---- arithmetic ----
    "add": [Example(lax.add, (x, y)), Example(lax.add, (x, y[:1])), *step(lax.add, ints, ints)],
    "sub": [Example(lax.sub, (x, y)), Example(lax.sub, (x[:1], y))],
    "mul": [Example(lax.mul, (x, y)), Example(lax.mul, (x[:, :1], y))],
    "div": [Example(lax.div, (x, positive)), *step(lax.div, ints, other_ints)],
    "rem": [Example(lax.rem, (x, positive)), *step(lax.rem, ints, other_ints)],
    "neg": unary(lax.neg),
    "add_any": [Example(add_any_p.bind, (x, y))],
    "max": [Example(lax.max, (x, y))],
    "min": [Example(lax.min, (x, y))],
    "sign": step(lax.sign, x),
    "abs": [*unary(lax.abs), *step(lax.abs, ints)],
    "pow": [Example(lax.pow, (positive, y))],
    "integer_pow": [Example(lambda x, n=n: lax.integer_pow(x, n), (positive,)) for n in (3, -2)],
    "square": unary(lax.square),
    "sqrt": unary(lax.sqrt, positive),
    "rsqrt": unary(lax.rsqrt, positive),
    "cbrt": unary(lax.cbrt, positive),
    "clamp": [
        Example(
            lambda a: lax.clamp(lax.full_like(a, -1, shape=()), a, lax.full_like(a, 1, shape=())),
            (x,),
        )
    ],
    "select_n": [Example(lambda a, b: lax.select_n(bools, a, b), (x, y))],
    "nextafter": step(lax.nextafter, x, y),
    # ---- exponentials, trigonometry, special functions ----
    "exp": unary(lax.exp),
    "exp2": unary(lax.exp2),
    "expm1": unary(lax.expm1),
    "log": unary(lax.log, positive),
    "log1p": unary(lax.log1p, positive),
    "logistic": unary(lax.logistic),
    "tanh": unary(lax.tanh),
    "sinh": unary(lax.sinh),
    "cosh": unary(lax.cosh),
    "asinh": unary(lax.asinh),
    "acosh": unary(lax.acosh, positive + 1),
    "atanh": unary(lax.atanh, unit),
    "sin": unary(lax.sin),
    "cos": unary(lax.cos),
    "tan": unary(lax.tan, unit),
    "asin": unary(lax.asin, unit),
    "acos": unary(lax.acos, unit),
    "atan": unary(lax.atan),
    "atan2": [Example(lax.atan2, (x, y))],
    "erf": unary(lax.erf),
    "erfc": unary(lax.erfc),
    "erf_inv": unary(lax.erf_inv, unit),
    "lgamma": unary(lax.lgamma, positive),
    "digamma": unary(lax.digamma, positive),
    "polygamma": [Example(lambda a: lax.polygamma(jnp.ones_like(a), a), (positive,))],
    # ---- comparison, logic, bits, rounding ----
    **{name: step(getattr(lax, name), ints, other_ints) for name in ("eq", "ne", "ge", "gt")},
    **{
        name: step(getattr(lax, name), x, y) for name in ("le", "lt", "is_finite") if name[0] == "l"
    },
    "eq_to": step(lax.eq_to_p.bind, x, y),
    "le_to": step(lax.le_to_p.bind, x, y),
    "lt_to": step(lax.lt_to_p.bind, x, y),
    "is_finite": step(lax.is_finite, np.array([1, np.inf, np.nan], np.float32)),
    "floor": step(lax.floor, x),
    "ceil": step(lax.ceil, x),
    "round": step(lax.round, x),
    "not": step(lax.bitwise_not, ints),
    "and": step(lax.bitwise_and, ints, other_ints),
    "or": step(lax.bitwise_or, ints, other_ints),
    "xor": step(lax.bitwise_xor, ints, other_ints),
    "shift_left": step(lax.shift_left, ints, np.abs(other_ints)),
    "shift_right_arithmetic": step(lax.shift_right_arithmetic, ints, np.abs(other_ints)),
    "shift_right_logical": step(lax.shift_right_logical, ints, np.abs(other_ints)),
    "population_count": step(lax.population_count, ints),
    "clz": step(lax.clz, ints),
    # ---- conversion and complex numbers ----
    "convert_element_type": [
        Example(lambda a: lax.convert_element_type(a, np.float32), (x,), smooth=False),
        *step(lambda a: lax.convert_element_type(a, np.int32), x),
        *step(lambda a: lax.convert_element_type(a, np.float16), x),
    ],
    "bitcast_convert_type": step(lambda a: lax.bitcast_convert_type(a, np.int32), x),
    "reduce_precision": step(lambda a: lax.reduce_precision(a, 5, 10), x),
    "copy": unary(lax.copy),
    "stop_gradient": step(lax.stop_gradient, x),
    "iota": step(lambda a: lax.broadcasted_iota(np.float32, (2, 3), 1) + a, x),
    "device_put": [Example(lambda a: device_put(a), (x,))],
    "real": [Example(lambda a: lax.real(lax.complex(a, a)), (x,)), *step(lax.real, compl)],
    "imag": [Example(lambda a: lax.imag(lax.complex(a, a)), (x,)), *step(lax.imag, compl)],
    "complex": [Example(lambda a, b: lax.real(lax.complex(a, b)), (x, y))],
    "conj": [
        Example(lambda a: lax.imag(lax.conj(lax.complex(a, a))), (x,)),
        *step(lax.conj, compl),
    ],
    # ---- shape ----
    "broadcast_in_dim": [Example(lambda a: lax.broadcast_in_dim(a, (4, 2, 3), (1, 2)), (x,))],
    "reshape": [Example(lambda a: lax.reshape(a, (3, 2)), (x,))],
    "transpose": [Example(lambda a: lax.transpose(a, (1, 0)), (x,))],
    "squeeze": [Example(lambda a: lax.squeeze(a, (0,)), (x[:1],))],
    "rev": [Example(lambda a: lax.rev(a, (1,)), (x,))],
    "pad": [Example(lambda a, v: lax.pad(a, v, ((1, 0, 2), (-1, 1, 0))), (x, np.float32(3)))],
    "concatenate": [Example(lambda a, b: lax.concatenate([a, b], 1), (x, y))],
    "split": [Example(lambda a: lax.split(a, (1, 2), 1), (x,))],
    "slice": [Example(lambda a: lax.slice(a, (0, 0), (2, 3), (1, 2)), (x,))],
    "stack": [Example(lambda a, b: jnp.stack([a, b], 1), (x, y))],
    "unstack": [Example(lambda a: jnp.unstack(a), (x,))],
    "tile": [Example(lambda a: lax.tile(a, (2, 1)), (x,))],
    # ---- reductions ----
    "reduce_sum": [Example(lambda a: jnp.sum(a, 1), (x,))],
    "reduce_prod": [Example(lambda a: jnp.prod(a, 1), (x,))],
    "reduce_max": [Example(lambda a: jnp.max(a, 0), (x,))],
    "reduce_min": [Example(lambda a: jnp.min(a, 0), (x,))],
    "reduce_and": step(lambda a: jnp.all(a, 1), bools),
    "reduce_or": step(lambda a: jnp.any(a, 1), bools),
    "reduce_xor": step(lambda a: lax.reduce_xor_p.bind(a, axes=(1,)), ints),
    "argmax": step(lambda a: lax.argmax(a, 1, np.int32), x),
    "argmin": step(lambda a: lax.argmin(a, 0, np.int32), x),
    "cumsum": [Example(lambda a: lax.cumsum(a, 1), (x,))],
    "cumprod": [Example(lambda a: lax.cumprod(a, 1, reverse=True), (x,))],
    "cummax": [Example(lambda a: lax.cummax(a, 1), (x,))],
    "cummin": [Example(lambda a: lax.cummin(a, 0), (x,))],
    "cumlogsumexp": [Example(lambda a: lax.cumlogsumexp(a, 1), (x,))],
    "sort": [Example(lambda a: lax.sort(a, dimension=1), (x,)), *step(lax.sort, ints)],
    "top_k": [Example(lambda a: lax.top_k(a, 2)[0], (x,))],
    # ---- products ----
    "dot_general": [
        Example(dot((1,), (0,)), (x, floats(3, 4))),
        Example(dot((2,), (1,), (0,), (0,)), (floats(2, 3, 4), floats(2, 4, 3))),
        *step(dot((1,), (0,)), ints, other_ints.T),
    ],
    # ---- indexing ----
    "dynamic_slice": [Example(lambda a: lax.dynamic_slice(a, (0, 1), (2, 2)), (x,))],
    "dynamic_update_slice": [
        Example(lambda a, b: lax.dynamic_update_slice(a, b, (0, 1)), (x, y[:, :2]))
    ],
    "gather": [Example(lambda a: a[:, np.array([2, 0, 2])], (jnp.asarray(x),))],
    "scatter": [Example(lambda a, b: jnp.asarray(a).at[0].set(b), (x, y[0]))],
    "scatter-add": [
        Example(lambda a, b: jnp.asarray(a).at[:, np.array([1, 1])].add(b), (x, y[:, :2]))
    ],
    "scatter-sub": [Example(lambda a, b: jnp.asarray(a).at[1].subtract(b), (x, y[0]))],
    "scatter-mul": [Example(lambda a, b: jnp.asarray(a).at[1].multiply(b), (x, y[0]))],
    "scatter-min": step(lambda a, b: jnp.asarray(a).at[1].min(b), x, y[0]),
    "scatter-max": step(lambda a, b: jnp.asarray(a).at[1].max(b), x, y[0]),
    # ---- calls ----
    "jit": [Example(jax.jit(lambda a: lax.mul(lax.sin(a), a)), (x,))],
    # ---- random bits ----
    "threefry2x32": step(lambda a: threefry2x32_p.bind(a, a + 1, a + 2, a + 3), seeds),
    "random_seed": step(lambda s: bits_of(random.key(s)), np.int32(7)),
    "random_wrap": step(lambda b: bits_of(random.wrap_key_data(b)), seeds),
    "random_unwrap": step(lambda b: bits_of(random.wrap_key_data(b)), seeds),
    "random_clone": step(lambda b: bits_of(random.clone(random.wrap_key_data(b))), seeds),
    "random_split": step(lambda b: bits_of(random.split(random.wrap_key_data(b), 3)), seeds),
    "random_fold_in": step(lambda b: bits_of(random.fold_in(random.wrap_key_data(b), 5)), seeds),
    "random_bits": step(lambda b: random.bits(random.wrap_key_data(b), (3,)), seeds),
}
