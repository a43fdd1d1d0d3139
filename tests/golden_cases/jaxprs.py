"""Functions whose printed jaxpr must equal JAX's letter for letter.

Each section is a function of the namespaces (jax, jnp, lax) that returns {name: thunk}; what the
thunk returns is recorded as `str(...)`. Inputs are NumPy arrays, so that writing a case down runs
nothing. The names of local functions matter: JAX prints them (`jit[name=loss ...]`).
"""

from collections import namedtuple
from functools import partial

import numpy as np


def _f32(*shape):
    return np.ones(shape, np.float32)


def _i32(*shape):
    return np.ones(shape, np.int32)


# ---- arithmetic, scalars and weak types ----


def arithmetic(jax, jnp, lax):
    jaxpr = jax.make_jaxpr
    v = _f32(3)
    return {
        "polynomial at int": lambda: jaxpr(lambda x: 2 * x * x + 3 * x + 3)(3),
        "polynomial at float": lambda: jaxpr(lambda x: 2 * x * x + 3 * x + 3)(3.0),
        "polynomial of a vector": lambda: jaxpr(lambda x: 2 * x * x + 3 * x + 3)(v),
        "the running example": lambda: jaxpr(lambda x: jnp.sin(x) * x)(3.0),
        "identity": lambda: jaxpr(lambda x: x)(1.0),
        "no input": lambda: jaxpr(lambda: jnp.ones(3))(),
        "constant output": lambda: jaxpr(lambda x: 1)(2.0),
        "unused input": lambda: jaxpr(lambda x, y: x + 1)(1.0, 2.0),
        "same output twice": lambda: jaxpr(lambda x: (x + 1, x + 1))(1.0),
        "int plus python float": lambda: jaxpr(lambda x: x + 1.5)(_i32(3)),
        "int plus python int": lambda: jaxpr(lambda x: x + 1)(_i32(3)),
        "float plus python int": lambda: jaxpr(lambda x: x + 1)(v),
        "int8 plus int32": lambda: jaxpr(lambda x, y: x + y)(np.ones(2, np.int8), _i32(2)),
        "float16 plus float32": lambda: jaxpr(lambda x, y: x + y)(np.ones(2, np.float16), _f32(2)),
        "bool plus bool": lambda: jaxpr(lambda x: x + x)(np.ones(2, bool)),
        "bool times float": lambda: jaxpr(lambda x, y: x * y)(np.ones(2, bool), _f32(2)),
        "complex times float": lambda: jaxpr(lambda x, y: x * y)(np.ones(2, np.complex64), _f32(2)),
        "weak plus weak": lambda: jaxpr(lambda x, y: x + y)(1, 2.0),
        "weak plus strong": lambda: jaxpr(lambda x, y: x + y)(1.0, np.float32(2)),
        "rank promotion": lambda: jaxpr(lambda x, y: x + y)(_f32(2, 3), v),
        "scalar times matrix": lambda: jaxpr(lambda x, y: x * y)(2.0, _f32(2, 3)),
        "outer sum by None": lambda: jaxpr(lambda x: x[:, None] + x[None, :])(v),
        "right operators": lambda: jaxpr(lambda x: (1 - x, 2 / x, 3**x))(v),
        "powers": lambda: jaxpr(lambda x: (x**2, x**3, x**-1, x**0.5, x**1))(v),
        "power of arrays": lambda: jaxpr(lambda x, y: x**y)(v, v),
        "int to int power": lambda: jaxpr(lambda x: x**2)(_i32(2)),
        "negation and abs": lambda: jaxpr(lambda x: (-x, abs(x), +x))(v),
        "true division of ints": lambda: jaxpr(lambda x, y: x / y)(_i32(2), _i32(2)),
        "floor division of floats": lambda: jaxpr(lambda x, y: x // y)(v, v),
        "floor division of ints": lambda: jaxpr(lambda x: x // 2)(_i32(2)),
        "remainder of floats": lambda: jaxpr(lambda x: x % 2)(v),
        "remainder of ints": lambda: jaxpr(lambda x, y: x % y)(_i32(2), _i32(2)),
        "divmod": lambda: jaxpr(lambda x: divmod(x, 3))(_i32(2)),
        "comparisons": lambda: jaxpr(lambda x, y: (x < y, x <= y, x > y, x >= y, x == y, x != y))(
            v, v
        ),
        "compare with a python scalar": lambda: jaxpr(lambda x: (x > 0, x == 1, 0 < x))(v),
        "bit operators": lambda: jaxpr(lambda x, y: (x & y, x | y, x ^ y, ~x))(_i32(2), _i32(2)),
        "shifts": lambda: jaxpr(lambda x: (x << 2, x >> 1))(_i32(2)),
        "shift right of unsigned": lambda: jaxpr(lambda x: x >> 1)(np.ones(2, np.uint32)),
        "numpy scalar operand": lambda: jaxpr(lambda x: x * np.float32(2))(v),
        "numpy array operand": lambda: jaxpr(lambda x: x * np.arange(3, dtype=np.float32))(v),
        "inf and nan literals": lambda: jaxpr(lambda x: (x + jnp.inf, x * jnp.nan))(v),
        "constants folded by python": lambda: jaxpr(lambda x: x * (2 * jnp.pi))(1.0),
    }


# ---- lax, a family at a time ----


def lax_families(jax, jnp, lax):
    jaxpr = jax.make_jaxpr
    v, m = _f32(3), _f32(2, 3)
    i = _i32(3)
    return {
        "lax exponentials": lambda: jaxpr(
            lambda x: (lax.exp(x), lax.exp2(x), lax.log(x), lax.expm1(x), lax.log1p(x))
        )(v),
        "lax trigonometry": lambda: jaxpr(
            lambda x: (
                lax.sin(x),
                lax.cos(x),
                lax.tan(x),
                lax.asin(x),
                lax.acos(x),
                lax.atan(x),
                lax.atan2(x, x),
            )
        )(v),
        "lax hyperbolics": lambda: jaxpr(
            lambda x: (
                lax.sinh(x),
                lax.cosh(x),
                lax.tanh(x),
                lax.asinh(x),
                lax.acosh(x),
                lax.atanh(x),
            )
        )(v),
        "lax roots": lambda: jaxpr(
            lambda x: (lax.sqrt(x), lax.rsqrt(x), lax.cbrt(x), lax.logistic(x))
        )(v),
        "lax powers": lambda: jaxpr(
            lambda x: (lax.pow(x, x), lax.integer_pow(x, 3), lax.square(x), lax.reciprocal(x))
        )(v),
        "lax special": lambda: jaxpr(
            lambda x: (lax.erf(x), lax.erfc(x), lax.erf_inv(x), lax.lgamma(x), lax.digamma(x))
        )(v),
        "lax rounding": lambda: jaxpr(
            lambda x: (lax.floor(x), lax.ceil(x), lax.round(x), lax.is_finite(x), lax.sign(x))
        )(v),
        "lax round to even": lambda: jaxpr(
            lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
        )(v),
        "lax bits": lambda: jaxpr(
            lambda x: (
                lax.population_count(x),
                lax.clz(x),
                lax.bitwise_not(x),
                lax.shift_right_logical(x, x),
            )
        )(i),
        "lax max, min, rem, nextafter": lambda: jaxpr(
            lambda x: (lax.max(x, x), lax.min(x, x), lax.rem(x, x), lax.nextafter(x, x))
        )(v),
        "lax complex": lambda: jaxpr(
            lambda x: (
                lax.complex(x, x),
                lax.real(lax.complex(x, x)),
                lax.imag(lax.complex(x, x)),
                lax.conj(lax.complex(x, x)),
            )
        )(v),
        "lax select and clamp": lambda: jaxpr(
            lambda p, x: (lax.select(p, x, -x), lax.clamp(0.0, x, 1.0))
        )(np.ones(3, bool), v),
        "lax select_n": lambda: jaxpr(lambda p, x: lax.select_n(p, x, x, x))(i, v),
        "lax convert": lambda: jaxpr(
            lambda x: (
                lax.convert_element_type(x, jnp.int32),
                lax.bitcast_convert_type(x, jnp.int32),
                lax.convert_element_type(x, jnp.float32),
            )
        )(v),
        "lax creation": lambda: jaxpr(
            lambda: (
                lax.iota(jnp.int32, 5),
                lax.full((2,), 7.0),
                lax.broadcasted_iota(jnp.float32, (2, 3), 1),
            )
        )(),
        "lax broadcast": lambda: jaxpr(
            lambda x: (lax.broadcast(x, (2,)), lax.broadcast_in_dim(x, (3, 4), (0,)))
        )(v),
        "lax reshape, squeeze, expand_dims": lambda: jaxpr(
            lambda x: (
                lax.reshape(x, (3, 2)),
                lax.expand_dims(x, (0,)),
                lax.squeeze(lax.expand_dims(x, (0,)), (0,)),
            )
        )(m),
        "lax transpose and rev": lambda: jaxpr(
            lambda x: (lax.transpose(x, (1, 0)), lax.rev(x, (0,)))
        )(m),
        "lax pad": lambda: jaxpr(lambda x: lax.pad(x, 0.0, ((1, 1, 0), (0, 2, 1))))(m),
        "lax concatenate": lambda: jaxpr(lambda x: lax.concatenate([x, x], 1))(m),
        "lax slice": lambda: jaxpr(
            lambda x: (
                lax.slice(x, (0, 1), (2, 3)),
                lax.slice(x, (0, 0), (2, 3), (1, 2)),
                lax.slice_in_dim(x, 0, 1, axis=1),
            )
        )(m),
        "lax dynamic_slice": lambda: jaxpr(
            lambda x, i: (lax.dynamic_slice(x, (i, 0), (1, 2)), lax.dynamic_slice_in_dim(x, i, 1))
        )(m, 0),
        "lax dynamic_index_in_dim": lambda: jaxpr(
            lambda x, i: lax.dynamic_index_in_dim(x, i, keepdims=False)
        )(m, 0),
        "lax dynamic_update_slice": lambda: jaxpr(
            lambda x, u, i: lax.dynamic_update_slice(x, u, (i, i))
        )(m, _f32(1, 2), 0),
        "lax reductions": lambda: jaxpr(
            lambda x: (
                lax.reduce_sum(x, (0,)),
                lax.reduce_max(x, (1,)),
                lax.reduce_min(x, (1,)),
                lax.reduce_prod(x, (0, 1)),
            )
        )(m),
        "lax logical reductions": lambda: jaxpr(
            lambda x: (lax.reduce_and(x, (0,)), lax.reduce_or(x, (0,)))
        )(np.ones((2, 3), bool)),
        "lax argmax and argmin": lambda: jaxpr(
            lambda x: (lax.argmax(x, 1, jnp.int32), lax.argmin(x, 0, jnp.int32))
        )(m),
        "lax cumulative": lambda: jaxpr(
            lambda x: (
                lax.cumsum(x),
                lax.cumprod(x),
                lax.cummax(x),
                lax.cummin(x),
                lax.cumlogsumexp(x),
                lax.cumsum(x, reverse=True),
            )
        )(v),
        "lax sort": lambda: jaxpr(
            lambda x, y: (lax.sort(x), lax.sort((x, y), num_keys=1), lax.top_k(x, 2))
        )(v, v),
        "lax dot": lambda: jaxpr(lambda a, b: lax.dot(a, b))(m, _f32(3, 4)),
        "lax dot_general with batch": lambda: jaxpr(
            lambda a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,))))
        )(_f32(5, 2, 3), _f32(5, 3, 4)),
        "lax dot_general preferred type": lambda: jaxpr(
            lambda a: lax.dot_general(
                a, a, (((0,), (0,)), ((), ())), preferred_element_type=jnp.float32
            )
        )(np.ones(3, np.float16)),
        "lax stop_gradient": lambda: jaxpr(lambda x: lax.stop_gradient(x) * x)(v),
        "lax reduce_precision": lambda: jaxpr(lambda x: lax.reduce_precision(x, 8, 7))(v),
        "lax full_like": lambda: jaxpr(lambda x: lax.full_like(x, 3))(m),
    }


