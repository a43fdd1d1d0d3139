"""What shares a kernel with a reduction."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp


def groups(f, *shapes):
    args = [np.ones(shape, np.float32) for shape in shapes]
    lines = jax.jit(f).lower(*args).as_text("groups").splitlines()
    return [line for line in lines if line[0] != " "]


def normalized(x):
    mean, variance = x.mean(1, keepdims=True), x.var(1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5)


@pytest.mark.parametrize(
    "f",
    [
        jax.nn.softmax,
        jax.nn.log_softmax,
        normalized,
        lambda x: jax.nn.logsumexp(x, 1),
        lambda x: jax.nn.softmax(jnp.sin(x)),  # what it reads is computed in the same kernel
        lambda x: (x.sum(1), (x * x).sum(1), x.max(1)),  # siblings
        lambda x: (x.max(0), x.mean(0)),
        lambda x: jnp.mean(x),  # what follows the sum
        lambda x: x.reshape(6, 10, 40).sum(1),
    ],
)
def test_it_is_one_kernel(f):
    assert len(groups(f, (60, 40))) == 1


def test_the_gradient_of_a_softmax_is_one_kernel():
    assert len(groups(lambda x, w: jax.vjp(jax.nn.softmax, x)[1](w), (60, 40), (60, 40))) == 1


def test_a_large_sum_and_what_waits_for_it_are_two_kernels():
    forms = [line.split()[1] for line in groups(lambda x: x / x.sum(), (1_000_000,))]
    assert forms == ["split", "kernel"]


def test_elements_that_only_another_reduction_reads_are_computed_there():
    def f(x, w):
        error = jnp.tanh((x * w).sum(1))
        return (x * error[:, None]).sum(0)

    rows, columns = groups(f, (60, 40), (40,))
    assert rows.split()[1] == "rows" and "f32[60] from" in rows
    assert columns.split()[1] == "columns" and "mul" in columns


def test_rows_and_columns_are_kernels_of_their_own():
    forms = {line.split()[1] for line in groups(lambda x: (x.sum(0), x.sum(1)), (60, 40))}
    assert forms == {"rows", "columns"}


def test_a_group_never_waits_for_itself():
    def f(x):
        s = x.sum(1, keepdims=True)
        return x / s, (jnp.sort(s, 0) + x).sum(1)

    x = np.random.default_rng(0).uniform(1, 2, (20, 30)).astype(np.float32)
    for compiled, eager in zip(jax.jit(f)(x), f(x), strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=1e-5)


@pytest.mark.slow
def test_a_group_has_no_more_arrays_than_a_kernel_may_have():
    def f(*xs):
        return [jax.nn.softmax(x) for x in xs]

    xs = [np.full((3, 20), n, np.float32) for n in range(100)]
    np.testing.assert_allclose(jax.jit(f)(*xs)[7], np.full((3, 20), 1 / 20), rtol=1e-5)


def test_the_text_says_why_a_value_is_stored():
    text = jax.jit(lambda x: x / x.sum()).lower(np.ones(1_000_000, np.float32)).as_text("groups")
    assert "b is stored: another kernel reads it" in text


@pytest.mark.slow
def test_a_long_chain_of_sums_that_wait_for_each_other_is_several_kernels():
    def f(x):
        for _ in range(100):
            x = jnp.sin(x) * x.sum()
        return x

    assert 3 <= len(groups(f, (40,))) <= 20
