import numpy as np
import pytest
from drawn import drawn, same, shown
from kernel_judge import (
    agree,
    agree_for_drawn_sizes,
    agree_for_other_numbers,
    computes_at_most,
    floats,
    loops_at_most,
    the_call,
)
from practice import kernel_networks as kernels
from practice import kernel_specs as spec

import tinyjax as jax
import tinyjax.numpy as jnp

# ---- attention ----


@pytest.mark.parametrize(
    "queries, keys, d, width", [(4, 8, 4, 4), (10, 24, 6, 5), (1, 16, 3, 8), (9, 72, 11, 2)]
)
def test_each_query_has_its_mean_of_the_values(queries, keys, d, width):
    agree(
        kernels.attention, spec.attention, floats(queries, d), floats(keys, d), floats(keys, width)
    )


@pytest.mark.parametrize("sign", [1, -1])
def test_the_best_key_may_be_the_first_or_the_last(sign):
    k = np.linspace(-40, 40, 24, dtype=np.float32)[::sign, None] * np.ones((1, 4), np.float32)
    agree(
        kernels.attention, spec.attention, np.ones((4, 4), np.float32), k, floats(24, 5), rtol=1e-4
    )
    agree_for_other_numbers(
        kernels.attention, spec.attention, (4, 3), (16, 3), (16, 2), least=None, halves=False
    )


@pytest.mark.parametrize("middle", [-50, 0, 50])
def test_scores_may_be_large_and_all_of_one_sign(middle):
    q, k = np.full((4, 4), 3.0, np.float32), floats(16, 4) + middle
    agree(kernels.attention, spec.attention, q, k, floats(16, 4), rtol=1e-3)
    low = np.full((16, 4), 300 * (middle - 50), np.float32)
    for keys in (low, np.full((16, 4), -1e32, np.float32)):
        agree(kernels.attention, spec.attention, q, keys, floats(16, 4))


def test_no_program_has_more_than_a_block_of_scores():
    args = floats(10, 6), floats(48, 6), floats(48, 5)
    computes_at_most(48, kernels.attention, *args)  # 8 keys of 6; scores are 4 by 8


def test_keys_are_gone_through_once():
    loops_at_most(1, kernels.attention, floats(10, 6), floats(48, 6), floats(48, 5))


def test_drawn_queries_have_their_means_of_drawn_values():
    agree_for_drawn_sizes(
        kernels.attention,
        spec.attention,
        [20, 12, 12, 9],
        lambda m, n, d, width: [(m, d), (8 * n, d), (8 * n, width)],
        dtypes=["float32"],
        rtol=3e-4,
    )


# ---- layer ----


def plain(x, w, b):
    return jnp.tanh(x @ w + b)


def gradients(layer, *args):
    def loss(*args):
        return (layer(*args) * jnp.arange(1.0, 4.0)).sum()

    return jax.grad(loss, argnums=(0, 1, 2))(*args)


ARGS = floats(6, 4), floats(4, 3), floats(3)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_layers_gradients_are_those_of_its_formula(number):
    found, expected = (gradients(f, *ARGS)[number] for f in (kernels.dense, plain))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_the_forward_pass_gives_the_layers_result_and_saves_little():
    out, saved = kernels.dense_fwd(*ARGS)
    np.testing.assert_allclose(out, spec.dense(*ARGS), rtol=1e-5, atol=1e-6)
    sizes = sum(np.size(x) for x in jax.tree.leaves(saved))
    assert sizes <= sum(map(np.size, (ARGS[0], ARGS[1], out))), "x, w and the result are enough"


