"""Primitives and bind: from a call to NumPy."""

import operator
import warnings

import numpy as np
import pytest
from explain_errors import explain_errors
from judged import (
    SMALL_FLOAT,
    Thrown,
    each_error,
    error_passes,
    every_error_passes,
    raises,
    unchanged,
)

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
        return primitive, tuple(args), params


def test_bind_hands_itself_operands_and_parameters_to_the_current_trace():
    p = bind.Primitive("p")
    with bind.set_current_trace(Notes()):
        assert p.bind(1, 2, axis=0) == (p, (1, 2), {"axis": 0})
        assert p.bind(1, a=None, b=()) == (p, (1,), {"a": None, "b": ()}), "all parameters"


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
    with bind.set_current_trace(outer):
        bind.context.trace = inner
    assert bind.context.trace is before, "whatever is current where the block ends"
    with bind.set_current_trace(outer):
        with bind.set_current_trace(outer):
            assert bind.context.trace is outer, "a trace may be made current where it is already"
        assert bind.context.trace is outer
    assert bind.context.trace is before


def test_the_trace_before_is_current_again_after_an_error_which_goes_on():
    before = bind.context.trace
    with pytest.raises(KeyError), bind.set_current_trace(Notes()):
        raise KeyError
    assert bind.context.trace is before
    error = KeyError("of a block")
    error.__cause__ = cause = ValueError("its cause")
    with pytest.raises(KeyError) as raised, bind.set_current_trace(Notes()):
        raise error
    assert raised.value is error and error.__cause__ is cause, "with its cause"


@pytest.mark.parametrize(
    "error", [StopIteration, AttributeError, KeyboardInterrupt, GeneratorExit, SystemExit]
)
def test_a_block_lets_every_error_go_on(error):
    with error_passes(error()) as raised, bind.set_current_trace(Notes()):
        raise raised


class Answers(bind.Trace):
    """Gives one answer to all primitives."""

    def __init__(self, answer):
        self.answer = answer

    def process_primitive(self, *_):
        return self.answer


def test_bind_takes_any_number_of_operands_and_no_parameters():
    p = bind.Primitive("p")
    with bind.set_current_trace(Notes()):
        assert [p.bind(*operands) for operands in ((), (1,), (1, 2, 3))] == [
            (p, (), {}),
            (p, (1,), {}),
            (p, (1, 2, 3), {}),
        ]
    operands, params = (2.0, True, np.float32(1), None, [3]), {"a": [1], "b": None, "c": (2, [])}
    for multiple_results in (False, True):
        p = bind.Primitive("p", multiple_results=multiple_results)
        with bind.set_current_trace(Notes()):
            _, args, got = p.bind(*operands, **params)
        assert all(map(operator.is_, args, operands)), "operands are handed on as they are"
        assert [*got] == ["a", "b", "c"] and all(got[k] is params[k] for k in params)
        for answer in (0.0, None, [], (1, 2), iter([3]), {}):
            with bind.set_current_trace(Answers(answer)):
                assert p.bind(2.0) is answer, "what the trace gives is returned as it is"


def test_an_error_of_the_current_trace_goes_on_through_bind():
    every_error_passes(lambda: bind.Primitive("p").bind(1.0, axis=0))


def test_a_trace_is_current_in_its_own_thread_alone():
    trace = Notes()
    with bind.set_current_trace(trace):
        of_another_thread = type(bind.context)()  # which finds there what the class has
        assert bind.context.trace is trace
        assert of_another_thread.trace is not trace, "another thread has another trace"


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
        ([(0,), (1,)], (0,)),
        ([(2, 3)], (2, 3)),
        ([(1,)], (1,)),
        ([()], ()),
        ([(1, 2, 1, 1, 1, 6, 7), (1, 1, 3, 4, 5, 1, 7)], (1, 2, 3, 4, 5, 6, 7)),
        ([(1,)] * 8 + [(5,)], (5,)),
        ([(1, 4), (3, 1), (1, 1)], (3, 4)),
        ([(2, 1, 1), (1, 3, 1), (1, 1, 0)], (2, 3, 0)),
        ([(5,), (), (5,), (1,)], (5,)),
        ([(), (), (), (2, 1), (1, 3)], (2, 3)),
        ([(1, 2, 1, 3), (4, 1, 1, 1)], (4, 2, 1, 3)),
        ([], ()),
    ],
)
def test_equal_shapes_ones_and_scalars_broadcast(operands, result):
    try:
        out = primitives.broadcast_shapes("add", *shapes(*operands))
    except TypeError as error:
        pytest.fail(f"{operands} fit, but raised {error!r}")
    assert out == result and type(out) is tuple, f"of {operands}"


