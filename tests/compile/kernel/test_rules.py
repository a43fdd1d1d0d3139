"""Compiled equals eager at the edges, and for every dtype: one program a group of cases.

That it does so for a plain call of every primitive is in test_primitives.
"""

from types import SimpleNamespace

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
    INTEGERS,
    compare,
    data,
    edge_values,
    functions,
)
from judged import SMALL_FLOAT

from tinyjax import jit, lax
from tinyjax.compile.kernel.interpret import apply_op
from tinyjax.compile.kernel.rules import Elementwise, OnHost, lowering_rules
from tinyjax.core import primitives
from tinyjax.core.array import ShapedArray
from tinyjax.core.dtypes import np_dtype
from tinyjax.lax.elementwise import unary

# ---- what a rule may write ----


def test_a_rule_that_asks_whether_a_value_is_true_is_told_of_select(monkeypatch):
    rule = Elementwise(lambda ctx, x: x if x > 0 else -x)
    monkeypatch.setitem(lowering_rules, lax.square_p, rule)
    with pytest.raises(
        TypeError, match='neither true nor false.* write `op\\("select", test, a, b'
    ):
        jit(lax.square).lower(np.ones(4, np.float32))


# ---- elementwise, on edge values ----


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_a_float(dtype):
    cases = functions(FLOAT_UNARY) | {
        "round away": lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
        "round to even": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
        "cube": lambda x: lax.integer_pow(x, 3),
        "inverse square": lambda x: lax.integer_pow(x, -2),
        "reduce_precision": lambda x: lax.reduce_precision(x, 5, 2),
    }
    del cases["logistic"]
    compare(cases, edge_values(dtype)[0][0])


@pytest.mark.parametrize("dtype", FLOATS)
def test_logistic_but_where_it_is_next_to_nothing(dtype):
    x = edge_values(dtype)[0][0]
    compare(
        {"logistic": lax.logistic}, x[~(x.astype(float) < -80)]
    )  # below, a denormal is computed, or 0


@pytest.mark.parametrize("dtype", INTEGERS)
def test_functions_of_an_integer(dtype):
    names = INTEGER_UNARY + (" abs" if dtype.startswith("i") else "")
    compare(functions(names), edge_values(dtype)[0][0])


@pytest.mark.parametrize("dtype", EVERY_DTYPE)
def test_functions_of_two_values(dtype):
    names = BOOL_BINARY if dtype == "bool" else INTEGER_BINARY
    compare(functions(FLOAT_BINARY if dtype in FLOATS else names), *edge_values(dtype))


@pytest.mark.parametrize("dtype", EVERY_DTYPE)
def test_conversions(dtype):
    cases = {
        f"to {new}": lambda x, new=new: lax.convert_element_type(x, new) for new in EVERY_DTYPE
    }
    compare(cases, edge_values(dtype)[0][0])


def test_choices():
    x, y = edge_values("float32")
    cases = {
        "select": lambda x, y, which, n: lax.select(which, x, y),
        "select_n": lambda x, y, which, n: lax.select_n(n, x, y, primitives.neg(x)),
        "clamp": lambda x, y, which, n: lax.clamp(np.float32(-1), x, np.float32(1)),
        "total order": lambda x, y, which, n: lax.eq_to_p.bind(x, y),
        "total order <=": lambda x, y, which, n: lax.le_to_p.bind(x, y),
        "total order <": lambda x, y, which, n: lax.lt_to_p.bind(x, y),
    }
    compare(cases, x, y, x > y, np.arange(x.size, dtype=np.int32).reshape(x.shape) % 5 - 1)


def test_bits():
    cases = {
        "same": lambda x: lax.bitcast_convert_type(x, np.float32),
        "int32": lambda x: lax.bitcast_convert_type(x, np.int32),
        "int8": lambda x: lax.bitcast_convert_type(x, np.int8),
        "back": lambda x: lax.bitcast_convert_type(
            lax.bitcast_convert_type(x, np.uint32), np.float32
        ),
    }
    compare(cases, edge_values("float32")[0][0])
    compare({"float16": lambda x: lax.bitcast_convert_type(x, np.uint16)}, data(5, dtype="float16"))


# ---- index maps ----


def test_operands_without_elements():
    cases = {
        "pad": lambda x: lax.pad(x, np.float32(1.5), ((1, 2, 0), (0, 0, 0))),
        "concatenate": lambda x: lax.concatenate([x, np.ones((2, 3), np.float32), x], 0),
        "sum": lambda x: primitives.reduce_sum(x, (0,)),
        "neg": primitives.neg,
        "product": lambda x: lax.dot_general(x, x, (((0,), (0,)), ((), ()))),
    }
    compare(cases, np.zeros((0, 3), np.float32))