# ---- jax.numpy: elementwise, reductions, linear algebra ----


def numpy_elementwise(jax, jnp, lax):
    jaxpr = jax.make_jaxpr
    v, i = _f32(3), _i32(3)
    return {
        "jnp ufuncs": lambda: jaxpr(
            lambda x: (jnp.sin(x), jnp.exp(x), jnp.log(x), jnp.tanh(x), jnp.sqrt(x))
        )(v),
        "jnp ufuncs of ints": lambda: jaxpr(lambda x: (jnp.sin(x), jnp.sqrt(x)))(i),
        "jnp.abs, sign, floor, round": lambda: jaxpr(
            lambda x: (jnp.abs(x), jnp.sign(x), jnp.floor(x), jnp.round(x))
        )(v),
        "jnp.where": lambda: jaxpr(lambda x: jnp.where(x > 0, x, 0.0))(v),
        "jnp.where of two arrays": lambda: jaxpr(lambda p, x, y: jnp.where(p, x, y))(
            np.ones(3, bool), v, v
        ),
        "jnp.where broadcasting": lambda: jaxpr(lambda p, x: jnp.where(p[:, None], x, x))(
            np.ones(2, bool), _f32(2, 3)
        ),
        "jnp.where twice, shared": lambda: jaxpr(
            lambda x: jnp.where(x > 0, x, 0.0) + jnp.where(x > 1, x, 0.0)
        )(v),
        "jnp.clip": lambda: jaxpr(lambda x: jnp.clip(x, 0, 1))(v),
        "jnp.clip one side": lambda: jaxpr(lambda x: jnp.clip(x, min=0))(v),
        "jnp.maximum": lambda: jaxpr(lambda x: jnp.maximum(x, 0))(v),
        "jnp.minimum of two": lambda: jaxpr(lambda x, y: jnp.minimum(x, y))(v, v),
        "jnp.logaddexp": lambda: jaxpr(lambda x, y: jnp.logaddexp(x, y))(v, v),
        "jnp.square and power": lambda: jaxpr(
            lambda x: (jnp.square(x), jnp.power(x, 2), jnp.power(x, 2.0))
        )(v),
        "jnp.logical": lambda: jaxpr(lambda x: (jnp.logical_and(x > 0, x < 1), jnp.logical_not(x)))(
            v
        ),
        "jnp.isnan and isfinite": lambda: jaxpr(
            lambda x: (jnp.isnan(x), jnp.isfinite(x), jnp.isinf(x))
        )(v),
        "jnp.arctan2 and hypot": lambda: jaxpr(lambda x, y: (jnp.arctan2(x, y), jnp.hypot(x, y)))(
            v, v
        ),
        "astype": lambda: jaxpr(
            lambda x: (x.astype(int), x.astype(jnp.float16), x.astype(jnp.float32), x.astype(bool))
        )(v),
        "jnp.nan_to_num": lambda: jaxpr(lambda x: jnp.nan_to_num(x))(v),
        "jnp.select": lambda: jaxpr(lambda x: jnp.select([x < 0, x > 1], [-x, x * 2], 0.0))(v),
        "jnp.polyval": lambda: jaxpr(lambda x: jnp.polyval(jnp.array([1.0, 2.0, 3.0]), x))(v),
        "jnp.heaviside and float_power": lambda: jaxpr(
            lambda x: (jnp.heaviside(x, 0.5), jnp.float_power(x, 2))
        )(v),
    }


