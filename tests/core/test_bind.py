"""Primitives and bind: from a call to NumPy."""

import warnings

import numpy as np
import pytest
from explain_errors import explain_errors

import tinyjax as jax
from tinyjax import numpy as jnp
from tinyjax.core import bind, dtypes, errors, primitives
from tinyjax.core.array import ArrayImpl, ShapedArray


def test_bind_without_a_transformation_computes_with_numpy():
    x = primitives.sin(3.0)
    assert isinstance(x, ArrayImpl)
    assert np.asarray(x) == np.sin(np.float32(3.0))


# ---- the current trace ----


class Notes(bind.Trace):
    """Does nothing with a primitive but to say what it was handed."""

    def process_primitive(self, primitive, args, params):
        return primitive, args, params


def test_bind_hands_itself_operands_and_parameters_to_the_current_trace():
    p = bind.Primitive("p")
    with bind.set_current_trace(Notes()):
        assert p.bind(1, 2, axis=0) == (p, (1, 2), {"axis": 0})


def test_a_trace_is_current_within_its_block_and_the_one_before_it_after():
    before, outer, inner = bind.context.trace, Notes(), Notes()
    with bind.set_current_trace(outer):
        assert bind.context.trace is outer, "within the block, its trace is current"
        with bind.set_current_trace(inner):
            assert bind.context.trace is inner, "a block within a block has its own trace"
        assert bind.context.trace is outer, (
            "after the inner block, the outer trace is current again"
        )
    assert bind.context.trace is before, "after the block, the trace before it is current again"


def test_the_trace_before_is_current_again_after_an_error_which_goes_on():
    before = bind.context.trace
    with pytest.raises(KeyError), bind.set_current_trace(Notes()):
        raise KeyError
    assert bind.context.trace is before


def shapes(*shapes):
    return [ShapedArray(shape, np.dtype("float32")) for shape in shapes]


@pytest.mark.parametrize(
    "operands, result",
    [
        ([(), ()], ()),
        ([(3,), (3,)], (3,)),
        ([(), (2, 3)], (2, 3)),
        ([(2, 1), (1, 3)], (2, 3)),
        ([(4, 1, 3), (1, 2, 3), ()], (4, 2, 3)),
        ([(1, 1), (1, 1)], (1, 1)),
        ([(2, 1, 1), (1, 1, 3)], (2, 1, 3)),
        ([(1,), (0,)], (0,)),
    ],
)
def test_equal_shapes_ones_and_scalars_broadcast(operands, result):
    try:
        out = primitives.broadcast_shapes("add", *shapes(*operands))
    except TypeError as error:
        pytest.fail(f"{operands} fit, but raised {error!r}")
    assert out == result, f"of {operands}"


@pytest.mark.parametrize(
    "operands", [[(3,), (4,)], [(2, 3), (3,)], [(3,), (3, 2)], [(2, 3), (3, 2)]]
)
def test_other_shapes_do_not_broadcast_nor_are_dimensions_added(operands):
    with (
        explain_errors("shapes that do not fit are a TypeError"),
        pytest.raises(TypeError, match="add got incompatible shapes for broadcasting") as raised,
    ):
        out = primitives.broadcast_shapes("add", *shapes(*operands))
        pytest.fail(f"{operands} do not fit, but {out} is what came out")
    for shape in operands:
        assert str(shape) in str(raised.value), f"the message should name the shape {shape}"


# ---- impl rules ----


def broadcast_in_dim(x, shape, broadcast_dimensions):
    impl = bind.impl_rules[primitives.broadcast_in_dim_p]
    return impl(x, shape=shape, broadcast_dimensions=broadcast_dimensions)


def test_a_row_is_repeated_down_the_rows_and_a_column_along_them():
    x = np.array([1.0, 2.0], np.float32)
    np.testing.assert_array_equal(broadcast_in_dim(x, (3, 2), (1,)), [[1, 2]] * 3)
    np.testing.assert_array_equal(broadcast_in_dim(x, (2, 3), (0,)), [[1, 1, 1], [2, 2, 2]])


def test_broadcast_dimensions_say_where_each_dimension_goes_and_ones_stretch():
    x = np.arange(2.0).reshape(2, 1)
    out = broadcast_in_dim(x, (2, 3, 4), (0, 2))
    np.testing.assert_array_equal(out, np.broadcast_to(x[:, None, :], (2, 3, 4)))


def test_dimensions_may_change_their_order_which_is_a_transposition_before():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    cotangent = np.arange(24, dtype=np.float32).reshape(3, 4, 2)

    def f(x):
        return primitives.broadcast_in_dim(x, (3, 4, 2), (2, 0))

    want = np.broadcast_to(x.T[:, None], (3, 4, 2))
    np.testing.assert_array_equal(f(x), want)
    np.testing.assert_array_equal(jax.jit(f)(x), want)
    np.testing.assert_array_equal(jax.vmap(f, 1)(np.stack([x, -x], 1)), [want, -want])
    np.testing.assert_array_equal(jax.vjp(f, x)[1](cotangent)[0], cotangent.sum(1).T)
    with pytest.raises(TypeError, match="behind that of the one before it"):
        primitives.broadcast_in_dim_p.bind(x, shape=(3, 2), broadcast_dimensions=(1, 0))


def test_a_scalar_fills_an_array_and_nothing_is_added_without_need():
    np.testing.assert_array_equal(broadcast_in_dim(np.float32(7), (2, 2), ()), np.full((2, 2), 7))
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(broadcast_in_dim(x, (2, 3), (0, 1)), x)


