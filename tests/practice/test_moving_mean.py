"""A custom primitive, and its rules."""

import numpy as np
import pytest
from explain_errors import explain_errors
from judged import every_error_passes, unchanged
from practice import moving_mean as module
from practice.moving_mean import moving_mean, moving_mean_p

import tinyjax as jax
from tinyjax.core import dtypes
from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.bind import Trace, abstract_eval_rules, impl_rules, set_current_trace

ROWS = np.array([[1, 3, 5, 9], [0, 6, 0, 6]], np.float32)


# ---- impl and abstract_eval ----


class Notes(Trace):
    """Does nothing with a primitive but to say what it was handed."""

    def process_primitive(self, primitive, args, params):
        return primitive, args, params


def test_moving_mean_binds_its_primitive_with_the_window_as_a_parameter():
    with set_current_trace(Notes()):
        for window in (2, 1, 0, 40):
            assert moving_mean("x", window) == (moving_mean_p, ("x",), {"window": window})


@pytest.mark.parametrize(
    "window, means",
    [
        (1, [[1, 3, 5, 9], [0, 6, 0, 6]]),
        (2, [[2, 4, 7], [3, 3, 3]]),
        (3, [[3, 17 / 3], [2, 4]]),
        (4, [[4.5], [3]]),
    ],
)
def test_the_impl_rule_gives_the_means_of_neighbours_along_the_last_axis(window, means):
    out = impl_rules[moving_mean_p](ROWS, window=window)
    np.testing.assert_allclose(out, means, rtol=1e-6)
    np.testing.assert_allclose(impl_rules[moving_mean_p](ROWS[0], window=window), means[0], 1e-6)


def test_the_abstract_eval_rule_tells_shape_and_dtype_of_the_result():
    rule = abstract_eval_rules[moving_mean_p]
    for shape, dtype in [
        ((4,), "float32"),
        ((2, 3, 4), "float32"),
        ((4,), "float16"),
        ((0, 4), "float32"),
        ((4,), "float64"),
        ((2, 4), "complex128"),
    ]:
        weak = rule(ShapedArray(shape, np.dtype(dtype), weak_type=True), window=3)
        assert not weak.weak_type, "means are strongly typed"
        out = rule(ShapedArray(shape, np.dtype(dtype)), window=3)
        assert (out.shape, out.dtype) == ((*shape[:-1], 2), dtype), f"of {dtype}{list(shape)}"


@pytest.mark.parametrize("window", [5, 0, -1])
def test_a_window_that_does_not_fit_is_refused_before_anything_is_computed(window):
    with pytest.raises(ValueError, match=f"{window}") as raised:
        out = abstract_eval_rules[moving_mean_p](ShapedArray((4,), ROWS.dtype), window=window)
        pytest.fail(f"a window of {window} does not fit 4 numbers, but {out} is what came out")
    assert "window" in str(raised.value)
    with pytest.raises(ValueError, match=f"{window}"):
        out = abstract_eval_rules[moving_mean_p](ShapedArray((6, 4), ROWS.dtype), window=window)
        pytest.fail(f"a window of {window} does not fit rows of 4 numbers, but {out} came out")


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool", "int4"])
def test_whole_numbers_are_refused_as_their_means_are_none(dtype):
    rule = abstract_eval_rules[moving_mean_p]
    with pytest.raises(TypeError, match=dtype):
        out = rule(ShapedArray((4,), dtypes.np_dtype(dtype)), window=2)
        pytest.fail(f"the means of {dtype}s are no {dtype}s, but {out} was announced")


def test_a_window_may_be_as_long_as_the_axis():
    out = abstract_eval_rules[moving_mean_p](ShapedArray((4,), ROWS.dtype), window=4)
    assert out.shape == (1,)
    for length in (1, 2, 9, 100):
        out = abstract_eval_rules[moving_mean_p](ShapedArray((length,), ROWS.dtype), window=length)
        assert out.shape == (1,), f"of {length} numbers"
        x = np.arange(length, dtype=np.float32)
        np.testing.assert_allclose(moving_mean(x, length), [(length - 1) / 2], rtol=1e-6)


def test_called_like_any_other_operation_it_gives_an_array_of_its_aval():
    out = moving_mean(ROWS, 2)
    assert isinstance(out, ArrayImpl)
    np.testing.assert_array_equal(out, [[2, 4, 7], [3, 3, 3]])
    for dtype in ("float32", "float16"):
        out = moving_mean(ROWS.astype(dtype), 2)
        assert out.dtype == dtype, "the aval's dtype is that of the operand"
        assert np.asarray(out).dtype == dtype, f"the elements must have the aval's dtype, {dtype}"


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "complex64"])
def test_floats_of_every_kind_have_means(dtype):
    dtype = dtypes.np_dtype(dtype)
    with explain_errors(f"the means of {dtype}s are {dtype}s"):
        out = moving_mean(ROWS.astype(dtype), 2)
    assert out.dtype == np.asarray(out).dtype == dtype
    np.testing.assert_array_equal(np.asarray(out), np.array([[2, 4, 7], [3, 3, 3]], dtype))
    large = np.asarray(moving_mean(np.full(4, 2**15, dtype), 4))
    assert large == 2**15, "a sum may be larger than the largest number, where the mean is not"
    if dtype == "complex64":
        np.testing.assert_array_equal(moving_mean(1j * ROWS[0].astype(dtype), 2), [2j, 4j, 7j])