def numpy_reductions(jax, jnp, lax):
    jaxpr = jax.make_jaxpr
    v, m = _f32(3), _f32(2, 3)
    b = np.ones((2, 3), bool)
    return {
        "jnp.sum": lambda: jaxpr(lambda x: jnp.sum(x))(m),
        "jnp.sum axis": lambda: jaxpr(lambda x: jnp.sum(x, axis=1))(m),
        "jnp.sum keepdims": lambda: jaxpr(lambda x: jnp.sum(x, axis=0, keepdims=True))(m),
        "jnp.sum where, initial": lambda: jaxpr(lambda x: jnp.sum(x, where=x > 0, initial=1.0))(m),
        "jnp.sum of bools": lambda: jaxpr(lambda x: jnp.sum(x))(b),
        "jnp.sum of int8": lambda: jaxpr(lambda x: jnp.sum(x))(np.ones(3, np.int8)),
        "jnp.sum of float16": lambda: jaxpr(lambda x: jnp.sum(x))(np.ones(3, np.float16)),
        "jnp.prod, max, min": lambda: jaxpr(
            lambda x: (jnp.prod(x), jnp.max(x, axis=0), jnp.min(x, axis=-1))
        )(m),
        "jnp.any and all": lambda: jaxpr(lambda x: (jnp.any(x), jnp.all(x, axis=0)))(b),
        "jnp.any of floats": lambda: jaxpr(lambda x: jnp.any(x))(m),
        "jnp.mean": lambda: jaxpr(lambda x: jnp.mean(x))(m),
        "jnp.mean axis": lambda: jaxpr(lambda x: jnp.mean(x, axis=0))(m),
        "jnp.mean of ints": lambda: jaxpr(lambda x: jnp.mean(x))(_i32(3)),
        "jnp.var": lambda: jaxpr(lambda x: jnp.var(x))(m),
        "jnp.std axis": lambda: jaxpr(lambda x: jnp.std(x, axis=1))(m),
        "jnp.average weights": lambda: jaxpr(lambda x, w: jnp.average(x, weights=w))(v, v),
        "jnp.argmax": lambda: jaxpr(lambda x: jnp.argmax(x))(v),
        "jnp.argmin axis": lambda: jaxpr(lambda x: jnp.argmin(x, axis=1))(m),
        "jnp.cumsum": lambda: jaxpr(lambda x: jnp.cumsum(x))(v),
        "jnp.cumprod axis": lambda: jaxpr(lambda x: jnp.cumprod(x, axis=1))(m),
        "jnp.sort": lambda: jaxpr(lambda x: jnp.sort(x))(v),
        "jnp.sort axis 0": lambda: jaxpr(lambda x: jnp.sort(x, axis=0))(m),
        "jnp.argsort": lambda: jaxpr(lambda x: jnp.argsort(x))(v),
        "jnp.count_nonzero": lambda: jaxpr(lambda x: jnp.count_nonzero(x))(m),
        "jnp.linalg.norm": lambda: jaxpr(lambda x: jnp.linalg.norm(x))(v),
        "jnp.linalg.norm axis": lambda: jaxpr(lambda x: jnp.linalg.norm(x, axis=1))(m),
        "jnp.ptp": lambda: jaxpr(lambda x: jnp.ptp(x))(v),
        "jnp.diff": lambda: jaxpr(lambda x: jnp.diff(x))(v),
        "jnp.trace": lambda: jaxpr(lambda x: jnp.trace(x))(_f32(3, 3)),
        "jnp.allclose": lambda: jaxpr(lambda x, y: jnp.allclose(x, y))(v, v),
        "jnp.array_equal": lambda: jaxpr(lambda x, y: jnp.array_equal(x, y))(v, v),
        "methods": lambda: jaxpr(
            lambda x: (x.sum(), x.mean(axis=0), x.max(), x.T, x.reshape(-1), x.ravel())
        )(m),
    }


def numpy_products(jax, jnp, lax):
    jaxpr = jax.make_jaxpr
    v, m, n = _f32(3), _f32(2, 3), _f32(3, 4)
    return {
        "jnp.dot of vectors": lambda: jaxpr(lambda x, y: jnp.dot(x, y))(v, v),
        "jnp.dot of matrix and vector": lambda: jaxpr(lambda x, y: jnp.dot(x, y))(m, v),
        "jnp.dot of matrices": lambda: jaxpr(lambda x, y: jnp.dot(x, y))(m, n),
        "jnp.dot of int and float": lambda: jaxpr(lambda x, y: jnp.dot(x, y))(_i32(3), v),
        "matmul operator": lambda: jaxpr(lambda x, y: x @ y)(m, n),
        "jnp.matmul batched": lambda: jaxpr(lambda x, y: jnp.matmul(x, y))(
            _f32(5, 2, 3), _f32(5, 3, 4)
        ),
        "jnp.matmul batch broadcast": lambda: jaxpr(lambda x, y: jnp.matmul(x, y))(
            _f32(5, 2, 3), n
        ),
        "jnp.vdot and inner": lambda: jaxpr(lambda x: (jnp.vdot(x, x), jnp.inner(x, x)))(v),
        "jnp.outer": lambda: jaxpr(lambda x: jnp.outer(x, x))(v),
        "jnp.tensordot": lambda: jaxpr(lambda x, y: jnp.tensordot(x, y, axes=1))(m, n),
        "jnp.einsum matmul": lambda: jaxpr(lambda x, y: jnp.einsum("ij,jk->ik", x, y))(m, n),
        "jnp.einsum batched": lambda: jaxpr(lambda x, y: jnp.einsum("bij,bjk->bik", x, y))(
            _f32(5, 2, 3), _f32(5, 3, 4)
        ),
        "jnp.einsum trace and sum": lambda: jaxpr(
            lambda x: (jnp.einsum("ij->", x), jnp.einsum("ij->ji", x))
        )(m),
        "jnp.einsum three operands": lambda: jaxpr(
            lambda x, y, z: jnp.einsum("ij,jk,k->i", x, y, z)
        )(m, n, _f32(4)),
        "jnp.kron": lambda: jaxpr(lambda x: jnp.kron(x, x))(_f32(2, 2)),
        "jnp.cross": lambda: jaxpr(lambda x: jnp.cross(x, x))(v),
    }


# ---- jax.numpy: creation, shapes, indexing ----


def numpy_shapes(jax, jnp, lax):
    jaxpr = jax.make_jaxpr
    v, m = _f32(3), _f32(2, 3)
    return {
        "jnp.zeros, ones, full": lambda: jaxpr(
            lambda: (jnp.zeros(3), jnp.ones((2, 2), int), jnp.full((2,), 1.5))
        )(),
        "jnp.zeros_like, full_like": lambda: jaxpr(
            lambda x: (jnp.zeros_like(x), jnp.ones_like(x), jnp.full_like(x, 2))
        )(m),
        "jnp.arange": lambda: jaxpr(
            lambda: (jnp.arange(4), jnp.arange(4.0), jnp.arange(1, 7, 2))
        )(),
        "jnp.linspace": lambda: jaxpr(lambda: jnp.linspace(0, 1, 5))(),
        "jnp.linspace of tracers": lambda: jaxpr(lambda a, b: jnp.linspace(a, b, 5))(0.0, 1.0),
        "jnp.eye": lambda: jaxpr(lambda: jnp.eye(3))(),
        "jnp.tri and tril": lambda: jaxpr(lambda x: jnp.tril(x))(_f32(3, 3)),
        "jnp.diag of vector": lambda: jaxpr(lambda x: jnp.diag(x))(v),
        "jnp.diag of matrix": lambda: jaxpr(lambda x: jnp.diag(x))(_f32(3, 3)),
        "jnp.array of tracers": lambda: jaxpr(lambda x, y: jnp.array([x, y, 1.0]))(1.0, 2.0),
        "jnp.asarray": lambda: jaxpr(lambda x: jnp.asarray(x, dtype=jnp.float32))(1),
        "jnp.stack": lambda: jaxpr(lambda x: jnp.stack([x, x]))(v),
        "jnp.stack axis": lambda: jaxpr(lambda x: jnp.stack([x, x], axis=-1))(v),
        "jnp.concatenate": lambda: jaxpr(lambda x: jnp.concatenate([x, x]))(v),
        "jnp.concatenate of dtypes": lambda: jaxpr(lambda x, y: jnp.concatenate([x, y]))(
            v, _i32(3)
        ),
        "jnp.hstack and vstack": lambda: jaxpr(lambda x: (jnp.hstack([x, x]), jnp.vstack([x, x])))(
            v
        ),
        "jnp.reshape": lambda: jaxpr(lambda x: jnp.reshape(x, (3, -1)))(m),
        "jnp.ravel and flatten": lambda: jaxpr(lambda x: (jnp.ravel(x), x.flatten()))(m),
        "jnp.squeeze": lambda: jaxpr(lambda x: jnp.squeeze(x))(_f32(1, 3, 1)),
        "jnp.expand_dims": lambda: jaxpr(lambda x: jnp.expand_dims(x, 0))(v),
        "jnp.transpose": lambda: jaxpr(lambda x: jnp.transpose(x))(m),
        "jnp.transpose axes": lambda: jaxpr(lambda x: jnp.transpose(x, (2, 0, 1)))(_f32(2, 3, 4)),
        "jnp.swapaxes and moveaxis": lambda: jaxpr(
            lambda x: (jnp.swapaxes(x, 0, 2), jnp.moveaxis(x, 0, -1))
        )(_f32(2, 3, 4)),
        "jnp.broadcast_to": lambda: jaxpr(lambda x: jnp.broadcast_to(x, (2, 3)))(v),
        "jnp.tile": lambda: jaxpr(lambda x: jnp.tile(x, 2))(v),
        "jnp.repeat": lambda: jaxpr(lambda x: jnp.repeat(x, 2))(v),
        "jnp.flip": lambda: jaxpr(lambda x: jnp.flip(x, 0))(v),
        "jnp.roll": lambda: jaxpr(lambda x: jnp.roll(x, 1))(v),
        "jnp.pad": lambda: jaxpr(lambda x: jnp.pad(x, 1))(v),
        "jnp.split": lambda: jaxpr(lambda x: jnp.split(x, 3))(v),
        "jnp.meshgrid": lambda: jaxpr(lambda x: jnp.meshgrid(x, x))(v),
        "jnp.atleast_2d": lambda: jaxpr(lambda x: jnp.atleast_2d(x))(v),
    }


