"""Compiled equals eager on constants: numbers that stand in a kernel keep their dtype and their bits.

C compilers compute with them beforehand, and may leave undefined what a function makes of a NaN; that
shows where nothing else is in a kernel. Either zero may be the larger one, as in NumPy.
"""

import ml_dtypes
import numpy as np
import pytest
from compiled_and_eager import (
    BOOL_BINARY,
    EVERY_DTYPE,
    FLOAT_BINARY,
    FLOAT_UNARY,
    FLOATS,
    INTEGER_BINARY,
    INTEGER_UNARY,
    assert_close,
    functions,
)

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core import primitives
from tinyjax.core.config import config
from tinyjax.core.dtypes import np_dtype

# One of each kind, and of each way in which C writes it.
KINDS = ["float32", "float16", "float64", "int8", "uint16", "int64", "bool"]
NO_SIGN_OF_ZERO = ("max", "min", "clamp")


def special(dtype):
    """Numbers with bits of their own: the ends of the dtype, and what floats have beside numbers."""
    dtype = np_dtype(dtype)
    if dtype.kind == "b":
        return [np.False_, np.True_]
    if dtype.name in FLOATS:
        largest = ml_dtypes.finfo(dtype).max
        return list(np.array([-0.0, np.nan, -np.inf, largest, -2.5], dtype))
    info = np.iinfo(dtype)
    return list(np.array([0, 3, info.max, info.min, *([-3] if info.min else [])], dtype))


def full(value, shape=(3,)):
    return lax.full(shape, value)