@pytest.mark.parametrize("dtype", ["int32", "float32", "uint8", "bfloat16"])
def test_iota(dtype):
    compare({"iota": lambda: lax.broadcasted_iota(np_dtype(dtype), (3, 4), 1)})


@pytest.mark.parametrize("i, j", [(1, 2), (-3, 100), (3, 0)])
def test_dynamic_slices(i, j):
    cases = {
        "slice": lambda x, u, i, j: lax.dynamic_slice_p.bind(x, i, j, slice_sizes=(2, 3)),
        "update": lambda x, u, i, j: lax.dynamic_update_slice_p.bind(x, u, i, j),
    }
    compare(cases, data(5, 6), data(2, 3), np.int32(i), np.int32(j))
    compare(cases, data(5, 6), data(2, 3), np.uint8(abs(i)), np.uint8(j))


@pytest.mark.parametrize("mode", list(lax.GatherScatterMode)[:3])
@pytest.mark.parametrize("dtype", ["int32", "int8", "uint8"])
def test_gathers(mode, dtype):
    rows = lax.GatherDimensionNumbers((1,), (0,), (0,))
    windows = lax.GatherDimensionNumbers((0, 2), (), (0,))
    cases = {
        "rows": lambda x, i: lax.gather(x, i, rows, (1, 6), mode=mode),
        "windows": lambda x, i: lax.gather(x, i, windows, (2, 6), mode=mode),
    }
    compare(cases, data(5, 6), np.array([[0], [4], [3], [100], [-1 % 256]]).astype(dtype))


# ---- reductions and products ----


@pytest.mark.parametrize("dtype", EVERY_DTYPE)
def test_reductions(dtype):
    reducers = functions("reduce_max reduce_min")
    if dtype != "bool":
        reducers["reduce_sum"] = primitives.reduce_sum
        reducers["reduce_prod"] = lambda x, axes: lax.reduce_prod(x, axes[:1])
    if dtype not in FLOATS:
        reducers |= functions("reduce_and reduce_or reduce_xor")
    cases = {
        f"{name} {axes}": lambda x, f=f, axes=axes: f(x, axes)
        for name, f in reducers.items()
        for axes in [(0,), (2,), (0, 1), (0, 1, 2), ()]
    }
    # Sums in another order: up to a rounding each.
    compare(cases, np.abs(data(2, 3, 67, dtype=dtype)), ulps=256)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "bool"])
def test_places_of_extremes(dtype):
    x = data(7, 9, 11, dtype=dtype)
    if dtype in FLOATS:
        x[3, 4, 5] = x[5, 4, 5] = np.nan
        x[2, 2] = -np.inf
    cases = {
        f"{f.__name__} {axis}": lambda x, f=f, axis=axis: f(x, axis, np.int32)
        for f in (lax.argmax, lax.argmin)
        for axis in range(3)
    }
    compare(cases, x)


def test_large_reductions_are_shared_out():
    cases = {
        "all": lambda x: primitives.reduce_sum(x, (0, 1)),
        "rows": lambda x: lax.reduce_max(x, (1,)),
        "columns": lambda x: primitives.reduce_sum(primitives.mul(x, x), (0,)),
        "turned": lambda x: lax.reduce_min(primitives.transpose(x, (1, 0)), (0, 1)),
    }
    compare(cases, np.abs(data(20_003, 3)), ulps=1000)


def test_a_nan_wins_a_maximum():
    x = data(50_000)
    x[40_000] = np.nan
    reducers = functions("reduce_max reduce_min")
    compare({name: lambda x, f=f: f(x, (0,)) for name, f in reducers.items()}, x)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int8", "complex64"])
def test_products(dtype):
    def product(numbers, **params):
        return lambda x, y: lax.dot_general(x, y, numbers, **params)

    compare({"batched": product((((2,), (1,)), ((0,), (0,))))},
            data(3, 4, 5, dtype=dtype), data(3, 5, 6, dtype=dtype), ulps=64)  # fmt: skip
    compare({"outer": product((((), ()), ((), ())))}, data(3, dtype=dtype), data(4, dtype=dtype))


def test_a_large_product_is_numpy_s():
    product = {"product": lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ())))}
    compare(product, data(60, 70), data(70, 50), ulps=10_000)


# ---- rules by themselves, applied to numbers instead of a kernel's values ----


class Numbers:
    """What a rule sees; `op` computes, and counts the operations."""

    def __init__(self, coords=()):
        self.position = SimpleNamespace(coords=coords)
        self.ops = []

    def op(self, name, *args, dtype=None):
        self.ops.append(name)
        return apply_op(name, dtype or args[0].dtype, args)

    def constant(self, value, dtype):
        return dtype.type(value)