def numpy_indexing(jax, jnp, lax):
    jaxpr = jax.make_jaxpr
    v, m = _f32(5), _f32(4, 5)
    index = np.array([0, 2], np.int32)
    return {
        "x[0]": lambda: jaxpr(lambda x: x[0])(v),
        "x[-1]": lambda: jaxpr(lambda x: x[-1])(v),
        "x[1:3]": lambda: jaxpr(lambda x: x[1:3])(v),
        "x[::2]": lambda: jaxpr(lambda x: x[::2])(v),
        "x[::-1]": lambda: jaxpr(lambda x: x[::-1])(v),
        "x[1, 2]": lambda: jaxpr(lambda x: x[1, 2])(m),
        "x[:, 1]": lambda: jaxpr(lambda x: x[:, 1])(m),
        "x[..., None]": lambda: jaxpr(lambda x: x[..., None])(m),
        "x[1:3, ::2]": lambda: jaxpr(lambda x: x[1:3, ::2])(m),
        "x[i] dynamic": lambda: jaxpr(lambda x, i: x[i])(v, 1),
        "x[i, j] dynamic": lambda: jaxpr(lambda x, i, j: x[i, j])(m, 1, 2),
        "x[i, 1:3] dynamic": lambda: jaxpr(lambda x, i: x[i, 1:3])(m, 1),
        "x[index]": lambda: jaxpr(lambda x, i: x[i])(v, index),
        "x[index] of matrix": lambda: jaxpr(lambda x, i: x[i])(m, index),
        "x[:, index]": lambda: jaxpr(lambda x, i: x[:, i])(m, index),
        "x[index, index]": lambda: jaxpr(lambda x, i: x[i, i])(m, index),
        "x[constant list]": lambda: jaxpr(lambda x: x[jnp.array([0, 2])])(v),
        "x[arange, labels]": lambda: jaxpr(lambda x, i: x[jnp.arange(2), i])(m, index),
        "unpacking": lambda: jaxpr(lambda x: [row * 2 for row in x])(_f32(2, 3)),
        "jnp.take": lambda: jaxpr(lambda x, i: jnp.take(x, i))(v, index),
        "jnp.take axis": lambda: jaxpr(lambda x, i: jnp.take(x, i, axis=1))(m, index),
        "jnp.take_along_axis": lambda: jaxpr(lambda x, i: jnp.take_along_axis(x, i, axis=1))(
            m, np.zeros((4, 1), np.int32)
        ),
        "at set": lambda: jaxpr(lambda x: x.at[1].set(2.0))(v),
        "at add": lambda: jaxpr(lambda x: x.at[1].add(2.0))(v),
        "at set slice": lambda: jaxpr(lambda x: x.at[1:3].set(0.0))(v),
        "at add slice of matrix": lambda: jaxpr(lambda x: x.at[:, 1].add(1.0))(m),
        "at set dynamic": lambda: jaxpr(lambda x, i: x.at[i].set(2.0))(v, 1),
        "at add index": lambda: jaxpr(lambda x, i, u: x.at[i].add(u))(v, index, _f32(2)),
        "at multiply, min, max": lambda: jaxpr(
            lambda x, i: (x.at[i].multiply(2.0), x.at[i].min(0.0), x.at[i].max(0.0))
        )(v, index),
        "at get fill": lambda: jaxpr(lambda x, i: x.at[i].get(mode="fill", fill_value=0.0))(
            v, index
        ),
        "at set drop": lambda: jaxpr(lambda x, i: x.at[i].set(1.0, mode="drop"))(v, index),
        "boolean mask by where": lambda: jaxpr(lambda x: jnp.where(x > 0, x, 0).sum())(v),
    }


# ---- jax.nn ----


def nn(jax, jnp, lax):
    jaxpr = jax.make_jaxpr
    v, m = _f32(3), _f32(2, 3)
    f = jax.nn
    return {
        "nn.one_hot": lambda: jaxpr(lambda i: f.one_hot(i, 4))(_i32(3)),
        "nn.one_hot scalar": lambda: jaxpr(lambda i: f.one_hot(i, 4))(1),
        "nn.softmax": lambda: jaxpr(lambda x: f.softmax(x))(m),
        "nn.softmax axis": lambda: jaxpr(lambda x: f.softmax(x, axis=0))(m),
        "nn.log_softmax": lambda: jaxpr(lambda x: f.log_softmax(x))(m),
        "nn.logsumexp": lambda: jaxpr(lambda x: f.logsumexp(x, axis=-1))(m),
        "nn.logsumexp all": lambda: jaxpr(lambda x: f.logsumexp(x))(v),
        "nn.sigmoid": lambda: jaxpr(lambda x: f.sigmoid(x))(v),
        "nn.tanh and soft_sign": lambda: jaxpr(lambda x: (f.tanh(x), f.soft_sign(x)))(v),
        "nn.gelu": lambda: jaxpr(lambda x: f.gelu(x))(v),
        "nn.gelu exact": lambda: jaxpr(lambda x: f.gelu(x, approximate=False))(v),
        "nn.standardize": lambda: jaxpr(lambda x: f.standardize(x))(m),
        "nn.hard_tanh": lambda: jaxpr(lambda x: f.hard_tanh(x))(v),
        "nn.softplus and log_sigmoid": lambda: jaxpr(lambda x: (f.softplus(x), f.log_sigmoid(x)))(
            v
        ),
        "nn.relu": lambda: jaxpr(lambda x: f.relu(x))(v),
        "nn.relu6": lambda: jaxpr(lambda x: f.relu6(x))(v),
        "nn.silu": lambda: jaxpr(lambda x: f.silu(x))(v),
        "nn.elu": lambda: jaxpr(lambda x: f.elu(x))(v),
        "nn.leaky_relu and selu": lambda: jaxpr(lambda x: (f.leaky_relu(x), f.selu(x)))(v),
        "grad of relu": lambda: jaxpr(jax.grad(f.relu))(1.0),
        "grad of sum of relu": lambda: jaxpr(jax.grad(lambda x: f.relu(x).sum()))(v),
        "vmap of relu": lambda: jaxpr(jax.vmap(f.relu))(v),
        "grad of softplus": lambda: jaxpr(jax.grad(f.softplus))(1.0),
    }


# ---- structure: constants, pytrees, literals ----

Point = namedtuple("Point", ["x", "y"])


