"""The naive loop nests of reductions: what a student would write, and equal to eager mode."""

import numpy as np
import pytest
from lowering import aval, data, interpreted, stages

import tinyjax as jax
import tinyjax.numpy as jnp


def naive(f, *shape):
    """The naive nest of f's only kernel."""
    (kernel,) = stages(f, aval(*shape))[2]
    return kernel.naive


def same(f, x, **tolerance):
    results, expected = interpreted(f, x, change=lambda kernel: kernel.naive or kernel)
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, wanted, **tolerance)


def layer_norm(x):
    return (x - x.mean(1, keepdims=True)) / jnp.sqrt(x.var(1, keepdims=True) + 1e-5)


def test_softmax_has_a_loop_for_the_maximum_one_for_the_sum_and_one_for_the_division():
    assert str(naive(jax.nn.softmax, 5, 40)).splitlines()[1:] == [
        "  for i1 in 0 .. 5:",
        "    acc1:f32 = variable of -inf",
        "    for i2 in 0 .. 40:",
        "      a:f32 = a_in[i1 * 40 + i2]",
        "      acc1[0] = max acc1[0] a",
        "    b:f32 = acc1",
        "    acc2:f32 = variable of 0.0",
        "    for i3 in 0 .. 40:",
        "      a2:f32 = a_in[i1 * 40 + i3]",
        "      d:f32 = sub a2 b",
        "      e:f32 = exp d",
        "      acc2[0] = add acc2[0] e",
        "    f:f32 = acc2",
        "    for i4 in 0 .. 40:",
        "      a3:f32 = a_in[i1 * 40 + i4]",
        "      d2:f32 = sub a3 b",
        "      e2:f32 = exp d2",
        "      h:f32 = div e2 f",
        "      h_out[i1 * 40 + i4] = h",
    ]


def test_there_is_a_loop_for_each_axis():
    nest = str(naive(lambda x: x.sum((1, 2)), 3, 20, 17))
    assert "for i2 in 0 .. 20:\n      for i3 in 0 .. 17:" in nest


def test_what_is_one_number_for_a_row_is_computed_once():
    lines = str(naive(layer_norm, 3, 40)).splitlines()
    assert [line for line in lines if "sqrt" in line][0].startswith("    k:f32")


@pytest.mark.parametrize("shape", [(1, 3, 40), (3, 1, 40), (1, 3, 2, 20)])
def test_so_it_is_if_the_rows_are_reshaped_at_the_end(shape):
    nest = str(naive(lambda x: (x - x.max(1, keepdims=True)).reshape(shape), 3, 40))
    assert nest.count("variable of -inf") == 1


@pytest.mark.parametrize(
    "f, shape",
    [
        (lambda x: (jax.nn.softmax(x), x.sum(1), x.max(1)), (5, 7)),
        (jax.nn.log_softmax, (3, 17)),
        (layer_norm, (4, 33)),
        (lambda x: (x.sum(0), x.min(0)), (9, 20)),
        (lambda x: (x.sum(1), x.min(1).reshape(24, 2)), (3, 65, 16)),
        (lambda x: x.sum((1, 2)), (3, 20, 17)),
        (lambda x: x.sum((0, 1)), (3, 4, 17)),
        (lambda x: x.sum((0, 2)), (240, 2, 70)),
        (lambda x: (jnp.mean(x * x), x.max()), (16500,)),
        (lambda x: jax.nn.softmax(x, (6, 7)), (2, 1, 2, 2, 1, 2, 3, 5)),
        (lambda x: jax.nn.softmax(x.T * 2), (6, 5)),
        (lambda x: x / x.sum(1)[:, None], (3, 17, 1)),
    ],
)
def test_the_naive_nest_equals_eager(f, shape):
    same(f, data(*shape), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "int32", "bool"])
def test_the_naive_nest_of_other_dtypes_equals_eager(dtype):
    same(lambda x: (x.max(0), x.max(1), (x > 0).any(1)), data(20, 70).astype(dtype), rtol=0)


def test_a_result_of_half_precision_that_is_read_in_two_shapes_has_one_name():
    x = data(3, 5, 7).astype("bfloat16")
    same(lambda x: x == x.max().reshape(1, 1, 1), x, rtol=0)
    same(lambda x: jnp.where(x == x.max().reshape(1, 1, 1), x.max() + 1, x), x, rtol=0)