def compare(cases, *args):
    """Compiles all cases as one program, and compares each with its eager result, bit for bit but for the
    last two of a function's. A NaN is equal to all others."""
    with config.set("jax_enable_x64", True), np.errstate(all="ignore"):
        found = jax.jit(lambda *xs: [case(*xs) for case in cases.values()])(*args)
        wanted = [case(*map(jnp.asarray, args)) for case in cases.values()]
    for name, x, y in zip(cases, found, wanted, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert_close(name, x, y, ulps=4)
        if y.dtype.name in FLOATS and not name.startswith(NO_SIGN_OF_ZERO):
            is_number = y == y
            np.testing.assert_array_equal(np.signbit(x[is_number]), np.signbit(y[is_number]), name)


# ---- elementwise ----


def of_one(dtype):
    if dtype in ("float16", "bfloat16"):  # others are computed as float32's are, and rounded
        return functions("neg sign abs floor ceil sqrt exp log sin is_finite square")
    if dtype in FLOATS:
        return functions(FLOAT_UNARY) | {
            "round away": lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
            "round to even": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
            "cube": lambda x: lax.integer_pow(x, 3),
            "inverse square": lambda x: lax.integer_pow(x, -2),
        }
    if dtype == "bool":
        return functions("bitwise_not")
    return functions(INTEGER_UNARY + (" abs" if dtype.startswith("i") else ""))


def of_two(dtype):
    if dtype in FLOATS:
        return functions(FLOAT_BINARY) | {"floor_divide": jnp.floor_divide}
    if dtype == "bool":
        return functions(BOOL_BINARY)
    return functions(INTEGER_BINARY) | {"floor_divide": jnp.floor_divide}


@pytest.mark.parametrize("dtype", EVERY_DTYPE)
def test_functions_of_a_constant(dtype):
    compare(
        {
            f"{name} of {v}": lambda f=f, v=v: f(full(v))
            for name, f in of_one(dtype).items()
            for v in special(dtype)
        }
    )


@pytest.mark.parametrize("dtype", EVERY_DTYPE)
def test_conversions_of_a_constant(dtype):
    compare(
        {
            f"{v} to {new}": lambda v=v, new=new: lax.convert_element_type(full(v), new)
            for new in EVERY_DTYPE
            for v in special(dtype)
        }
    )


@pytest.mark.parametrize("dtype", KINDS)
def test_functions_of_two_constants(dtype):
    values = special(dtype)
    compare(
        {
            f"{name} of {u} and {v}": lambda f=f, u=u, v=v: f(full(u), full(v))
            for name, f in of_two(dtype).items()
            for u, v in zip(values, values[1:] + values[:1])
        }
    )


@pytest.mark.parametrize("dtype", KINDS)
def test_functions_of_a_constant_and_an_array(dtype):
    x, pair = np.array(special(dtype)), special(dtype)[:2]
    left = {
        f"{name} of {v} and x": lambda x, f=f, v=v: f(full(v, x.shape), x)
        for name, f in of_two(dtype).items()
        for v in pair
    }
    right = {
        f"{name} of x and {v}": lambda x, f=f, v=v: f(x, full(v, x.shape))
        for name, f in of_two(dtype).items()
        for v in pair
    }
    compare(left | right, x)


@pytest.mark.parametrize("dtype", [d for d in KINDS if np_dtype(d).kind in "iu"])
def test_bits_of_a_constant_by_each_of_a_vectors_places(dtype):
    x = np.arange(40, dtype=dtype)
    compare(
        {
            f"{one} << x": lambda x, one=one: lax.shift_left(full(one, x.shape), x)
            for one in special(dtype)
        },
        x,
    )


@pytest.mark.parametrize("dtype", EVERY_DTYPE[:-1])
def test_bits_of_a_constant(dtype):
    """Of a NaN as well: they are those of NumPy's."""
    size = np_dtype(dtype).itemsize
    compare(
        {
            f"{v} as {new}": lambda v=v, new=new: lax.bitcast_convert_type(full(v), np_dtype(new))
            for new in EVERY_DTYPE[:-1]
            for v in special(dtype)
            if np_dtype(new).itemsize == size
        }
    )


# ---- alone in a kernel ----


def known(name, dtype):
    return pytest.param(getattr(lax, name), dtype, id=f"{name} of {dtype}")


@pytest.mark.parametrize(
    "f, dtype",
    [
        *[known(name, dtype) for name in ("floor", "ceil", "round") for dtype in FLOATS],
        *[known(name, "float64") for name in ("exp", "exp2", "expm1", "logistic")],
        *[known(name, "float32") for name in ("lgamma", "digamma")],
    ],
)
def test_a_nan_that_the_c_compiler_knows_stays_one(f, dtype):
    compare({"nan": lambda: f(full(np_dtype(dtype).type(np.nan)))})


def test_a_double_that_is_written_in_a_program_without_others_is_a_double():
    largest = np.finfo(np.float64).max
    compare({"finite": lambda: lax.is_finite(full(largest))})
    compare({"converted": lambda: lax.convert_element_type(full(np.float64(2.5)), np.int32)})


# ---- combined, chosen and moved ----


def combinations(dtype, u, v):
    """What else has constants as operands, each applied to u or to both."""
    indices = full(np.int8(-1), (2, 1))
    cases = {
        "argmax": lambda: lax.argmax(full(u), 0, np.int8),
        "max of all": lambda: lax.reduce_max(full(u, (2, 20)), (0, 1)),
        "min of a row": lambda: lax.reduce_min(full(u, (2, 20)), (1,)),
        "select": lambda: lax.select(full(np.True_), full(u), full(v)),
        "select_n": lambda: lax.select_n(full(np.int32(1)), full(v), full(u), full(v)),
        "where": lambda: jnp.where(jnp.arange(3) > 1, u, v),
        "concatenate": lambda: lax.concatenate([full(u), full(v)], 0),
        "pad": lambda: lax.pad(full(u), v, ((1, 2, 1),)),
        "update": lambda: lax.dynamic_update_slice(full(u), full(v, (2,)), (np.int8(9),)),
        "gather": lambda: full(u, (4,))[indices],
        "cond": lambda: lax.cond(True, lambda: full(u), lambda: full(v)),
        "loop": lambda: lax.fori_loop(0, 2, lambda i, c: (c[1], c[0]), (full(u), full(v))),
        "scan": lambda: lax.scan(lambda c, x: (x, c), u, full(v)),
    }
    if dtype == "bool":
        return cases | {"or": lambda: lax.reduce_or(full(u), (0,))}
    if dtype not in FLOATS:
        cases["xor"] = lambda: lax.reduce_xor(full(u), (0,))
    return cases | {
        "sum": lambda: primitives.reduce_sum(full(u, (2, 20)), (1,)),
        "product": lambda: lax.reduce_prod(full(u), (0,)),
        "clamp": lambda: lax.clamp(full(u), full(v), full(u)),
        "dot": lambda: full(u, (2, 3)) @ full(v, (3, 2)),
    }


@pytest.mark.slow
@pytest.mark.parametrize("dtype", KINDS)
def test_other_uses_of_constants(dtype):
    values = special(dtype)
    compare(
        {
            f"{name} of {u} and {v}": lambda f=f: jnp.concatenate(
                [jnp.ravel(leaf) for leaf in jax.tree.leaves(f())]
            )
            for u, v in zip(values, values[1:] + values[:1])
            for name, f in combinations(dtype, u, v).items()
        }
    )