def structure(jax, jnp, lax):
    jaxpr = jax.make_jaxpr
    v = _f32(3)

    def closes_over_an_array():
        const = jnp.arange(3.0)
        return jaxpr(lambda x: x + const)(v)

    def closes_over_one_array_twice():
        const = jnp.arange(3.0)
        return jaxpr(lambda x: x * const + const)(v)

    def closes_over_a_scalar_array():
        scale = jnp.float32(2.0)
        return jaxpr(lambda x: x * scale)(v)

    def consts_are_kept():
        const = jnp.arange(3.0)
        return [c.tolist() for c in jaxpr(lambda x: x + const)(v).consts]

    return {
        "closed-over array": closes_over_an_array,
        "closed-over array, used twice": closes_over_one_array_twice,
        "closed-over scalar array": closes_over_a_scalar_array,
        "closed-over numpy array": lambda: jaxpr(lambda x: x + v)(v),
        "consts are kept": consts_are_kept,
        "pytree in and out": lambda: jaxpr(
            lambda d: {"sum": d["a"] + d["b"][0], "list": [d["a"], (d["b"][1],)]}
        )({"a": 1.0, "b": (2.0, 3)}),
        "namedtuple and None": lambda: jaxpr(lambda p: Point(p.y, None))(Point(1.0, v)),
        "keyword arguments": lambda: jaxpr(lambda x, *, scale: x * scale)(v, scale=2.0),
        "static_argnums": lambda: jaxpr(lambda x, n: x * n, static_argnums=1)(v, 3),
        "return_shape": lambda: jaxpr(lambda x: jnp.dot(x, x), return_shape=True)(v)[1],
        "abstracted argument": lambda: jaxpr(lambda x: x * 2)(
            jax.ShapeDtypeStruct((4, 5), jnp.float16)
        ),
        "eval_shape": lambda: jax.eval_shape(lambda x, y: jnp.dot(x, y), _f32(2, 3), _f32(3, 4)),
        "eval_shape of a dict": lambda: jax.eval_shape(lambda x: {"a": x + 1, "b": x > 0}, v),
        "python loop unrolled": lambda: jaxpr(lambda x: _repeat(jnp.sin, 3, x))(1.0),
        "python branch": lambda: jaxpr(lambda x: x * 2 if x.ndim == 1 else x)(v),
        "dead code is kept": lambda: jaxpr(lambda x: (jnp.sin(x), x * 2)[1])(1.0),
        "many inputs name past z": lambda: jaxpr(lambda *xs: sum(xs))(*[1.0] * 30),
        "long equations wrap": lambda: jaxpr(
            lambda x: lax.broadcast_in_dim(x, (10, 20, 30, 40, 50, 60), (1, 3, 5))
        )(_f32(20, 40, 60)),
        "in_avals and out_avals": lambda: (lambda closed: (closed.in_avals, closed.out_avals))(
            jaxpr(lambda x: x + 1)(1.0)
        ),
        "repr equals str": lambda: repr(jaxpr(lambda x: x + 1)(1.0)),
        "one equation": lambda: jaxpr(lambda x: jnp.sin(x) + 1)(1.0).eqns[1],
        "open jaxpr": lambda: jaxpr(lambda x: jnp.sin(x) + 1)(1.0).jaxpr,
    }


def _repeat(f, n, x):
    for _ in range(n):
        x = f(x)
    return x


# ---- jvp, grad and friends ----


def derivatives(jax, jnp, lax):
    jaxpr, grad = jax.make_jaxpr, jax.grad
    v, m = _f32(3), _f32(2, 3)

    def f(x):
        return jnp.sin(x) * x

    def tangent(fun):
        return lambda x, t: jax.jvp(fun, (x,), (t,))

    def linear_part(fun, x):
        return jaxpr(jax.linearize(fun, x)[1])(x)

    names = {
        "jvp of f": lambda: jaxpr(tangent(f))(3.0, 1.0),
        "jvp of jvp of f": lambda: jaxpr(
            lambda x: jax.jvp(lambda y: jax.jvp(f, (y,), (1.0,))[1], (x,), (1.0,))
        )(3.0),
        "jvp with constant tangent": lambda: jaxpr(lambda x: jax.jvp(f, (x,), (1.0,)))(3.0),
        "jvp of exp, log, tanh": lambda: jaxpr(
            tangent(lambda x: (jnp.exp(x), jnp.log(x), jnp.tanh(x)))
        )(v, v),
        "jvp of division and power": lambda: jaxpr(tangent(lambda x: (1 / x, x / 2, x**3, x**0.5)))(
            v, v
        ),
        "jvp of max": lambda: jaxpr(tangent(lambda x: jnp.maximum(x, 0.0)))(v, v),
        "jvp of reductions": lambda: jaxpr(
            tangent(lambda x: (x.sum(), x.max(), x.prod(), x.mean()))
        )(v, v),
        "jvp of sort": lambda: jaxpr(tangent(jnp.sort))(v, v),
        "jvp of where": lambda: jaxpr(tangent(lambda x: jnp.where(x > 0, x, 0.0)))(v, v),
        "jvp of dot": lambda: jaxpr(lambda x, y: jax.jvp(jnp.dot, (x, y), (x, y)))(m, _f32(3, 4)),
        "jvp of two arguments": lambda: jaxpr(
            lambda x, y: jax.jvp(lambda a, b: a * b, (x, y), (y, x))
        )(1.0, 2.0),
        "grad of f": lambda: jaxpr(grad(f))(3.0),
        "grad of grad of f": lambda: jaxpr(grad(grad(f)))(3.0),
        "third derivative": lambda: jaxpr(grad(grad(grad(jnp.sin))))(3.0),
        "grad of polynomial": lambda: jaxpr(grad(lambda x: 2 * x * x + 3 * x + 3))(3.0),
        "value_and_grad of f": lambda: jaxpr(jax.value_and_grad(f))(3.0),
        "grad argnums": lambda: jaxpr(grad(lambda x, y: x * y + y, argnums=(0, 1)))(1.0, 2.0),
        "grad has_aux": lambda: jaxpr(grad(lambda x: (x * x, {"x": x}), has_aux=True))(1.0),
        "grad of a dict": lambda: jaxpr(grad(lambda p: p["a"] * p["b"]))({"a": 1.0, "b": 2.0}),
        "grad of constant": lambda: jaxpr(grad(lambda x: 1.0))(1.0),
        "grad of unused argument": lambda: jaxpr(grad(lambda x, y: y * 2))(1.0, 2.0),
        "grad of sum": lambda: jaxpr(grad(lambda x: jnp.sum(x)))(m),
        "grad of sum of squares": lambda: jaxpr(grad(lambda x: jnp.sum(x**2)))(v),
        "grad of mean": lambda: jaxpr(grad(lambda x: jnp.mean(x)))(v),
        "grad of max": lambda: jaxpr(grad(lambda x: jnp.max(x)))(v),
        "grad of prod": lambda: jaxpr(grad(lambda x: jnp.prod(x)))(v),
        "grad of var": lambda: jaxpr(grad(lambda x: jnp.var(x)))(v),
        "grad of norm": lambda: jaxpr(grad(lambda x: jnp.linalg.norm(x)))(v),
        "grad of exp, tanh, logistic": lambda: jaxpr(
            grad(lambda x: jnp.exp(x) + jnp.tanh(x) + jax.nn.sigmoid(x))
        )(1.0),
        "grad of log and sqrt": lambda: jaxpr(grad(lambda x: jnp.log(x) + jnp.sqrt(x)))(1.0),
        "grad of division": lambda: jaxpr(grad(lambda x, y: x / y, argnums=(0, 1)))(1.0, 2.0),
        "grad of power": lambda: jaxpr(grad(lambda x, y: x**y, argnums=(0, 1)))(1.0, 2.0),
        "grad of abs": lambda: jaxpr(grad(abs))(1.0),
        "grad of maximum": lambda: jaxpr(grad(lambda x: jnp.maximum(x, 0.0)))(1.0),
        "grad of where": lambda: jaxpr(grad(lambda x: jnp.where(x > 0, x, 0.0).sum()))(v),
        "grad of clip": lambda: jaxpr(grad(lambda x: jnp.clip(x, 0.0, 1.0)))(0.5),
        "grad of dot": lambda: jaxpr(grad(lambda x, y: jnp.dot(x, y), argnums=(0, 1)))(v, v),
        "grad of matmul": lambda: jaxpr(grad(lambda x, y: (x @ y).sum(), argnums=(0, 1)))(
            m, _f32(3, 4)
        ),
        "grad of einsum": lambda: jaxpr(grad(lambda x, y: jnp.einsum("bij,bjk->", x, y)))(
            _f32(5, 2, 3), _f32(5, 3, 4)
        ),
        "grad through reshape and transpose": lambda: jaxpr(
            grad(lambda x: (x.T.reshape(-1) * jnp.arange(6.0)).sum())
        )(m),
        "grad through broadcasting": lambda: jaxpr(
            grad(lambda x, y: (x * y).sum(), argnums=(0, 1))
        )(m, v),
        "grad through concatenate": lambda: jaxpr(
            grad(lambda x, y: (jnp.concatenate([x, y]) ** 2).sum(), argnums=(0, 1))
        )(v, v),
        "grad through stack": lambda: jaxpr(
            grad(lambda x, y: (jnp.stack([x, y]) ** 2).sum(), argnums=(0, 1))
        )(v, v),
        "grad through slice": lambda: jaxpr(grad(lambda x: (x[1:] - x[:-1]).sum()))(v),
        "grad through pad": lambda: jaxpr(grad(lambda x: (jnp.pad(x, 1) ** 2).sum()))(v),
        "grad through x[0]": lambda: jaxpr(grad(lambda x: x[0] * x[1]))(v),
        "grad through index array": lambda: jaxpr(grad(lambda x, i: x[i].sum()))(
            v, np.array([0, 2], np.int32)
        ),
        "grad through at set": lambda: jaxpr(grad(lambda x: x.at[0].set(0.0).sum()))(v),
        "grad through cumsum": lambda: jaxpr(grad(lambda x: jnp.cumsum(x)[1]))(v),
        "grad through sort": lambda: jaxpr(grad(lambda x: jnp.sort(x)[0]))(v),
        "grad through astype": lambda: jaxpr(
            grad(lambda x: x.astype(jnp.float16).sum().astype(jnp.float32))
        )(v),
        "grad through stop_gradient": lambda: jaxpr(grad(lambda x: lax.stop_gradient(x) * x))(1.0),
        "grad of logsumexp": lambda: jaxpr(grad(lambda x: jax.nn.logsumexp(x)))(v),
        "grad of softmax": lambda: jaxpr(grad(lambda x: jax.nn.softmax(x)[0]))(v),
        "grad holomorphic": lambda: jaxpr(grad(lambda z: z * z, holomorphic=True))(1j),
        "vjp of f": lambda: jaxpr(lambda x, ct: jax.vjp(f, x)[1](ct))(3.0, 1.0),
        "vjp of two arguments": lambda: jaxpr(
            lambda x, y, ct: jax.vjp(lambda a, b: jnp.sin(a) * b, x, y)[1](ct)
        )(v, v, v),
        "linearize's jaxpr": lambda: linear_part(f, 3.0),
        "linearize's jaxpr of a vector": lambda: linear_part(lambda x: jnp.sin(x) * x + 1, v),
        "linearize inside make_jaxpr": lambda: jaxpr(lambda x, t: jax.linearize(f, x)[1](t))(
            3.0, 1.0
        ),
        "linear_transpose": lambda: jaxpr(
            lambda ct: jax.linear_transpose(lambda x: 2 * x + x, v)(ct)
        )(v),
        "jacfwd": lambda: jaxpr(jax.jacfwd(lambda x: jnp.sin(x) * x))(v),
        "jacrev": lambda: jaxpr(jax.jacrev(lambda x: jnp.sin(x) * x))(v),
        "jacfwd of scalar": lambda: jaxpr(jax.jacfwd(f))(3.0),
        "hessian": lambda: jaxpr(jax.hessian(lambda x: jnp.sum(x**3)))(v),
        "hessian of scalar": lambda: jaxpr(jax.hessian(f))(3.0),
        "hessian-vector product": lambda: jaxpr(
            lambda x, t: jax.jvp(grad(lambda y: jnp.sum(jnp.sin(y))), (x,), (t,))[1]
        )(v, v),
        "perturbation confusion": lambda: jaxpr(grad(lambda x: x * grad(lambda y: x + y)(1.0)))(
            2.0
        ),
    }
    for name in (
        "sin",
        "cos",
        "tan",
        "arcsin",
        "arctan",
        "sinh",
        "cosh",
        "arctanh",
        "exp2",
        "expm1",
        "log1p",
        "log2",
        "cbrt",
        "square",
        "reciprocal",
    ):
        names[f"grad of jnp.{name}"] = partial(lambda g: jaxpr(grad(g))(0.5), getattr(jnp, name))
    for name in ("erf", "rsqrt", "logistic", "lgamma"):
        names[f"grad of lax.{name}"] = partial(lambda g: jaxpr(grad(g))(0.5), getattr(lax, name))
    return names