@pytest.mark.parametrize(
    "operands",
    [
        [(3,), (4,)],
        [(2, 3), (3,)],
        [(3,), (3, 2)],
        [(2, 3), (3, 2)],
        [(0,), (2,)],
        [(3,), (3,), (4,)],
        [(1, 3), (2, 1), (3, 3)],
        [(1,), (1, 1)],
        [(2, 1), (1, 3), (3,)],
        [(2, 3, 4), (2, 1, 5)],
        [(1, 1, 1, 2), (1, 1, 1, 3)],
        [(2, 1, 1, 1, 0), (1, 1, 1, 1, 4)],
        [(), (2,), (1,), (), (3,)],
    ],
)
def test_other_shapes_do_not_broadcast_nor_are_dimensions_added(operands):
    with (
        explain_errors("shapes that do not fit are a TypeError"),
        pytest.raises(TypeError, match="atan2 got incompatible shapes for broadcasting") as raised,
    ):
        out = primitives.broadcast_shapes("atan2", *shapes(*operands))
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


@pytest.mark.parametrize(
    "dimensions", [(0,), (1,), (0, 1), (0, 2), (1, 2), (0, 1, 3), (0, 2, 3, 4)]
)
def test_sizes_do_not_say_where_a_dimension_goes(dimensions):
    x = np.arange(3.0 ** len(dimensions)).reshape((3,) * len(dimensions))
    shape = (3,) * (max(len(dimensions), dimensions[-1]) + 1)
    new = tuple(i for i in range(len(shape)) if i not in dimensions)
    want = np.broadcast_to(np.expand_dims(x, new), shape)
    told = f"the dimensions of a {x.shape} go to {dimensions} of {shape}"
    np.testing.assert_array_equal(broadcast_in_dim(x, shape, dimensions), want, told)


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


@pytest.mark.parametrize("size", [3, 20_000])
def test_elements_are_repeated_bit_for_bit_whatever_their_dtype(size):
    """Nothing is added to them: a random key can't be, and -0.0 + 0.0 is another number."""
    zero = broadcast_in_dim(np.array([-0.0], np.float32), (size,), (0,))
    assert np.signbit(zero).all(), "-0.0 must stay -0.0"
    for dtype in ("float16", "float64", "complex64", "complex128"):
        x = np.array([np.nan, np.inf, -0.0, 1 / 3], dtype)
        out = broadcast_in_dim(x, (size, 4), (1,))
        assert out.dtype == x.dtype and out[1].tobytes() == x.tobytes(), f"of {dtype}"
    for dtype in [dtypes.np_dtype("bfloat16"), "uint8", "bool", "int64", [("key", "u4")]]:
        x = np.zeros((2, 1, 3), dtype)
        with explain_errors(f"elements of any dtype are repeated, also {dtype}"):
            out = broadcast_in_dim(x, (2, size, 3, 1), (0, 1, 2))
        assert (out.shape, out.dtype) == ((2, size, 3, 1), x.dtype)
    for x in (
        np.arange(6.0).reshape(2, 3).T,
        np.arange(24.0).reshape(2, 1, 3, 1, 4).T,
        np.arange(6.0)[::-2],
    ):
        places = tuple(range(1, x.ndim + 1))  # whatever order the elements are stored in
        got = broadcast_in_dim(x, (size, *x.shape), places)
        np.testing.assert_array_equal(got, np.broadcast_to(x, (size, *x.shape)))


def test_an_axis_of_size_1_may_become_one_of_size_0():
    assert broadcast_in_dim(np.ones((1, 2), np.float32), (0, 2), (0, 1)).shape == (0, 2)
    assert broadcast_in_dim(np.ones((0,), np.float32), (3, 0), (1,)).shape == (3, 0)


def test_the_operand_keeps_its_shape():
    x = np.array([1.0, 2.0], np.float32)
    with unchanged(x=x):
        broadcast_in_dim(x, (2, 3), (0,))
    assert x.shape == (2,)


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
    if impl_binds_primitives:
        p.def_impl(lambda *xs, **_: xs)
        operands = (2.0, 3, np.float64(4), primitives.neg(5.0))
        got = p.bind(*operands, scale=None)
        assert all(map(operator.is_, got, operands)), "the impl rule gets the operands as they are"
        for answer in ([3.0], (), 2, None):
            p.def_impl(lambda *_, answer=answer, **__: answer)
            assert p.bind(2.0) is answer, "what such an impl rule gives is returned as it is"


class Lost(bind.Tracer):
    """A tracer that belongs to no trace."""

    aval = ShapedArray((), np.dtype("float32"))