def test_the_backward_pass_is_one_kernel():
    out, saved = kernels.dense_fwd(*ARGS)
    the_call(kernels.dense_bwd, saved, jnp.ones_like(out))
    x, w, b = np.full((3, 2), 4, np.float32), np.ones((2, 5), np.float32), np.zeros(5, np.float32)
    ct = np.linspace(-1e6, 1e6, 15, dtype=np.float32).reshape(3, 5)
    out = np.tanh(np.float32(4.2)) * np.ones((3, 5), np.float32)
    found = kernels.dense_bwd(kernels.dense_fwd(x, w, b - 3.8)[1], ct)
    slope = ct * (1 - out**2)
    for got, want in zip(found, (slope @ w.T, x.T @ slope, slope.sum(0)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1, err_msg="where tanh is near 1")
    saved = [a.astype(np.float16) for a in kernels.dense_fwd(x, w, b)[1]]
    assert {a.dtype.name for a in kernels.dense_bwd(saved, saved[2])} == {"float16"}
    found = kernels.dense_bwd((x[:1], w, out[:1]), ct[:1])
    np.testing.assert_allclose(found[2], slope[0], rtol=1e-3, atol=1, err_msg="of one example")
    for bias in (50, -50):
        for found in kernels.dense_bwd(kernels.dense_fwd(x, w, b + bias)[1], ct):
            assert not np.any(found), (
                "where tanh is 1 or -1 it doesn't move, whatever the cotangent"
            )
    ct[0, 1] = np.nan
    of_x, of_w, of_b = kernels.dense_bwd((x, w, out), ct)
    assert np.isnan(of_b).tolist() == [False, True] + [False] * 3
    assert np.isnan(of_w).tolist() == [[False, True] + [False] * 3] * 2, "nan in the weights' too"
    assert np.isnan(of_x).tolist() == [[True] * 2, [False] * 2, [False] * 2]


def test_the_forward_pass_is_one_kernel():
    the_call(lambda *args: kernels.dense_fwd(*args)[0], *ARGS)


def test_a_network_of_such_layers_learns():
    rng = np.random.default_rng(0)
    x = np.linspace(-1, 1, 16, dtype=np.float32)[:, None]
    y = np.sin(2 * x) / 2

    def loss(params):
        (w1, b1), (w2, b2) = params
        return ((kernels.dense(kernels.dense(x, w1, b1), w2, b2) - y) ** 2).mean()

    @jax.jit
    def step(params):
        return jax.tree.map(lambda p, g: p - 0.3 * g, params, jax.grad(loss)(params))

    w1, w2 = (rng.standard_normal(shape).astype(np.float32) for shape in ((1, 8), (8, 1)))
    params = [(w1, jnp.zeros(8)), (w2 / 3, jnp.zeros(1))]
    before = float(loss(params))
    for _ in range(60):
        params = step(params)
    assert float(loss(params)) < 0.2 * before


@drawn(5, most=90)
def test_drawn_layers_have_the_cotangents_that_numpy_computes(rng, most):
    rows, width, out_width = most, *map(int, rng.integers(1, 7, 2))
    x, w, b = (rng.uniform(-1, 1, s) for s in [(rows, width), (width, out_width), out_width])
    out, ct = np.tanh(x @ w + b), rng.uniform(-1, 1, (rows, out_width))
    with shown(x=x.shape, w=w.shape), jax.disable_jit():
        saved = kernels.dense_fwd(*(a.astype("float32") for a in (x, w, b)))[1]
        found = kernels.dense_bwd(saved, ct.astype("float32"))
        slope = ct * (1 - out**2)
        for name, got, want in zip(
            "xwb", found, (slope @ w.T, x.T @ slope, slope.sum(0)), strict=True
        ):
            same(got, np.float32(want), f"the cotangent of {name}", rtol=1e-4)
        for scale in (2.0**-40, 2.0**40):
            with jax.enable_x64():
                found = kernels.dense_bwd(kernels.dense_fwd(x, w, b)[1], scale * ct)
            for name, got, want in zip("xwb", found, (slope @ w.T, x.T @ slope, slope.sum(0))):
                same(np.asarray(got) / scale, want, f"the cotangent of {name} in float64", 1e-12)