# ---- vmap ----


def vmap(jax, jnp, lax):
    jaxpr, vmap = jax.make_jaxpr, jax.vmap
    v, m, n = _f32(3), _f32(2, 3), _f32(3, 4)
    index = np.array([0, 2], np.int32)
    return {
        "vmap of sin": lambda: jaxpr(vmap(jnp.sin))(v),
        "vmap of f": lambda: jaxpr(vmap(lambda x: jnp.sin(x) * x))(v),
        "vmap of polynomial": lambda: jaxpr(vmap(lambda x: 2 * x * x + 3 * x + 3))(v),
        "vmap in_axes None": lambda: jaxpr(vmap(lambda x, y: x * y, in_axes=(0, None)))(v, 2.0),
        "vmap in_axes 1": lambda: jaxpr(vmap(lambda x: x * 2, in_axes=1))(m),
        "vmap in_axes differ": lambda: jaxpr(vmap(jnp.add, in_axes=(0, 1)))(m, _f32(3, 2)),
        "vmap out_axes": lambda: jaxpr(vmap(lambda x: x * 2, out_axes=1))(m),
        "vmap in_axes tree": lambda: jaxpr(
            vmap(lambda p, x: p["w"] * x + p["b"], in_axes=({"w": 0, "b": None}, 0))
        )({"w": v, "b": 1.0}, v),
        "vmap of constant": lambda: jaxpr(vmap(lambda x: 1.0))(v),
        "vmap of vmap": lambda: jaxpr(vmap(vmap(lambda x: x + 1)))(m),
        "vmap outer product": lambda: jaxpr(vmap(vmap(lambda x, y: x * y, (None, 0)), (0, None)))(
            v, _f32(4)
        ),
        "vmap of sum": lambda: jaxpr(vmap(jnp.sum))(m),
        "vmap of max and argmax": lambda: jaxpr(vmap(lambda x: (x.max(), jnp.argmax(x))))(m),
        "vmap of dot": lambda: jaxpr(vmap(jnp.dot))(m, m),
        "vmap of dot, one side": lambda: jaxpr(vmap(jnp.dot, in_axes=(0, None)))(m, v),
        "vmap of dot, other side": lambda: jaxpr(vmap(jnp.dot, in_axes=(None, 1)))(v, n),
        "vmap of matrix times vector": lambda: jaxpr(vmap(jnp.dot, in_axes=(None, 0)))(
            n, _f32(5, 4)
        ),
        "vmap of matmul": lambda: jaxpr(vmap(lambda x, y: x @ y))(_f32(5, 2, 3), _f32(5, 3, 4)),
        "vmap of broadcasting": lambda: jaxpr(vmap(lambda x, y: x + y))(m, _f32(2)),
        "vmap of rank mismatch": lambda: jaxpr(vmap(lambda x, y: x + y))(_f32(2, 3, 4), _f32(2, 4)),
        "vmap of reshape": lambda: jaxpr(vmap(lambda x: x.reshape(4, 3)))(_f32(5, 3, 4)),
        "vmap of transpose": lambda: jaxpr(vmap(jnp.transpose))(_f32(5, 3, 4)),
        "vmap of concatenate": lambda: jaxpr(vmap(lambda x, y: jnp.concatenate([x, y])))(m, m),
        "vmap of stack": lambda: jaxpr(vmap(lambda x, y: jnp.stack([x, y]), (0, None)))(m, v),
        "vmap of where": lambda: jaxpr(vmap(lambda x: jnp.where(x > 0, x, 0.0)))(v),
        "vmap of select with one predicate": lambda: jaxpr(vmap(lambda p, x: lax.select(p, x, -x)))(
            np.ones(2, bool), m
        ),
        "vmap of clip": lambda: jaxpr(vmap(lambda x: jnp.clip(x, 0.0, 1.0)))(v),
        "vmap of sort": lambda: jaxpr(vmap(jnp.sort))(m),
        "vmap of cumsum": lambda: jaxpr(vmap(jnp.cumsum))(m),
        "vmap of pad": lambda: jaxpr(vmap(lambda x: lax.pad(x, 0.0, ((1, 0, 0),))))(m),
        "vmap of rev": lambda: jaxpr(vmap(lambda x: lax.rev(x, (0,))))(m),
        "vmap of x[0]": lambda: jaxpr(vmap(lambda x: x[0]))(m),
        "vmap of x[1:3]": lambda: jaxpr(vmap(lambda x: x[1:3]))(m),
        "vmap of dynamic index": lambda: jaxpr(vmap(lambda x, i: x[i]))(m, index),
        "vmap of index, one array": lambda: jaxpr(vmap(lambda x, i: x[i], (None, 0)))(v, index),
        "vmap of dynamic_slice": lambda: jaxpr(vmap(lambda x, i: lax.dynamic_slice(x, (i,), (2,))))(
            m, index
        ),
        "vmap of dynamic_update_slice": lambda: jaxpr(
            vmap(lambda x, i: lax.dynamic_update_slice(x, jnp.zeros(1), (i,)))
        )(m, index),
        "vmap of at set": lambda: jaxpr(vmap(lambda x: x.at[0].set(1.0)))(m),
        "vmap of at add index": lambda: jaxpr(vmap(lambda x, i: x.at[i].add(1.0)))(m, index),
        "vmap of iota": lambda: jaxpr(vmap(lambda x: x * jnp.arange(3)))(_f32(2)),
        "vmap of convert": lambda: jaxpr(vmap(lambda x: x.astype(int)))(v),
        "vmap of softmax": lambda: jaxpr(vmap(jax.nn.softmax))(m),
        "vmap of grad of f": lambda: jaxpr(vmap(jax.grad(lambda x: jnp.sin(x) * x)))(v),
        "grad of sum of vmap": lambda: jaxpr(jax.grad(lambda x: jnp.sum(vmap(jnp.sin)(x))))(v),
        "vmap of jvp": lambda: jaxpr(vmap(lambda x: jax.jvp(jnp.sin, (x,), (1.0,))))(v),
        "vmap axis_size": lambda: jaxpr(
            vmap(lambda x: x + 1, in_axes=None, out_axes=None, axis_size=4)
        )(1.0),
    }


