"""vmap: a function of one example becomes a function of a batch."""

import numpy as np
import pytest

import tinyjax as jax
from tinyjax.primitives import add, mul, reduce_sum, sin

x = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_vmap_maps_the_first_axis_and_stacks_the_results():
    out = jax.vmap(lambda row: reduce_sum(row, (0,)))(x)
    np.testing.assert_array_equal(out, [3.0, 12.0])


def test_inside_vmap_a_tracer_has_the_shape_of_one_example():
    shapes = []
    jax.vmap(lambda row: (shapes.append(row.shape), row)[1])(x)
    assert shapes == [(3,)]


def test_in_axes_chooses_the_mapped_axis_and_none_shares_an_argument():
    out = jax.vmap(lambda column, w: reduce_sum(mul(column, w), (0,)), in_axes=(1, None))(
        x, np.array([1, 10], np.float32)
    )
    np.testing.assert_array_equal(out, [30.0, 41.0, 52.0])


def test_out_axes_chooses_where_the_batch_goes():
    assert jax.vmap(sin, out_axes=1)(x).shape == (3, 2)
    assert jax.vmap(sin, out_axes=-1)(x).shape == (3, 2)


def test_a_result_that_is_the_same_for_all_is_repeated_or_returned_once():
    assert jax.vmap(lambda row: sin(1.0))(x).shape == (2,)
    assert jax.vmap(lambda row: sin(1.0), out_axes=None)(x).shape == ()


def test_axes_can_be_given_for_parts_of_a_tree():
    params = {"w": x, "b": np.float32(1)}
    out = jax.vmap(lambda p: add(p["w"], p["b"]), in_axes=({"w": 1, "b": None},), out_axes=1)(
        params
    )
    np.testing.assert_array_equal(out, x + 1)


def test_nested_vmaps_map_two_axes():
    out = jax.vmap(jax.vmap(mul, in_axes=(None, 0)), in_axes=(0, None))(
        np.arange(2.0, dtype=np.float32), np.arange(3.0, dtype=np.float32)
    )
    np.testing.assert_array_equal(out, np.outer([0, 1], [0, 1, 2]))


def test_keyword_arguments_are_mapped_along_axis_0():
    np.testing.assert_array_equal(jax.vmap(lambda a, b: add(a, b))(x, b=x), 2 * x)


def test_a_batched_and_an_unbatched_operand_need_no_copies():
    text = str(jax.make_jaxpr(jax.vmap(mul, in_axes=(0, None)))(x, x[0]))
    assert "broadcast_in_dim[broadcast_dimensions=(np.int64(1),)] b" in text
    assert "f32[1,3]" in text


def test_mapped_axes_must_have_one_size():
    with pytest.raises(ValueError, match=r"(?s)inconsistent sizes.*\[0\].*size 2.*\[1\].*size 3"):
        jax.vmap(add)(np.ones(2, np.float32), np.ones(3, np.float32))


def test_in_axes_must_fit_the_arguments():
    with pytest.raises(ValueError, match=r"len\(in_axes\)=1, len\(args\)=2"):
        jax.vmap(add, in_axes=(0,))(x, x)
    with pytest.raises(TypeError, match="in_axes must be an int, None, or a tuple"):
        jax.vmap(add, in_axes="0")
    with pytest.raises(ValueError, match="axis 2.*rank should be at least 3.*is only 2"):
        jax.vmap(sin, in_axes=2)(x)
    with pytest.raises(ValueError, match="at least one non-None"):
        jax.vmap(sin, in_axes=None)(x)


def test_a_batched_result_cant_be_declared_unmapped():
    with pytest.raises(ValueError, match="mapped output.*out_axes is None"):
        jax.vmap(sin, out_axes=None)(x)