def powers(x, exponent):
    ctx = Numbers()
    rule = lowering_rules[lax.integer_pow_p]
    return rule.emit(ctx, np.float32(x), y=exponent), ctx.ops


@pytest.mark.parametrize("exponent", range(10))
def test_a_whole_power_is_made_of_products(exponent):
    power, ops = powers(3.0, exponent)
    assert power == 3.0**exponent, f"3 to the power of {exponent} is {3**exponent}"
    assert set(ops) <= {"mul"}


def test_a_negative_power_is_one_divided_by_the_positive():
    power, ops = powers(2.0, -3)
    assert power == 1 / 8
    assert ops.count("div") == 1


@pytest.mark.parametrize("exponent", range(-9, 20))
def test_a_power_is_rounded_as_the_product_is_and_divided_once_at_the_end(exponent):
    for x in np.float32([3.0, 1.1, -0.7, 0.02, 45.6]):
        squares = [x]
        while len(squares) < 5:
            squares.append(squares[-1] * squares[-1])
        product = np.float32(1)
        for bit, square in enumerate(squares):
            if abs(exponent) >> bit & 1:
                product = square if product == 1 else product * square
        want = np.float32(1) / product if exponent < 0 else product
        found, _ = powers(x, exponent)
        assert found == want, (
            f"{x} to the power of {exponent} is {want!r}, rounded so; not {found!r}"
        )


def test_a_power_of_any_dtype_is_of_that_dtype():
    rule = lowering_rules[lax.integer_pow_p]
    for x in (np.int32(3), np.float64(0.1), np.complex64(1j), np.uint8(2), SMALL_FLOAT.type(2)):
        for exponent in (0, 1, 3):
            found = rule.emit(Numbers(), x, y=exponent)
            assert found == x**exponent or abs(found - x**exponent) < 1e-12
            assert found.dtype == x.dtype, f"{x!r} to the power of {exponent}"
    for exponent in (0, -1, 1024, 4097, -2048):
        ctx = Numbers()
        found = rule.emit(ctx, np.float64(1.0001), y=exponent)
        np.testing.assert_allclose(found, 1.0001**exponent, rtol=1e-9, err_msg=f"to the {exponent}")


@pytest.mark.parametrize(
    "exponent, products", [(1, 0), (2, 1), (4, 2), (5, 3), (15, 6), (64, 6), (-1, 0), (-4, 2)]
)
def test_a_power_takes_few_products(exponent, products):
    _, ops = powers(1.5, exponent)
    assert ops.count("mul") == products, f"x**{exponent} can be made by {products} products"


def mapped(rule, x, shape, **params):
    """The result of an index map on a NumPy array, element by element."""
    operand = SimpleNamespace(
        aval=ShapedArray(x.shape, x.dtype), at=lambda coords: x[tuple(coords)]
    )
    out = np.empty(shape, x.dtype)
    for place in np.ndindex(*shape):
        out[place] = rule.emit(Numbers(place), operand, **params)
    return out


@pytest.mark.parametrize("axes", [(1, 0), (0, 1), (1, 2, 0), (2, 0, 1), (0, 2, 1), (3, 1, 0, 2)])
def test_an_element_of_a_transpose_is_one_of_the_operand_at_another_place(axes):
    shape = (2, 3, 4, 5)[: len(axes)]
    x = np.arange(np.prod(shape)).reshape(shape)
    expected = x.transpose(axes)
    rule = lowering_rules[lax.transpose_p]
    np.testing.assert_array_equal(mapped(rule, x, expected.shape, permutation=axes), expected)


# ---- what rules write ----


def lowered_as(emit):
    """The kernel of a primitive of one operand, with that lowering rule."""
    primitive = unary("own", "f", np.negative)
    lowering_rules[primitive] = Elementwise(emit)
    try:
        return jit(primitive.bind).lower(np.ones(3, np.float32)).as_text("kernel")
    finally:
        del lowering_rules[primitive]


def test_a_number_has_the_dtype_of_the_other_operands():
    text = lowered_as(
        lambda ctx, x: ctx.op("select", ctx.op("lt", x, 2, dtype=np.dtype(bool)), 1, x)
    )
    assert "lt a 2.0" in text and "select t1 1.0 a" in text


def test_an_unknown_operation_names_the_table():
    with pytest.raises(NotImplementedError, match="no operation 'twice' in .*scalar_ops.py"):
        lowered_as(lambda ctx, x: ctx.op("twice", x))


# ---- the table ----


def test_host_steps_have_a_reason():
    assert all(rule.reason for rule in lowering_rules.values() if isinstance(rule, OnHost))