# ---- jit ----


def jit(jax, jnp, lax):
    jaxpr, jit, grad = jax.make_jaxpr, jax.jit, jax.grad
    v, m = _f32(3), _f32(2, 3)

    @jit
    def square(x):
        return x * x

    @jit
    def outer(x):
        return square(x) + 1

    @jit
    def two_results(x):
        return {"sin": jnp.sin(x), "cos": jnp.cos(x)}

    @partial(jit, static_argnums=1)
    def power(x, n):
        return x**n

    @partial(jit, static_argnames="n")
    def repeat(x, n=2):
        return _repeat(jnp.sin, n, x)

    @partial(jit, inline=True)
    def inlined(x):
        return x + 1

    @jit
    def unused(x, y):
        return x * 2

    @jit
    def passes_through(x):
        return x, 1.0

    def with_const():
        const = jnp.arange(3.0)
        return jaxpr(jit(lambda x: x + const))(v)

    def with_const_two_levels():
        const = jnp.arange(3.0)

        @jit
        def inner(x):
            return x * const

        return jaxpr(jit(lambda x: inner(x) + const))(v)

    def with_const_of_grad():
        const = jnp.arange(3.0)

        @jit
        def inner(x):
            return jnp.sum(jnp.sin(x) * const)

        return jaxpr(grad(inner))(v)

    def closes_over_tracer(x):
        return jit(lambda y: x * y)(2.0)

    return {
        "jit": lambda: jaxpr(square)(v),
        "jit of lambda": lambda: jaxpr(jit(lambda x: x + 1))(1.0),
        "jit in jit": lambda: jaxpr(outer)(3.0),
        "jit twice, shared jaxpr": lambda: jaxpr(lambda x: square(x) + square(x * 2))(3.0),
        "jit at two dtypes": lambda: jaxpr(lambda x, y: (square(x), square(y)))(1.0, 1),
        "jit at two shapes": lambda: jaxpr(lambda x, y: (square(x), square(y)))(v, m),
        "jit shared two levels deep": lambda: jaxpr(lambda x: outer(x) + square(x))(3.0),
        "jit two results": lambda: jaxpr(two_results)(1.0),
        "jit static_argnums": lambda: jaxpr(lambda x: power(x, 3))(1.0),
        "jit static_argnums twice": lambda: jaxpr(lambda x: power(x, 3) + power(x, 2))(1.0),
        "jit static_argnames": lambda: jaxpr(lambda x: repeat(x, n=3))(1.0),
        "jit inline": lambda: jaxpr(lambda x: inlined(x) * 2)(1.0),
        "jit inline in jit": lambda: jaxpr(jit(lambda x: inlined(x) * 2))(1.0),
        "jit unused argument": lambda: jaxpr(unused)(1.0, 2.0),
        "jit passes through": lambda: jaxpr(passes_through)(1.0),
        "jit with closed-over const": with_const,
        "jit of jit with closed-over const": with_const_two_levels,
        "grad of jit with closed-over const": with_const_of_grad,
        "jit closes over tracer": lambda: jaxpr(closes_over_tracer)(3.0),
        "jit with scalar literals": lambda: jaxpr(lambda x: square(2.0) + x)(1.0),
        "jit of literal argument": lambda: jaxpr(lambda: square(3.0))(),
        "jit keyword arguments": lambda: jaxpr(jit(lambda x, *, y: x * y))(1.0, y=2.0),
        "jit name of partial": lambda: jaxpr(jit(partial(lambda a, x: a * x, 2.0)))(1.0),
        "jit donate_argnums": lambda: jaxpr(jit(lambda x: x + 1, donate_argnums=0))(1.0),
        "jit keep_unused": lambda: jaxpr(jit(lambda x, y: x + 1, keep_unused=True))(1.0, 2.0),
        "jvp of jit": lambda: jaxpr(lambda x: jax.jvp(square, (x,), (1.0,)))(3.0),
        "grad of jit": lambda: jaxpr(grad(square))(3.0),
        "grad of jit of sin": lambda: jaxpr(grad(jit(lambda x: jnp.sin(x) * x)))(3.0),
        "grad of jit in jit": lambda: jaxpr(grad(outer))(3.0),
        "grad of grad of jit": lambda: jaxpr(grad(grad(jit(lambda x: jnp.sin(x) * x))))(3.0),
        "value_and_grad of jit": lambda: jaxpr(jax.value_and_grad(square))(3.0),
        "jit of grad": lambda: jaxpr(jit(grad(lambda x: jnp.sin(x) * x)))(3.0),
        "jit of grad of jit": lambda: jaxpr(jit(grad(square)))(3.0),
        "vmap of jit": lambda: jaxpr(jax.vmap(square))(v),
        "vmap of jit in jit": lambda: jaxpr(jax.vmap(outer))(v),
        "jit of vmap": lambda: jaxpr(jit(jax.vmap(lambda x: jnp.sin(x) * x)))(v),
        "jit of vmap of grad of jit": lambda: jaxpr(jit(jax.vmap(grad(square))))(v),
        "grad of sum of vmap of jit": lambda: jaxpr(grad(lambda x: jnp.sum(jax.vmap(square)(x))))(
            v
        ),
        "linearize of jit": lambda: jaxpr(jax.linearize(square, 3.0)[1])(1.0),
        "jvp of jit, symbolic zero": lambda: jaxpr(
            lambda x: jax.jvp(lambda y: unused(y, 2.0), (x,), (1.0,))
        )(3.0),
        "hessian of jit": lambda: jaxpr(jax.hessian(square))(3.0),
        "jacfwd of jit": lambda: jaxpr(jax.jacfwd(square))(v),
    }