def test_the_result_has_the_shape_that_was_asked_for_and_the_operands_dtype():
    x = np.array([1.0, 2.0], np.float32)
    assert broadcast_in_dim(x, (1, 2), (1,)).shape == (1, 2)
    assert broadcast_in_dim(x, (3, 2), (1,)).dtype == np.float32


# ---- eager evaluation ----


def test_a_python_scalar_is_weakly_typed_and_so_is_what_is_made_of_it():
    assert bind.get_aval(2.0) == ShapedArray((), np.dtype("float32"), weak_type=True)
    assert primitives.mul(2.0, 3.0).weak_type
    assert not primitives.mul(2.0, np.float32(3)).weak_type


def test_a_primitive_with_several_results_gives_a_list_of_arrays():
    both_p = bind.Primitive("both", multiple_results=True)
    both_p.def_abstract_eval(lambda aval: [aval, aval])
    both_p.def_impl(lambda x: [x + 1, x - 1])
    more, less = both_p.bind(1.0)
    assert isinstance(more, ArrayImpl) and (float(more), float(less)) == (2.0, 0.0)
    assert str(more.aval) == str(less.aval) == "~float32[]", "the avals that abstract_eval gave"


def test_a_primitive_that_takes_arrays_is_given_them_and_computes_its_avals_itself():
    twice_p = bind.Primitive("twice", impl_binds_primitives=True)
    twice_p.def_impl(lambda x: primitives.add(x, x))
    assert float(twice_p.bind(primitives.neg(2.0))) == -4.0
    with bind.set_current_trace(Notes()):  # as where a transformation hands it to its parent
        out = bind.EvalTrace().process_primitive(twice_p, [2.0], {})
    assert isinstance(out, ArrayImpl), "what its impl rule binds goes to EvalTrace too"


@pytest.mark.parametrize("impl_binds_primitives", [False, True])
def test_rules_are_given_all_operands_and_the_parameters(impl_binds_primitives):
    p, seen = bind.Primitive("p", impl_binds_primitives=impl_binds_primitives), []
    p.def_abstract_eval(lambda a, b, *, scale: seen.append((a, b, scale)) or a)
    p.def_impl(lambda a, b, *, scale: seen.append((a, b, scale)) or np.float32(a * b * scale))
    assert float(p.bind(np.float32(2), np.int32(3), scale=4)) == 24.0
    if not impl_binds_primitives:
        assert seen == [(bind.get_aval(np.float32(2)), bind.get_aval(np.int32(3)), 4), (2, 3, 4)]
        assert [x.dtype.name for x in seen[1][:2]] == ["float32", "int32"], (
            "NumPy arrays of the avals"
        )


def test_a_tracer_without_its_trace_has_leaked():
    class Lost(bind.Tracer):
        aval = ShapedArray((), np.dtype("float32"))

    with pytest.raises(errors.UnexpectedTracerError, match="leaked"):
        bind.EvalTrace().process_primitive(primitives.sin_p, [Lost()], {})


def test_abstract_eval_knows_shape_and_dtype_without_values():
    avals = ShapedArray((2, 1), np.dtype("float32")), ShapedArray((1, 3), np.dtype("float32"))
    assert bind.abstract_eval_rules[primitives.add_p](*avals).shape == (2, 3)


def test_operands_of_different_dtypes_do_not_fit_a_primitive():
    with pytest.raises(TypeError, match="add requires arguments to have the same dtypes.*int32"):
        primitives.add(np.float32(1), np.int32(1))


def test_operands_of_different_shapes_do_not_fit_a_primitive():
    with pytest.raises(TypeError, match=r"incompatible shapes for broadcasting: \(3,\), \(4,\)"):
        primitives.add(np.ones(3, np.float32), np.ones(4, np.float32))


def test_a_value_that_is_no_array_is_named_in_the_error():
    with pytest.raises(TypeError, match="'two'.*is not a valid JAX type"):
        primitives.sin("two")


def test_a_primitive_of_ones_own_needs_an_impl_and_an_abstract_eval_rule():
    double_p = bind.Primitive("double")
    with pytest.raises(NotImplementedError, match="Evaluation rule for 'double' not implemented"):
        double_p.bind(1.0)
    double_p.def_impl(lambda x: 2 * x)
    made = double_p.bind(4.0)
    assert made == 8.0 and not isinstance(made, ArrayImpl), (
        "in the making: what impl gives, as it is"
    )
    double_p.def_abstract_eval(lambda aval: aval)
    assert isinstance(double_p.bind(4.0), ArrayImpl) and float(double_p.bind(4.0)) == 8.0


def test_a_python_integer_that_does_not_fit_is_an_error():
    with pytest.raises(OverflowError, match="3000000000"):
        primitives.neg(3_000_000_000)


def test_masked_arrays_are_refused():
    masked = np.ma.masked_array([1.0, 2.0], mask=[False, True])
    for convert in (primitives.sin, jnp.asarray):
        with pytest.raises(ValueError, match=r"x\.filled"):
            convert(masked)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_long_sum_of_halves_is_rounded_once(dtype):
    ones = np.ones(3000, dtypes.np_dtype(dtype))
    assert float(primitives.reduce_sum(ones, (0,))) == float(ones.dtype.type(3000))


def test_eager_operations_do_not_warn_and_leave_numpys_settings_alone():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(jnp.log(jnp.array(-1.0)))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.array([1.0]) / np.array([0.0])


def test_an_impl_rule_can_call_other_operations():
    twice_sin_p = bind.Primitive("twice_sin")
    twice_sin_p.def_abstract_eval(lambda aval: aval)
    twice_sin_p.def_impl(lambda x: np.asarray(primitives.sin(primitives.sin(x))))
    assert float(twice_sin_p.bind(1.0)) == pytest.approx(np.sin(np.sin(1.0)))