def test_means_of_64_bits_have_all_their_digits():
    x = np.cos(np.arange(30.0)).reshape(3, 10)
    for dtype in ("float64", "complex128"):
        with jax.enable_x64(True):
            out = moving_mean(x.astype(dtype), 3)
        assert out.dtype == dtype
        np.testing.assert_allclose(out, (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) / 3, rtol=1e-12)


def test_nan_inf_and_large_numbers_are_in_the_means_of_their_own_windows_alone():
    x = np.array([1, np.nan, 3, 5, np.inf, 1, 1e30, 2, 4], np.float32)
    out = np.asarray(moving_mean(x, 2))
    want = [np.nan, np.nan, 4, np.inf, np.inf, 5e29, 5e29, 3]
    np.testing.assert_allclose(out, np.array(want, np.float32), rtol=1e-6)


def test_errors_of_the_primitive_go_on():
    every_error_passes(lambda: moving_mean(ROWS, 2))


def test_of_many_axes_the_last_is_smoothed_and_the_operand_is_left():
    x = np.arange(24, dtype=np.float32).reshape(2, 1, 3, 4) ** 2
    with unchanged(x=x):
        out = moving_mean(x, 3)
    np.testing.assert_allclose(out, (x[..., :-2] + x[..., 1:-1] + x[..., 2:]) / 3, rtol=1e-6)
    assert moving_mean(x[:0], 3).shape == (0, 1, 3, 2)


# ---- the others ----


def test_the_mean_moves_by_the_mean_of_the_movements():
    out, moved = jax.jvp(lambda x: moving_mean(x, 2), (ROWS[0],), (ROWS[1],))
    np.testing.assert_array_equal(out, [2, 4, 7])
    np.testing.assert_array_equal(moved, [3, 3, 3])


CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4) ** 2


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_the_batching_rule_gives_the_means_of_each_example(dim):
    window = 1 if dim == 0 else 2
    out, out_dim = module.moving_mean_batch((CUBE,), (dim,), window=window)
    loop = [moving_mean(example, window) for example in np.moveaxis(CUBE, dim, 0)]
    got = np.moveaxis(np.asarray(out), out_dim, 0)
    np.testing.assert_allclose(got, loop, err_msg=f"x has shape (2, 3, 4), its batch dim is {dim}")


def test_a_batch_dim_that_is_in_nobodys_way_stays():
    for dim in (0, 1):
        out_dim = module.moving_mean_batch((CUBE,), (dim,), window=2)[1]
        assert out_dim == dim, f"of three axes the means are along the last: {dim} can stay"


@pytest.mark.parametrize("in_axes", [0, 1])
def test_vmap_maps_it_over_rows_or_columns(in_axes):
    out = jax.vmap(lambda x: moving_mean(x, 2), in_axes=in_axes)(ROWS if in_axes == 0 else ROWS.T)
    np.testing.assert_array_equal(out, [[2, 4, 7], [3, 3, 3]])


def test_two_vmaps_one_in_the_other_map_it_over_two_axes():
    means = jax.vmap(jax.vmap(lambda x: moving_mean(x, 2), in_axes=1), in_axes=2)(CUBE)
    np.testing.assert_allclose(means, CUBE.mean(0).T[:, :, None])


@pytest.mark.parametrize("dim", range(4))
def test_the_batching_rule_takes_four_axes_and_the_window_that_is_given(dim):
    x = np.arange(48, dtype=np.float32).reshape(4, 2, 3, 2) ** 2
    for window in (1, 2):
        with unchanged(x=x):
            out, out_dim = module.moving_mean_batch([x], [dim], window=window)
        loop = [moving_mean(example, window) for example in np.moveaxis(x, dim, 0)]
        np.testing.assert_allclose(np.moveaxis(np.asarray(out), out_dim, 0), loop, rtol=1e-6)
    five = np.expand_dims(x, 0)
    out, out_dim = module.moving_mean_batch((five,), (dim + 1,), window=1)
    np.testing.assert_array_equal(
        np.moveaxis(np.asarray(out), out_dim, 0), np.moveaxis(five, dim + 1, 0), "five axes"
    )
    for place in range(7):
        high = np.ones((1,) * place + (2,) + (1,) * (7 - place), np.float32)
        assert module.moving_mean_batch((high,), (place,), window=1)[1] == place, "of eight axes"
    assert dim == 3 or out_dim == dim + 1, "a batch dim in nobody's way stays, of five axes too"
    six = x[None, None]
    out, out_dim = module.moving_mean_batch((six,), (dim + 2,), window=2)
    loop = [moving_mean(example, 2) for example in np.moveaxis(six, dim + 2, 0)]
    np.testing.assert_allclose(np.moveaxis(np.asarray(out), out_dim, 0), loop, rtol=1e-6)


def test_a_batch_may_be_of_one_or_of_none_and_of_any_floats():
    for size in (1, 0):
        x = np.ones((4, size), np.float16)
        out, out_dim = module.moving_mean_batch((x,), (1,), window=3)
        assert np.moveaxis(np.asarray(out), out_dim, 0).shape == (size, 2) and out.dtype == x.dtype


def test_an_error_of_the_operation_goes_on_through_its_batching_rule():
    every_error_passes(
        lambda: module.moving_mean_batch((ROWS,), (0,), window=2),
        lambda: module.moving_mean_batch((ROWS,), (1,), window=2),
    )
    with pytest.raises(ValueError, match="window"):
        jax.vmap(lambda x: moving_mean(x, 9))(ROWS)