# ---- networks ----


def networks(jax, jnp, lax):
    jaxpr, grad, vmap, jit = jax.make_jaxpr, jax.grad, jax.vmap, jax.jit
    params = [(_f32(3, 4), _f32(4)), (_f32(4, 2), _f32(2))]
    x, y = _f32(3), _f32(2)
    xs, ys = _f32(5, 3), _f32(5, 2)

    def forward(params, x):
        *hidden, (w, b) = params
        for v, c in hidden:
            x = jnp.tanh(jnp.dot(x, v) + c)
        return jnp.dot(x, w) + b

    def relu_forward(params, x):
        (v, c), (w, b) = params
        return jax.nn.relu(x @ v + c) @ w + b

    def loss(params, x, y):
        return jnp.mean((forward(params, x) - y) ** 2)

    def cross_entropy(params, x, y):
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(forward(params, x)) * y, axis=-1))

    def sgd(params, x, y):
        grads = grad(loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

    def accuracy(params, x, y):
        return jnp.mean(jnp.argmax(forward(params, x), axis=-1) == jnp.argmax(y, axis=-1))

    def linear(w, b, x):
        return jnp.dot(w, x) + b

    def logistic_loss(w, x, y):
        p = jax.nn.sigmoid(x @ w)
        return -jnp.mean(y * jnp.log(p) + (1 - y) * jnp.log(1 - p))

    return {
        "MLP": lambda: jaxpr(forward)(params, x),
        "MLP of a batch": lambda: jaxpr(forward)(params, xs),
        "MLP with relu": lambda: jaxpr(relu_forward)(params, xs),
        "vmap of MLP": lambda: jaxpr(vmap(forward, in_axes=(None, 0)))(params, xs),
        "MLP loss": lambda: jaxpr(loss)(params, xs, ys),
        "MLP cross entropy": lambda: jaxpr(cross_entropy)(params, xs, ys),
        "MLP accuracy": lambda: jaxpr(accuracy)(params, xs, ys),
        "grad of MLP loss": lambda: jaxpr(grad(loss))(params, xs, ys),
        "grad of MLP loss of one example": lambda: jaxpr(grad(loss))(params, x, y),
        "grad of MLP cross entropy": lambda: jaxpr(grad(cross_entropy))(params, xs, ys),
        "value_and_grad of MLP loss": lambda: jaxpr(jax.value_and_grad(loss))(params, xs, ys),
        "vmap of grad of MLP loss": lambda: jaxpr(vmap(grad(loss), in_axes=(None, 0, 0)))(
            params, xs, ys
        ),
        "jvp of MLP loss": lambda: jaxpr(
            lambda p, t: jax.jvp(lambda q: loss(q, xs, ys), (p,), (t,))
        )(params, params),
        "grad of jit of MLP loss": lambda: jaxpr(grad(jit(loss)))(params, xs, ys),
        "jit of grad of MLP loss": lambda: jaxpr(jit(grad(loss)))(params, xs, ys),
        "jit of grad of jit of MLP loss": lambda: jaxpr(jit(grad(jit(loss))))(params, xs, ys),
        "grad of MLP with relu": lambda: jaxpr(grad(lambda p: jnp.sum(relu_forward(p, xs))))(
            params
        ),
        "MLP training step": lambda: jaxpr(sgd)(params, xs, ys),
        "jit of MLP training step": lambda: jaxpr(jit(sgd))(params, xs, ys),
        "linear layer": lambda: jaxpr(linear)(_f32(2, 3), _f32(2), x),
        "vmap of linear layer": lambda: jaxpr(vmap(linear, in_axes=(None, None, 0)))(
            _f32(2, 3), _f32(2), xs
        ),
        "jacrev of linear layer": lambda: jaxpr(jax.jacrev(linear))(_f32(2, 3), _f32(2), x),
        "logistic regression": lambda: jaxpr(logistic_loss)(x, xs, _f32(5)),
        "grad of logistic regression": lambda: jaxpr(grad(logistic_loss))(x, xs, _f32(5)),
        "SELU": lambda: jaxpr(lambda x: 1.05 * jnp.where(x > 0, x, 1.67 * jnp.exp(x) - 1.67))(
            v_of(3)
        ),
        "grad of SELU, jitted": lambda: jaxpr(
            grad(
                lambda x: jit(lambda x: 1.05 * jnp.where(x > 0, x, 1.67 * jnp.exp(x) - 1.67))(
                    x
                ).sum()
            )
        )(v_of(3)),
        "convolution by hand": lambda: jaxpr(
            lambda x, w: jnp.array([jnp.dot(x[i - 1 : i + 2], w) for i in range(1, len(x) - 1)])
        )(_f32(5), _f32(3)),
    }


def v_of(size):
    return _f32(size)


# ---- random ----


def random(jax, jnp, lax):
    jaxpr, r = jax.make_jaxpr, jax.random
    key = lambda: r.key(0)  # noqa: E731
    return {
        "random.key": lambda: jaxpr(lambda: r.key(0))(),
        "random.key of tracer": lambda: jaxpr(lambda s: r.key(s))(0),
        "random.PRNGKey": lambda: jaxpr(lambda: r.PRNGKey(0))(),
        "random.split": lambda: jaxpr(lambda k: r.split(k))(key()),
        "random.split of PRNGKey": lambda: jaxpr(lambda k: r.split(k))(r.PRNGKey(0)),
        "random.split unpacked": lambda: jaxpr(lambda k: [a for a in r.split(k, 3)])(key()),
        "random.fold_in": lambda: jaxpr(lambda k: r.fold_in(k, 7))(key()),
        "random.bits": lambda: jaxpr(lambda k: r.bits(k, (3,)))(key()),
        "random.bits uint8": lambda: jaxpr(lambda k: r.bits(k, (3,), jnp.uint8))(key()),
        "random.uniform": lambda: jaxpr(lambda k: r.uniform(k, (3,)))(key()),
        "random.uniform of PRNGKey": lambda: jaxpr(lambda k: r.uniform(k))(r.PRNGKey(0)),
        "random.normal": lambda: jaxpr(lambda k: r.normal(k, (3,)))(key()),
        "random.bernoulli": lambda: jaxpr(lambda k: r.bernoulli(k, 0.3, (3,)))(key()),
        "random.randint": lambda: jaxpr(lambda k: r.randint(k, (3,), 0, 10))(key()),
        "random.categorical": lambda: jaxpr(lambda k, x: r.categorical(k, x))(key(), _f32(3)),
        "random.permutation": lambda: jaxpr(lambda k: r.permutation(k, 5))(key()),
        "random.choice": lambda: jaxpr(lambda k: r.choice(k, 5, (2,)))(key()),
        "random.exponential": lambda: jaxpr(lambda k: r.exponential(k, (3,)))(key()),
        "random.key_data and wrap": lambda: jaxpr(lambda k: r.wrap_key_data(r.key_data(k)))(key()),
        "vmap of random.normal": lambda: jaxpr(jax.vmap(lambda k: r.normal(k, (2,))))(
            r.split(key(), 3)
        ),
        "dropout": lambda: jaxpr(lambda k, x: jnp.where(r.bernoulli(k, 0.5, x.shape), x / 0.5, 0))(
            key(), _f32(3)
        ),
    }


SECTIONS = (
    arithmetic,
    lax_families,
    numpy_elementwise,
    numpy_reductions,
    numpy_products,
    numpy_shapes,
    numpy_indexing,
    nn,
    structure,
    derivatives,
    vmap,
    jit,
    networks,
    random,
)


def cases(jax, jnp, lax):
    """All cases as {name: thunk}; a name may stand once only."""
    found = {}
    for section in SECTIONS:
        for name, thunk in section(jax, jnp, lax).items():
            if name in found:
                raise ValueError(f"two jaxpr cases are called {name!r}")
            found[name] = thunk
    return found
