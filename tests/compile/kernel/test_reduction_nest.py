"""The naive loop nests of reductions: what a student would write, and equal to eager mode."""

import numpy as np
import pytest
from lowering import aval, data, interpreted, stages

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.compile.kernel import reduction_nest
from tinyjax.compile.target import GPU


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
        "    kept1:f32 = 48 elements",
        "    for i3 in 0 .. 40:",
        "      a2:f32 = a_in[i1 * 40 + i3]",
        "      d:f32 = sub a2 b",
        "      e:f32 = exp d",
        "      kept1[i3] = e",
        "      acc2[0] = add acc2[0] e",
        "    f:f32 = acc2",
        "    for i4 in 0 .. 40:",
        "      e2:f32 = kept1[i4]",
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


# ---- values that several loops over a row need ----


def exp_of_tanh(x):
    return jax.nn.softmax(jnp.tanh(x))


def loss_gradient(x):
    return jax.grad(lambda x: (jax.nn.log_softmax(jnp.tanh(x)) ** 2).sum())(x)


def operations(nest):
    """The name of each operation or memory that the nest's lines begin with."""
    lines = [line for line in str(nest).splitlines() if " = " in line]
    return [line.split(" = ")[1].split()[0].split("[")[0] for line in lines]


@pytest.mark.parametrize("columns", [7, 40])
@pytest.mark.parametrize("f", [jax.nn.softmax, exp_of_tanh, loss_gradient])
@pytest.mark.parametrize("form", ["naive", "scheduled"])
def test_what_is_kept_is_what_would_be_computed_again(f, columns, form, monkeypatch):
    change = (lambda kernel: kernel.naive) if form == "naive" else lambda kernel: kernel
    x = data(5, columns)
    kept, expected = interpreted(f, x, change=change)
    monkeypatch.setattr(reduction_nest, "KEPT_BYTES", 0)
    assert "kept1" not in operations(naive(f, 5, columns))
    again, _ = interpreted(f, x, change=change)
    np.testing.assert_array_equal(kept, again)
    np.testing.assert_allclose(kept, expected, rtol=1e-4, atol=1e-5)


def test_of_several_shapes_each_row_keeps_its_own():
    same(lambda x: jax.nn.softmax(x, (2, 3)), data(2, 3, 4, 5), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["bool", "float16", "bfloat16", "int8"])
def test_values_of_any_dtype_are_kept(dtype):
    def f(x):
        y = (jnp.exp(jnp.sin(x)) * 20).astype(dtype)
        return jnp.where(y > 1, x, y) / y.max(1, keepdims=True)

    assert "kept1" in str(naive(f, 5, 40))
    same(f, data(5, 40), rtol=1e-2)
    results, expected = interpreted(f, data(5, 40))
    np.testing.assert_allclose(results[0], expected[0], rtol=1e-2)


def test_what_costs_little_once_its_operand_is_kept_is_not_kept():
    found = operations(naive(loss_gradient, 40, 10))
    assert (found.count("tanh"), found.count("exp")) == (1, 1)
    assert found.count("16") == 2  # arrays of that many elements


def test_what_is_made_of_what_is_kept_can_be_kept_too():
    found = operations(naive(lambda x: jax.nn.softmax(jnp.tanh(jnp.exp(x))), 5, 40))
    assert (found.count("tanh"), found.count("exp")) == (1, 2)


def test_cheap_values_long_rows_and_rows_of_groups_are_computed_again():
    assert "kept1" not in operations(naive(layer_norm, 3, 40))
    assert "kept1" not in operations(naive(jax.nn.softmax, 20, 40_000))
    kernels = stages(jax.nn.softmax, aval(3, 400), target=GPU)[2]
    assert not any("kept1" in operations(kernel.naive) for kernel in kernels)


def test_what_is_made_of_the_same_value_many_times_over_is_found_at_once():
    def doubled(x):
        for _ in range(60):  # a tree of 2**60 additions, if written out
            x = x + x
        return jax.nn.softmax(x)

    assert operations(naive(doubled, 5, 40)).count("kept1") == 1
