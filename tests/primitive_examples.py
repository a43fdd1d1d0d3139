"""A call of every primitive: what test_primitives.py walks. A new primitive gets its line here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax, random
from tinyjax.core.array import ShapedArray
from tinyjax.experimental import io_callback
from tinyjax.experimental.checkify import debug_check
from tinyjax.lax import linalg
from tinyjax.lax.approximate import approx_max_k, approx_min_k
from tinyjax.lax.barriers import optimization_barrier
from tinyjax.lax.convolution_functions import conv_general_dilated
from tinyjax.lax.creation import empty_like_aval
from tinyjax.lax.fourier import fft
from tinyjax.lax.lowering.fourier import fft_of_axis_p
from tinyjax.lax.transfer import device_put
from tinyjax.random.threefry import threefry2x32_p
from tinyjax.scipy import special
from tinyjax.scipy.special import hypergeometric
from tinyjax.scipy.special.complex_gamma import complex_digamma_p
from tinyjax.sharding import AxisType, Mesh, NamedSharding, reshard
from tinyjax.sharding import PartitionSpec as P
from tinyjax.sparse.creation import todense
from tinyjax.transform.custom import linear_call
from tinyjax.transform.custom.custom_vmap import custom_vmap
from tinyjax.transform.jvp import add_any_p
from tinyjax.transform.remat.named_policies import checkpoint_name


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
tall = floats(4, 3)
square = floats(3, 3, low=-0.9, high=0.9)
block = floats(3, 4, 5)
one = np.float32(0.7)
low, high = floats(2, 3, low=-3, high=-1), floats(2, 3, low=1, high=3, seed=1)
roots_of_unity = np.exp(-2j * np.pi / 3 * np.arange(3)).astype(np.complex64)
z, w = (x + 0.4j).astype(np.complex64), (positive - 0.3j).astype(np.complex64)
ints = np.array([[3, -7, 5], [-2, 8, 1]], np.int32)
other_ints = np.array([[2, 3, -4], [1, 2, 3]], np.int32)
shifts = np.abs(other_ints)
bools = np.array([[True, False, True], [False, False, True]])
seeds = np.array([0, 42], np.uint32)
bits_of = random.key_data

# Index vectors: of two rows, of one row twice, and some of them outside.
rows = np.array([[0], [2]], np.int32)
twice = np.array([[1], [1]], np.int32)
outside = np.array([[-1], [2], [7]], np.int32)
of_batch = np.array([[3], [0]], np.int32)
two_rows = floats(2, 3, low=-1.9, high=1.7, seed=2)


def over_mesh(fun: Callable, out_specs: P) -> Callable:
    """What the one device of a mesh computes with all rows."""
    mesh = Mesh(jax.devices()[:1], ("i",))
    return jax.shard_map(fun, mesh=mesh, in_specs=P("i"), out_specs=out_specs)


def on_mesh(kind: AxisType, place: Callable) -> Callable:
    """What `place(x, sharding)` gives, of x on the one device of a mesh with an axis of this kind."""

    def placed(x: Any) -> Any:
        mesh = Mesh(jax.devices()[:1], ("i",), axis_types=(kind,))
        return place(x, NamedSharding(mesh, P(*[None] * np.ndim(x))))

    return placed


def add_and_mix(a: Any, b: Any) -> Any:
    """An associative function of two pairs."""
    return a[0] + b[0], a[1] + b[1] + a[0] * b[0]


def smooth(fun: Callable, *args: Any) -> list[Example]:
    return [Example(fun, args)]


def step(fun: Callable, *args: Any) -> list[Example]:
    """An example whose derivative is not asked for: integers, or a piecewise constant function."""
    return [Example(fun, args, smooth=False)]


def over_rows(fun: Callable) -> Callable:
    """A function of a row, for all rows of a matrix along axis "i"."""
    return jax.vmap(fun, axis_name="i")


def unary(fun: Callable, *operands: np.ndarray) -> list[Example]:
    """A call for each operand."""
    return [Example(fun, (operand,)) for operand in operands or (x,)]


def binary(fun: Callable, a: np.ndarray, b: np.ndarray) -> list[Example]:
    """A call with operands of one shape, and calls where one is stretched."""
    pairs = (a, b), (a, b[:1]), (a[:, :1], b), (a, b[0, 0]), (a[0, 0], b)
    return [Example(fun, pair) for pair in pairs]


@jax.custom_jvp
def square_by_rule(a: Any) -> Any:
    return lax.mul(a, a)


square_by_rule.defjvps(lambda t, out, a: lax.mul(lax.mul(t, 2.0), a))


@custom_vmap
def add_by_rule(a: Any, b: Any) -> Any:
    return lax.add(a, b)


add_by_rule.def_vmap(lambda size, batched, a, b: (lax.add(*jnp.broadcast_arrays(a, b)), True))


def scaled_sum(r: Any, a: Any) -> Any:
    return (a * r).sum(0)


def scaled_copies(r: Any, ct: Any) -> Any:
    return ct * r


@jax.custom_vjp
def square_backward(a: Any) -> Any:
    return lax.mul(a, a)


square_backward.defvjp(lambda a: (square_backward(a), a), lambda a, ct: (lax.mul(ct, a),))


def dot(lhs_contract: Any, rhs_contract: Any, lhs_batch: Any = (), rhs_batch: Any = ()) -> Callable:
    numbers = ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))
    return lambda a, b: lax.dot_general(a, b, numbers)


def pad(*config: tuple[int, int, int]) -> Callable:
    return lambda a, value: lax.pad(a, value, config)


def positive_definite(a: Any) -> Any:
    return a @ jnp.conj(a.mT) + 3 * jnp.eye(a.shape[-1], dtype=a.dtype)


def triangular_solve(**params: Any) -> Callable:
    """With a matrix that is well-conditioned."""
    return lambda a, b: linalg.triangular_solve(a + 3 * jnp.eye(len(a)), b, **params)


def gather(numbers: Any, sizes: tuple[int, ...], **params: Any) -> Callable:
    return lambda a, i: lax.gather(a, i, lax.GatherDimensionNumbers(*numbers), sizes, **params)


def scatter(fun: Callable, numbers: Any, **params: Any) -> Callable:
    return lambda a, i, u: fun(a, i, u, lax.ScatterDimensionNumbers(*numbers), **params)


def convolution(strides: Any, padding: Any, *dilations: Any, groups: Any = (1, 1)) -> Callable:
    """Images and kernels as (batch, features, *spatial) and (outputs, inputs, *spatial)."""
    dilations = dilations or (None, None)
    return lambda a, b: conv_general_dilated(a, b, strides, padding, *dilations, None, *groups)


CONVOLVED = floats(2, 3, 4, 5), floats(2, 3, 2, 3, seed=1)

# Dimension numbers: a row at each index; windows of a vector; a row of each of a batch of matrices.
ROW = (1,), (0,), (0,)
WINDOW = (1,), (), (0,)
BATCHED = (1,), (1,), (1,), (0,), (0,)


EXAMPLES: dict[str, list[Example]] = {
    # ---- arithmetic ----
    "add": [*binary(lax.add, x, y), *step(lax.add, ints, ints)],
    "sub": [*binary(lax.sub, x, y), *smooth(lax.sub, z, w)],
    "mul": [*binary(lax.mul, x, y), *smooth(lax.mul, z, w)],
    "div": [
        *binary(lax.div, x, positive),
        *smooth(lax.div, z, w),
        *step(lax.div, ints, other_ints),
    ],
    "rem": [*binary(lax.rem, x, positive), *step(lax.rem, ints, other_ints)],
    "neg": unary(lax.neg),
    "add_any": smooth(add_any_p.bind, x, y),
    "max": binary(lax.max, x, y + 0.1),
    "min": binary(lax.min, x, y + 0.1),
    "sign": step(lax.sign, x),
    "abs": [*unary(lax.abs, x, z), *step(lax.abs, ints)],
    "pow": [
        *binary(lax.pow, positive, y),
        *smooth(lax.pow, w, z),
        *smooth(lambda a: lax.pow(a, np.int32(3)), x),
    ],
    "integer_pow": [
        *[Example(lambda a, n=n: lax.integer_pow(a, n), (positive,)) for n in (0, 1, 2, 3, -2)],
        *unary(lambda a: lax.integer_pow(a, 5), x, z),
        *unary(lax.reciprocal, positive, z),
    ],
    "square": unary(lax.square, x, z),
    "one_minus_square": unary(lax.one_minus_square, x, z),
    "polynomial": [
        *smooth(lambda a, b, c: lax.polynomial(a, [b, c, 2.0]), x, y, one),
        *unary(lambda a: lax.polynomial(a, [1.0, 2.0, 3.0], unroll=2), x, z),
    ],
    "sqrt": unary(lax.sqrt, positive, z),
    "rsqrt": unary(lax.rsqrt, positive, z),
    "cbrt": unary(lax.cbrt, positive),
    "clamp": [
        *smooth(lax.clamp, low, x, high),
        *smooth(lax.clamp, low[0, 0], x, high[0, 0]),
        *smooth(lax.clamp, low[0, 0], x, high),
    ],
    "select_n": [
        *smooth(lax.select_n, bools, x, y),
        *smooth(lax.select_n, np.bool_(True), x, y),
        *smooth(lax.select_n, np.bool_(True), one, -one),
        *smooth(lax.select_n, ints % 3, x, y, positive),
        *smooth(lax.select_n, np.int32(2), x, y, positive),
    ],
    "nextafter": step(lax.nextafter, x, y),
    # ---- exponentials, trigonometry, special functions ----
    "exp": unary(lax.exp, x, z),
    "exp2": unary(lax.exp2),
    "expm1": unary(lax.expm1, x, z),
    "log": unary(lax.log, positive, z),
    "log2": unary(lax.log2, positive, z),
    "log1p": unary(lax.log1p, positive, z),
    "logistic": unary(lax.logistic, x, z),
    "tanh": unary(lax.tanh, x, z),
    "sinh": unary(lax.sinh),
    "cosh": unary(lax.cosh, x, z),
    "asinh": unary(lax.asinh, x, z),
    "acosh": unary(lax.acosh, positive + 1),
    "atanh": unary(lax.atanh, unit),
    "sin": unary(lax.sin, x, z),
    "cos": unary(lax.cos, x, z),
    "tan": unary(lax.tan, unit, z),
    "asin": unary(lax.asin, unit, z),
    "acos": unary(lax.acos, unit),
    "atan": unary(lax.atan, x, z),
    "atan2": binary(lax.atan2, x, y),
    "erf": unary(lax.erf),
    "erfc": unary(lax.erfc),
    "erf_inv": unary(lax.erf_inv, unit),
    "lgamma": unary(lax.lgamma, positive),
    "digamma": unary(lax.digamma, positive, unit / 3 - 1.5),
    "polygamma": [
        *unary(lambda a: lax.polygamma(jnp.ones_like(a), a), positive),
        *step(lax.polygamma, np.abs(ints).astype(np.float32), positive),
    ],
    "bessel_i0e": unary(lax.bessel_i0e),
    "bessel_i1e": unary(lax.bessel_i1e),
    "igamma": binary(lax.igamma, positive, positive[:, ::-1] + 1),
    "igammac": binary(lax.igammac, positive, positive[:, ::-1]),
    "igamma_grad_a": step(lax.igamma_grad_a, positive, positive[:, ::-1] + 1),
    "random_gamma_grad": step(lax.random_gamma_grad, positive, positive[:, ::-1] + 1),
    "regularized_incomplete_beta": [
        *smooth(lambda b: lax.betainc(jnp.full_like(b, 1.5), jnp.full_like(b, 0.7), b), abs(unit)),
        *step(lax.betainc, positive, positive[:, ::-1], abs(unit)),
    ],
    "zeta": step(lax.zeta, positive + 1.5, positive),
    "bessel_jv": unary(lambda a: special.bessel_jn(a, v=2)),
    "poch": binary(special.poch, positive, positive[:, ::-1]),
    "ndtri": unary(special.ndtri, abs(unit)),
    "dawsn": unary(special.dawsn),
    "erfcx": unary(special.erfcx),
    "expi": unary(special.expi, positive, -positive),
    "expn": unary(lambda a: special.expn(2, a), positive),
    "sine_integral": unary(lambda a: special.sici(a)[0]),
    "cosine_integral": unary(lambda a: special.sici(a)[1], positive),
    "fresnel_sine": unary(lambda a: special.fresnel(a)[0]),
    "fresnel_cosine": unary(lambda a: special.fresnel(a)[1]),
    "spence": unary(special.spence, positive),
    "owens_t": binary(special.owens_t, x, y),
    "wofz": unary(special.wofz, z),
    "complex_loggamma": unary(special.loggamma, z),
    "complex_digamma": step(complex_digamma_p.bind, z),
    "spherical_harmonic_polar_part": unary(
        lambda a: special.sph_harm_y(jnp.array([3]), jnp.array([[2], [-1]]), a, 0.5), positive
    ),
    "hyp1f1": smooth(special.hyp1f1, x, positive, y),
    "hyp1f1_slope0": step(hypergeometric.hyp1f1_slope_of_a_p.bind, x, positive, y),
    "hyp1f1_slope1": step(hypergeometric.hyp1f1_slope_of_b_p.bind, x, positive, y),
    "hyp2f1": smooth(special.hyp2f1, x, y, positive, unit),
    "hyp2f1_slope0": step(hypergeometric.hyp2f1_slope_of_a_p.bind, x, y, positive, unit),
    "hyp2f1_slope1": step(hypergeometric.hyp2f1_slope_of_b_p.bind, x, y, positive, unit),
    "hyp2f1_slope2": step(hypergeometric.hyp2f1_slope_of_c_p.bind, x, y, positive, unit),
    # ---- comparison, logic, bits, rounding ----
    **{name: step(getattr(lax, name), ints, other_ints) for name in ("eq", "ne", "ge", "gt")},
    **{name: step(getattr(lax, name), x, y[0, 0]) for name in ("le", "lt")},
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
    "shift_left": step(lax.shift_left, ints, shifts),
    "shift_right_arithmetic": step(lax.shift_right_arithmetic, ints, shifts),
    "shift_right_logical": step(lax.shift_right_logical, ints, shifts),
    "population_count": step(lax.population_count, ints),
    "clz": step(lax.clz, ints),
    # ---- conversion and complex numbers ----
    "convert_element_type": [
        *smooth(lambda a: lax.convert_element_type(a, complex), x),
        *step(lambda a: lax.convert_element_type(a, np.int32), x),
        *step(lambda a: lax.convert_element_type(a, np.float16), x),
    ],
    "bitcast_convert_type": [
        *step(lambda a: lax.bitcast_convert_type(a, np.int32), x),
        *step(lambda a: lax.bitcast_convert_type(a, np.uint8), ints),
        *step(lambda a: lax.bitcast_convert_type(a, np.uint32), np.arange(8, dtype="u1")[None, :4]),
    ],
    "reduce_precision": step(lambda a: lax.reduce_precision(a, 5, 10), x),
    "copy": unary(lax.copy),
    "todense": unary(todense),
    "stop_gradient": step(lax.stop_gradient, x),
    "iota": step(lambda a: lax.broadcasted_iota(np.float32, (2, 3), 1) + a, x),
    "device_put": unary(lambda a: device_put(a)),
    "sharding_constraint": unary(on_mesh(AxisType.Auto, lax.with_sharding_constraint)),
    "reshard": unary(on_mesh(AxisType.Explicit, reshard)),
    "real": unary(lax.real, z),
    "imag": unary(lax.imag, z),
    "complex": binary(lax.complex, x, y),
    "conj": [*unary(lax.conj, z), *unary(lambda a: lax.exp(lax.conj(a)), x)],
    # ---- shape ----
    "broadcast_in_dim": [
        *unary(lambda a: lax.broadcast_in_dim(a, (4, 2, 3), (1, 2))),
        *unary(lambda a: lax.broadcast_in_dim(a, (2, 4, 3), (0, 1)), x[:, :1]),
        *unary(lambda a: lax.expand_dims(a, (0, 3))),
    ],
    "reshape": [
        *unary(lambda a: lax.reshape(a, (3, 2))),
        *unary(lambda a: lax.reshape(a, (2, 6), (1, 0)), tall),
        *unary(lambda a: lax.collapse(a, 1), block),
    ],
    "transpose": [
        *unary(lambda a: lax.transpose(a, (1, 0))),
        *unary(lambda a: lax.transpose(lax.reshape(a, (3, 2, 2, 1, 5)), (4, 3, 0, 1, 2)), block),
    ],
    "squeeze": [
        *unary(lambda a: lax.squeeze(a, (0,)), x[:1]),
        *unary(lambda a: lax.squeeze(a, (0, 2)), floats(1, 3, 1)),
    ],
    "rev": [*unary(lambda a: lax.rev(a, (1,))), *unary(lambda a: lax.rev(a, (0, 2)), block)],
    "tile": [
        *unary(lambda a: lax.tile(a, (2, 1))),
        *unary(lambda a: lax.tile(a, (2, 1, 3)), block),
    ],
    "concatenate": [
        *smooth(lambda *operands: lax.concatenate(operands, 1), x, y[:, :1], y[:, :0]),
        *smooth(lambda a, b: lax.concatenate([a, b, a], 0), x, y[:1]),
    ],
    "split": [
        *unary(lambda a: lax.split(a, (1, 2), 1)),
        *unary(lambda a: lax.split(a, (1, 0, 3), 1)[2], block),
    ],
    "stack": [
        *smooth(lambda a, b: lax.stack([a, b], 1), x, y),
        *unary(lambda a: lax.stack([a, lax.neg(a), lax.rev(a, (0,))], 1), block),
    ],
    "unstack": [*unary(lambda a: lax.unstack(a)), *unary(lambda a: lax.unstack(a, 1)[3], block)],
    "slice": [
        *unary(lambda a: lax.slice(a, (0, 0), (2, 3), (1, 2))),
        *unary(lambda a: lax.slice(a, (1, 0), (3, 2)), tall),
        *unary(lambda a: lax.slice(a, (0, 1, 2), (3, 4, 5), (2, 1, 3)), block),
    ],
    "pad": [
        *smooth(pad((1, 2, 0), (0, 1, 0)), x, one),
        *smooth(pad((1, 0, 2), (-1, 1, 0)), x, one),
        *smooth(pad((-1, 2, 1), (1, -2, 0)), tall, one),
        *smooth(pad((1, 2, 0), (0, 0, 1), (-1, 3, 2)), block, one),
        *smooth(pad((2, 0, 3), (-2, 1, 0), (0, -3, 1)), block, one),
    ],
    # ---- reductions ----
    "reduce_sum": [*unary(lambda a: jnp.sum(a, 1)), *unary(lambda a: jnp.sum(a, (0, 2)), block)],
    "reduce_prod": [*unary(lambda a: jnp.prod(a)), *unary(lambda a: jnp.prod(a, 2), block)],
    "reduce_max": [*unary(lambda a: jnp.max(a, 0)), *unary(lambda a: jnp.max(a, (0, 2)), block)],
    "reduce_min": [*unary(lambda a: jnp.min(a)), *unary(lambda a: jnp.min(a, 1), block)],
    "reduce_and": [
        *step(lambda a: jnp.all(a, 1), bools),
        *step(lambda a: lax.reduce_and(a, (1,)), ints),
    ],
    "reduce_or": [
        *step(lambda a: jnp.any(a, 1), bools),
        *step(lambda a: lax.reduce_or(a, (0,)), ints),
    ],
    "reduce_xor": step(lambda a: lax.reduce_xor(a, (0, 1)), ints),
    "argmax": step(lambda a: lax.argmax(a, 1, np.int32), x),
    "argmin": step(lambda a: lax.argmin(a, 0, np.int32), x),
    "cumsum": [
        *unary(lambda a: lax.cumsum(a, 1)),
        *unary(lambda a: lax.cumsum(a, 1, reverse=True), block),
    ],
    "cumprod": [*unary(lambda a: lax.cumprod(a, 1, reverse=True)), *unary(lax.cumprod, block)],
    "cummax": [*unary(lambda a: lax.cummax(a, 1)), *unary(lax.cummax, block)],
    "cummin": [*unary(lax.cummin), *unary(lambda a: lax.cummin(a, 1, reverse=True), block)],
    "cumlogsumexp": [*unary(lambda a: lax.cumlogsumexp(a, 1)), *unary(lax.cumlogsumexp, block)],
    "sort": [
        *unary(lambda a: lax.sort(a, 1), x, block),
        *smooth(lambda a, b: lax.sort((a, b), 1, num_keys=1), x, y),
        *step(lax.sort, ints),
    ],
    "top_k": [
        *unary(lambda a: lax.top_k(a, 2)[0]),
        *unary(lambda a: lax.top_k(a, 2, axis=0)[0], tall),
        *step(lambda a: lax.top_k(a, 1), ints),
    ],
    "approx_top_k": [
        *unary(lambda a: approx_max_k(a, 2)[0]),
        *unary(lambda a: approx_min_k(a, 2, reduction_dimension=0)[0], tall),
    ],
    # ---- order of computation ----
    "optimization_barrier": [*unary(lambda a: optimization_barrier((a, 2.0))[0])],
    # ---- products ----
    "dot_general": [
        *smooth(dot((1,), (0,)), x, floats(3, 4)),
        *smooth(dot((0,), (0,)), x, y[:, 0]),
        *smooth(dot((), ()), x[0], y[1]),
        *smooth(dot((1,), (0,)), x[:, :0], y.T[:0]),
        *smooth(lax.batch_matmul, floats(2, 3, 4), floats(2, 4, 3)),
        *smooth(dot((1, 3), (3, 1), (0,), (2,)), floats(2, 3, 4, 2), floats(5, 2, 2, 3)),
        *step(dot((1,), (0,)), ints, other_ints.T),
    ],
    # ---- indexing ----
    "dynamic_slice": [
        *smooth(lambda a, i, j: lax.dynamic_slice(a, (i, j), (2, 2)), tall, ints[0, 0], ints[1, 2]),
        *smooth(lambda a, i: lax.dynamic_index_in_dim(a, i, 1, False), x, ints[1, 2]),
    ],
    "dynamic_update_slice": [
        *smooth(
            lambda a, u, i, j: lax.dynamic_update_slice(a, u, (i, j)),
            *(tall, y[:, :2], ints[1, 0], ints[1, 2]),
        ),
        *smooth(
            lambda a, u, i: lax.dynamic_update_index_in_dim(a, u, i, 1), x, y[:, 0], ints[1, 2]
        ),
    ],
    "gather": [
        *smooth(gather(ROW, (1, 3)), tall, rows),
        *smooth(gather(WINDOW, (3,), mode="clip"), floats(5), outside),
        *smooth(gather(WINDOW, (2,), mode="fill", fill_value=0), floats(5), outside),
        # Of a broken promise, reads are clipped and writes dropped: no transposes.
        *step(gather(WINDOW, (2,), mode="promise_in_bounds"), floats(5), outside),
        *smooth(gather(BATCHED, (1, 1, 3)), floats(2, 4, 3), of_batch),
    ],
    "scatter": [
        *smooth(scatter(lax.scatter, ROW), tall, rows, two_rows),
        *smooth(scatter(lax.scatter, ROW), tall, twice, two_rows),
        *smooth(scatter(lax.scatter, ROW, unique_indices=True), tall, rows, two_rows[:, :2]),
        *smooth(scatter(lax.scatter, WINDOW, mode="clip"), floats(9), of_batch - 1, two_rows),
        *smooth(
            scatter(lax.scatter, BATCHED, unique_indices=True), floats(2, 4, 3), of_batch, two_rows
        ),
        *step(
            lambda a, i: lax.scatter_apply(
                a, i, lax.sin, lax.ScatterDimensionNumbers(*ROW), update_shape=(2, 3)
            ),
            *(tall, twice),
        ),
    ],
    "scatter-add": [
        *smooth(scatter(lax.scatter_add, ROW), tall, twice, two_rows),
        *[
            Example(scatter(lax.scatter_add, WINDOW, mode=mode), (floats(5), outside, floats(3, 2)))
            for mode in ("drop", "clip")
        ],
        *step(
            scatter(lax.scatter_add, WINDOW, mode="promise_in_bounds"),
            *(floats(5), outside, floats(3, 2)),
        ),
    ],
    "scatter-sub": smooth(scatter(lax.scatter_sub, ROW), tall, twice, two_rows),
    "scatter-mul": [
        *smooth(scatter(lax.scatter_mul, ROW, unique_indices=True), tall, rows, two_rows),
        *step(scatter(lax.scatter_mul, ROW), tall, twice, two_rows),
    ],
    "scatter-min": smooth(scatter(lax.scatter_min, ROW), tall, rows, two_rows),
    "scatter-max": smooth(scatter(lax.scatter_max, ROW), tall, twice, two_rows),
    # ---- reductions by any function, and over windows ----
    "reduce": [
        *smooth(lambda a: lax.reduce(a, a.dtype.type(1), lambda p, q: p * q, (0,)), positive),
        *smooth(lambda a, b: lax.reduce((a, b), (a.dtype.type(0),) * 2, add_and_mix, (1,)), x, y),
    ],
    "reduce_window": step(lambda a: lax.reduce_window(a, 1.0, lax.mul, (2, 2)), positive),
    "reduce_window_sum": [
        *smooth(lambda a: lax.reduce_window(a, 0.0, lax.add, (2, 2), (2, 1), "SAME"), tall),
        *smooth(
            lambda a: lax.reduce_window(
                a, 0.0, lax.add, (2, 2), (1, 2), ((1, 0), (-1, 2)), (2, 1), (1, 2)
            ),
            floats(4, 5),
        ),
    ],
    "reduce_window_max": smooth(
        lambda a: lax.reduce_window(a, -np.inf, lax.max, (2, 2), (1, 2), "SAME", (2, 1)), tall
    ),
    "reduce_window_min": smooth(
        lambda a: lax.reduce_window(a, np.inf, lax.min, (1, 3), (1, 2), "SAME_LOWER"), floats(3, 7)
    ),
    "select_and_gather_add": smooth(
        lambda a, b: jax.jvp(lambda c: lax.reduce_window(c, -np.inf, lax.max, (2, 2)), (b,), (a,))[
            1
        ],
        *(floats(4, 3, seed=1), tall),
    ),
    "select_and_scatter_add": smooth(
        lambda a, b: jax.vjp(lambda c: lax.reduce_window(c, -np.inf, lax.max, (2, 2)), b)[1](a)[0],
        *(floats(3, 2), tall),
    ),
    # ---- convolutions ----
    "conv_general_dilated": [
        *smooth(convolution((2, 1), ((1, 0), (-1, 2)), (1, 2), (2, 1)), *CONVOLVED),
        *smooth(convolution((2,), "SAME", groups=(2, 1)), floats(3, 4, 5), floats(6, 2, 3)),
        *smooth(convolution((1,), ((2, 1),), groups=(1, 2)), floats(4, 2, 5), floats(6, 2, 3)),
        *step(convolution((1,), "VALID"), ints.reshape(1, 2, 3), other_ints.reshape(1, 2, 3)),
    ],
    # ---- calls ----
    "custom_jvp_call": unary(square_by_rule),
    "linear_call": [
        *smooth(lambda a: linear_call(lambda r, t: t * r, lambda r, ct: ct * r, 3.0, a), x),
        *step(lambda r, a: linear_call(scaled_sum, scaled_copies, r, a), x, y),
    ],
    "custom_vmap_call": step(add_by_rule, x, y),
    "custom_vjp_call": step(square_backward, x),  # no forward mode: the module's own test has grad
    "remat2": [
        *unary(jax.checkpoint(lambda a: lax.sin(lax.mul(lax.sin(a), a)))),
        *smooth(
            jax.checkpoint(
                lambda a, b: lax.sin(lax.dot(a, b.T)),
                policy=jax.checkpoint_policies.dots_saveable,
            ),
            *(x, y),
        ),
    ],
    "name": unary(lambda a: lax.sin(checkpoint_name(lax.sin(a), "inner"))),
    "jit": unary(jax.jit(lambda a: lax.mul(lax.sin(a), a))),
    # ---- Python, called while the program runs ----
    "debug_print": unary(lambda a: (jax.debug.print("{}", a), lax.sin(a))[1]),
    "debug_callback": unary(lambda a: (jax.debug.callback(np.sin, a), lax.sin(a))[1]),
    "pure_callback": step(lambda a: jax.pure_callback(np.sin, a, a, vmap_method="expand_dims"), x),
    "debug_check": unary(lambda a: (debug_check(True, "never fails"), lax.sin(a))[1]),
    "io_callback": step(lambda a: io_callback(np.sin, a, a), x),
    # ---- over named axes ----
    "shard_map": unary(over_mesh(lambda r: jnp.sin(lax.psum(r, "i")), P()), x),
    "pvary": unary(over_mesh(lambda r: r * lax.pcast(one, "i", to="varying"), P("i")), x),
    "psum_invariant": unary(over_mesh(lambda r: lax.psum(r, "i"), P()), x),
    "all_gather_invariant": unary(
        over_mesh(lambda r: lax.all_gather(r, "i", to="invarying"), P()), x
    ),
    "psum": unary(over_rows(lambda r: lax.psum(r, "i")), x),
    "pmax": step(over_rows(lambda r: lax.pmax(r, "i")), x),
    "pmin": step(over_rows(lambda r: lax.pmin(r, "i")), x),
    "axis_index": unary(over_rows(lambda r: r * lax.axis_index("i")), x),
    "all_gather": unary(over_rows(lambda r: lax.all_gather(r, "i", axis=1)), x),
    "reduce_scatter": unary(over_rows(lambda r: lax.psum_scatter(r[:2], "i")), x),
    "all_to_all": unary(over_rows(lambda r: lax.all_to_all(r[:2], "i", 0, 0)), x),
    "ppermute": unary(over_rows(lambda r: lax.pshuffle(r, "i", [1, 0])), x),
    "pbroadcast": unary(over_rows(lambda r: lax.pbroadcast(r, "i", 1)), x),
    # ---- branches ----
    "cond": [
        *smooth(lambda p, a, b: lax.cond(p, lambda: lax.sin(a) * b, lambda: a), bools[0, 0], x, y),
        *smooth(lambda i, a: lax.switch(i, [lax.sin, lax.exp, lambda a: a * a], a), ints[0, 0], x),
        *smooth(lambda a: lax.cond(a > 0, lax.sin, lax.square, a), one),
        *step(lambda i, n: lax.switch(i, [lax.neg, lambda n: n + 1], n), np.int32(1), ints),
    ],
    "empty2": step(lambda: empty_like_aval(ShapedArray((2,), np.dtype(np.float32)))),
    "custom_linear_solve": smooth(
        lambda a, b: lax.custom_linear_solve(
            lambda v: a * v, b, lambda f, v: v / f(jnp.ones_like(v)), symmetric=True
        ),
        *(positive, y),
    ),
    # ---- loops ----
    "while": [  # forward mode alone has rules: see test_while_loop.py
        *step(
            lambda a, n: lax.while_loop(
                lambda c: c[0] < n, lambda c: (c[0] + 1, lax.sin(c[1]) * a), (0, a)
            ),
            *(x, np.int32(3)),
        ),
        *step(lambda a: lax.while_loop(lambda c: (c < 9).any(), lambda c: c * 2 + 1, a), positive),
        *step(lambda n: lax.while_loop(lambda c: c % 7 != 0, lambda c: 3 * c + 1, n), np.int32(2)),
    ],
    "scan": [
        *smooth(lambda c, xs: lax.scan(lambda c, a: (c * lax.sin(a), c + a), c, xs), x[0], tall),
        *smooth(
            lambda a, b, xs: jax.tree.leaves(  # but for the count
                lax.scan(
                    lambda c, u: ((c[0] + 1, c[1] * lax.sin(a) + b * u), c[1] * u[0]),
                    *((0, jnp.zeros(3)), xs),
                    reverse=True,
                )
            )[1:],
            *(x[0], y[0], tall),
        ),
        *smooth(lambda a: lax.fori_loop(0, 5, lambda i, c: lax.sin(c) * a, a), x),
        *smooth(lambda xs: lax.map(lambda a: lax.scan(lambda c, b: (c * b, c), 1.0, a), xs), x),
    ],
    # ---- matrices ----
    "cholesky": [
        *unary(
            lambda a: linalg.cholesky(positive_definite(a)),
            square,
            (square + 0.3j * square.T).astype(np.complex64),
        ),
        *unary(lambda a: linalg.cholesky(positive_definite(a), symmetrize_input=False), square),
    ],
    "qr": [
        *smooth(lambda a: linalg.qr(a, full_matrices=False), tall),
        *smooth(linalg.qr, square),
        *smooth(linalg.qr, tall),
        *smooth(lambda a: linalg.qr(a, pivoting=True, full_matrices=False)[:2], tall),
        *smooth(linalg.qr, (x + 1j * y).astype(np.complex64)),
    ],
    "eigh": [
        *smooth(linalg.eigh, square),
        # The phases of complex vectors are LAPACK's, and their derivatives are not.
        *smooth(lambda a: lax.abs(linalg.eigh(a)[0]), square + 0.5j * square.T),
        *smooth(lambda a: linalg.eigh(a + a.T, lower=False, symmetrize_input=False), square),
    ],
    "svd": [
        *smooth(lambda a: linalg.svd(a, compute_uv=False), tall),
        *smooth(lambda a: linalg.svd(a, full_matrices=False), tall),
        *smooth(lambda a: linalg.svd(a, full_matrices=False), x),
        *smooth(linalg.svd, square),
        *step(linalg.svd, tall),
        *smooth(lambda a: [lax.abs(b) for b in linalg.svd(a)], square + 0.5j * square.T),
    ],
    "eig": [
        *smooth(
            lambda a: linalg.eig(a, enable_eigvec_derivs=True),
            square + 0.5j * square.T,
        ),
        *smooth(jnp.linalg.eigvals, square),
    ],
    "schur": [
        *step(linalg.schur, square),
        *step(lambda a: linalg.schur(a, compute_schur_vectors=False), square + 0.5j * square.T),
    ],
    "hessenberg": [*step(linalg.hessenberg, square), *step(linalg.hessenberg, square + 0.5j)],
    "tridiagonal": [
        *step(linalg.tridiagonal, square),
        *step(lambda a: linalg.tridiagonal(a, lower=False), square + 0.5j),
    ],
    "tridiagonal_solve": smooth(
        lambda a, b: linalg.tridiagonal_solve(a[:, 0], a[:, 1] + 3, a[:, 2], b), tall, tall
    ),
    "geqrf": step(lambda a: jnp.linalg.qr(a, mode="raw"), tall),
    "householder_product": step(lambda a: linalg.householder_product(a, a[0]), tall),
    "ormqr": [
        *step(lambda a: linalg.ormqr(a, a[0], a, transpose=True), tall),
        *step(lambda a: linalg.ormqr(a, a[0], a.T, left=False), tall + 0.5j * tall[::-1]),
    ],
    "cholesky_update": step(
        lambda a, w: linalg.cholesky_update(jnp.triu(a) + 2 * jnp.eye(3), w), square, square[0]
    ),
    "symmetric_product": step(
        lambda a, c: linalg.symmetric_product(a, c, alpha=2.0, beta=3.0), square[:, :2], square
    ),
    "lu": [
        *unary(lambda a: linalg.lu(a)[0], square, square[:2], square[:, :2]),
        *unary(lambda a: linalg.lu(a + 0.3j * a.mT)[0], square),
        *step(linalg.lu, square),
    ],
    "lu_pivots_to_permutation": step(
        lambda p: linalg.lu_pivots_to_permutation(p, 4), np.array([1, 2, 2], np.int32)
    ),
    "triangular_solve": [
        *smooth(triangular_solve(), square, square),
        *smooth(triangular_solve(left_side=True, lower=True), square, square[:, :2]),
        *smooth(triangular_solve(lower=True, transpose_a=True), square, square[:2]),
        *smooth(triangular_solve(left_side=True, unit_diagonal=True), square, square[0]),
        *smooth(
            triangular_solve(left_side=True, transpose_a=True, conjugate_a=True),
            (square - 0.2j * square.T).astype(np.complex64),
            (square + 0.5j).astype(np.complex64),
        ),
    ],
    # ---- Fourier transforms ----
    "fft": [
        *smooth(lambda a: fft(a, "fft", (2, 3)), z),
        *smooth(lambda a: fft(a, "ifft", (3,)), z),
        *smooth(lambda a: fft(a, "rfft", (2, 3)), x),
        *smooth(lambda a: fft(a, "rfft", (4, 5)), block),
        *smooth(lambda a: fft(a, "irfft", (4,)), z),
        *smooth(lambda a: fft(a, "irfft", (2, 5)), z),
        *step(lambda a: fft(a, "fft", ()), z),
    ],
    "fft_of_axis": step(
        lambda a: fft_of_axis_p.bind(a, roots_of_unity, axis=1, to=0, is_inverse=False), z
    ),
    # ---- random bits ----
    "threefry2x32": step(lambda a: threefry2x32_p.bind(a, a + 1, a + 2, a + 3), seeds),
    "random_seed": step(lambda s: bits_of(random.key(s)), np.int32(7)),
    "random_wrap": step(lambda b: bits_of(random.wrap_key_data(b)), seeds),
    "random_unwrap": step(lambda b: bits_of(random.wrap_key_data(b)), seeds),
    "random_clone": step(lambda b: bits_of(random.clone(random.wrap_key_data(b))), seeds),
    "random_split": step(lambda b: bits_of(random.split(random.wrap_key_data(b), 3)), seeds),
    "random_fold_in": step(lambda b: bits_of(random.fold_in(random.wrap_key_data(b), 5)), seeds),
    "random_bits": step(lambda b: random.bits(random.wrap_key_data(b), (3,)), seeds),
    "random_gamma": [
        *step(lambda a: random.gamma(random.key(0), a), positive),
        *step(lambda a: random.loggamma(random.key(0), a), positive),
        *step(lambda b, a: random.gamma(random.wrap_key_data(b), a), seeds, positive),
    ],
}

if Path(__file__).with_name("refs").is_dir():  # it can be deleted, with the tests there
    from refs import examples

    EXAMPLES |= {name: smooth(fun, x) for name, fun in examples.EXAMPLES.items()}

    if Path(__file__).with_name("pallas").is_dir():  # it needs Refs
        from pallas.examples import by_rows

        EXAMPLES["pallas_call"] = step(by_rows, x)
