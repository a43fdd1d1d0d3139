"""A box whose contents change: what each operation leaves in it. (golden/refs/refs.* are of JAX.)"""

import copy

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.avals import get_aval


@pytest.fixture
def ref():
    return jax.new_ref(jnp.arange(3.0))


def holds(ref, *expected):
    return np.array_equal(ref[...], np.array(expected, np.float32))


def test_an_array_that_was_read_stays_as_it_is(ref):
    before = ref[...]
    ref[0] = 7.0
    assert before[0] == 0 and ref[0] == 7


def test_a_ref_has_an_aval_of_its_own_kind(ref):
    assert get_aval(ref) is ref.aval and str(ref.aval) == "Ref{float32[3]}"


def test_swap_gives_what_was_there(ref):
    assert jax.ref.swap(ref, 1, 5.0) == 1
    assert holds(ref, 0, 5, 2)


def test_addupdate_adds_every_one_of_several_values_for_an_element(ref):
    jax.ref.addupdate(ref, jnp.array([0, 0]), jnp.ones(2))
    assert holds(ref, 2, 1, 2)


def test_the_dtype_stays_when_a_python_number_is_written():
    ref = jax.new_ref(jnp.zeros((), jnp.bfloat16))
    ref[...] = 1.5
    assert ref.dtype == jnp.bfloat16 and ref[...] == 1.5
    assert not ref[...].weak_type


def test_a_copy_is_a_box_of_its_own(ref):
    other = copy.deepcopy(ref)
    other[0] = 9.0
    assert holds(ref, 0, 1, 2)


def test_a_tracer_that_stands_for_a_ref_is_one():
    found = []
    jax.jit(lambda r, x: found.append([isinstance(a, jax.Ref) for a in (r, x)]))(
        jax.new_ref(1.0), 1.0
    )
    assert found == [[True, False]]


def test_an_empty_ref_has_the_type_that_was_asked_for():
    ref = jax.empty_ref(jax.ShapeDtypeStruct((2,), jnp.int32))
    assert ref.shape == (2,) and ref.dtype == jnp.int32


def test_numpy_is_told_to_read_it(ref):
    with pytest.raises(TypeError, match=r"read what it holds, by ref\[\.\.\.\]"):
        np.asarray(ref)


def test_a_ref_has_no_gradient_of_its_own(ref):
    with pytest.raises(TypeError, match="differentiate by what it holds"):
        jax.grad(lambda r: r[0])(ref)


def test_a_mask_is_refused_as_by_jax(ref):
    with pytest.raises(IndexError, match="jnp.where"):
        ref[jnp.array([True, False, True])]


def test_an_empty_slice_with_a_step_is_empty(ref):
    ref[0:0:2] = jnp.zeros(0)
    assert ref[0:0:2].shape == ref[2:2:2].shape == (0,)
    assert holds(ref, 0, 1, 2)


@pytest.mark.parametrize(
    "index", [jax.ds(2, 2), jax.ds(jnp.int32(2), 2), jax.ds(0, 4), np.array(3)]
)
def test_what_is_known_to_be_out_of_range_is_refused(ref, index):
    with pytest.raises(ValueError, match="Out of bound"):
        ref[index]


def test_a_slice_that_begins_before_the_ref_is_refused(ref):
    with pytest.raises(TypeError, match="slice must be within"):
        ref[jax.ds(-1, 1)]


def test_a_traced_slice_is_moved_back_where_it_is_written_as_where_it_is_read(ref):
    jax.jit(lambda r, i: r.__setitem__(jax.ds(i, 2), r[jax.ds(i, 2)] + 10))(ref, 2)
    assert holds(ref, 0, 11, 12)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_a_traced_slice_whose_start_is_negative_counts_from_the_end(dtype, stride):
    ref = jax.new_ref(jnp.arange(200))
    place, start = slice(150, 150 + 3 * stride, stride), -50 if dtype != "uint8" else 150
    x = jnp.array(start, dtype)
    read = jax.jit(lambda r, i: r[jax.ds(i, 3, stride)])(ref, x)
    assert read.tolist() == list(range(200)[place])
    jax.jit(lambda r, i: r.__setitem__(jax.ds(i, 3, stride), jnp.zeros(3, int)))(ref, x)
    jax.jit(lambda r, i: jax.ref.addupdate(r, jax.ds(i, 3, stride), jnp.ones(3, int)))(ref, x)
    expected = np.arange(200)
    expected[place] = 1
    assert np.array_equal(ref[...], expected)


@pytest.mark.parametrize("jit", [jax.jit, lambda f: f])
@pytest.mark.parametrize("size", [-1, 1.5, "a"])
def test_a_slice_has_a_size(ref, jit, size):
    with pytest.raises((ValueError, TypeError), match="size >= 0|interpreted as an integer"):
        jit(lambda r, i: r[jax.ds(i, size)])(ref, 0)


def test_integers_take_the_integer_dtype_of_the_ref():
    ref = jax.new_ref(jnp.zeros(3, jnp.uint8))
    ref[0], ref[1], ref[2] = -1, jnp.int32(7), np.int64(300)
    assert ref[...].tolist() == [255, 7, 44]


def test_a_ref_holds_no_ref(ref):
    with pytest.raises(ValueError, match="into a Ref"):
        ref[...] = ref


@pytest.mark.parametrize("jit", [jax.jit, lambda f: f])
def test_a_slice_of_traced_start_is_written(ref, jit):
    jit(lambda r, i: r.__setitem__(jax.ds(i, 2), jnp.ones(2)))(ref, jnp.int32(1))
    assert holds(ref, 0, 1, 1)


def test_struct_like_has_the_type_of_what_it_is_given():
    assert jax.ShapeDtypeStruct.like(jnp.ones((2, 3))) == jax.ShapeDtypeStruct((2, 3), jnp.float32)
    assert jax.ShapeDtypeStruct((2,), jnp.int8).update(shape=(3,)).shape == (3,)


def test_broadcast_like_stretches_axes_of_size_one():
    x = jnp.ones((2, 1))
    assert lax.broadcast_like(x, jnp.zeros((3, 2, 4))).shape == (3, 2, 4)


@pytest.mark.parametrize(
    "use", [lambda r: r[0], jax.freeze, lambda r: lax.cond(True, lambda: r[0], lambda: 0.0)]
)
def test_a_frozen_ref_is_not_used_again_in_jit(use):
    def program(x):
        r = jax.new_ref(x)
        return jax.freeze(r), use(r)

    program(jnp.ones(3))  # eager code keeps the box
    with pytest.raises(ValueError, match="after it was frozen"):
        jax.jit(program)(jnp.ones(3))


def test_vmap_gives_a_ref_with_the_batch_where_it_is_or_refuses():
    with pytest.raises(ValueError, match="axis 0.*asks for axis 1"):
        jax.vmap(jax.new_ref, out_axes=1)(jnp.ones((2, 3)))
    outer = jax.new_ref(1.0)
    with pytest.raises(ValueError, match="made outside"):
        jax.vmap(lambda x: outer)(jnp.ones(3))