@pytest.mark.parametrize("operand", [Lost(), "two", [1.0]])
def test_a_primitive_that_binds_others_refuses_operands_that_are_no_arrays(operand):
    p = bind.Primitive("p", impl_binds_primitives=True)
    p.def_impl(lambda *xs: xs)
    for operands in ((operand,), (1.0, 2.0, operand)):
        with pytest.raises(TypeError, match="leaked|is not a valid JAX type"):
            p.bind(*operands)
            pytest.fail(f"{operand!r} has no value, but the impl rule was called with it")


@each_error
@pytest.mark.parametrize("impl_binds_primitives", [False, True])
def test_an_error_of_an_impl_rule_goes_on_and_the_trace_before_is_current(
    error, impl_binds_primitives
):
    p = bind.Primitive("p", impl_binds_primitives=impl_binds_primitives)
    with bind.set_current_trace(Notes()), error_passes(error()) as raised:
        p.def_impl(raises(raised))
        p.def_abstract_eval(lambda aval: aval)
        bind.EvalTrace().process_primitive(p, (1.0,), {})


@each_error
def test_a_primitive_in_the_making_is_run_at_each_call_and_its_errors_go_on(error):
    p = bind.Primitive("p")
    p.def_impl(lambda x: x * 2)
    assert [p.bind(2.0), p.bind(5.0)] == [4.0, 10.0]
    p.def_impl(lambda x, *, by=0: x * by)
    assert p.bind(2.0, by=3) == 6.0, "it is given the parameters"
    with error_passes(error()) as raised:
        p.def_impl(raises(raised))
        p.bind(1.0)


def test_operands_are_checked_before_anything_is_computed():
    p, computed = bind.Primitive("p"), []
    p.def_impl(lambda x: computed.append(x) or x)
    with error_passes(Thrown()) as raised:
        p.def_abstract_eval(raises(raised))
        p.bind(1.0)
    assert not computed, "abstract_eval refuses these operands: impl must not be called"
    p = bind.Primitive("p")
    p.def_impl(lambda *xs: xs[0])
    p.def_abstract_eval(lambda *avals: avals[0])
    operands, params = [2.0, np.float32(3)], {}
    with unchanged(operands=operands, params=params):
        out = bind.EvalTrace().process_primitive(p, operands, params)
    assert out.weak_type, "the aval that abstract_eval gave, weak type and all"
    assert not bind.EvalTrace().process_primitive(p, operands[::-1], params).weak_type


def test_impl_rules_get_arrays_of_32_bits_and_may_make_nan():
    p, seen = bind.Primitive("p"), []
    p.def_abstract_eval(lambda *avals: avals[0])
    p.def_impl(lambda *xs: seen.extend(x.dtype.name for x in xs) or np.log(xs[0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with explain_errors("an impl rule is run without NumPy's warnings"):
            out = p.bind(np.float64(-1), np.uint64(3), np.array([1j]), SMALL_FLOAT.type(2))
    assert np.isnan(float(out))
    assert seen == ["float32", "uint32", "complex64", SMALL_FLOAT.name]


def test_a_primitive_may_have_three_results_one_or_none():
    for count in (3, 1, 0):
        p = bind.Primitive("p", multiple_results=True)
        p.def_abstract_eval(lambda aval, count=count: [aval] * count)
        p.def_impl(lambda x, count=count: [x] * count)
        out = p.bind(2.0)
        assert isinstance(out, list) and list(map(float, out)) == [2.0] * count
    p.def_abstract_eval(lambda: [])
    p.def_impl(lambda: [])
    assert p.bind() == [], "nor need there be operands"
    p, given = bind.Primitive("p", multiple_results=True), ["int32", "bool", "float16", "complex64"]
    p.def_abstract_eval(lambda aval: [ShapedArray((n,), np.dtype(t)) for n, t in enumerate(given)])
    p.def_impl(lambda x: tuple(np.ones(n, t) for n, t in enumerate(given)))
    out = p.bind(2.0)
    assert [(x.shape, x.dtype.name) for x in out] == [((n,), t) for n, t in enumerate(given)]
    assert [np.asarray(x).dtype.name for x in out] == given, "each result has its own dtype"
    one = bind.Primitive("one")
    one.def_abstract_eval(lambda aval: aval)
    calls = []
    one.def_impl(lambda x: calls.append(x) or x + len(calls))
    for dtype in given[:1] + given[2:]:
        calls.clear()
        x = np.ones(2, dtype)
        found = [np.asarray(one.bind(x)), np.asarray(one.bind(x))]
        assert [v.dtype.name for v in found] == [dtype] * 2
        np.testing.assert_array_equal(found, [x + 1, x + 2], "each call is computed again")


def test_a_tracer_without_its_trace_has_leaked():
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
    with pytest.raises(NotImplementedError, match="double"):
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
