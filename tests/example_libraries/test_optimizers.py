"""Optimizers: what each remembers, what a step does, and how an optimizer of arrays becomes one of
trees. That the numbers are JAX's, test_golden_values says."""

import numpy as np
import pytest
from drawn import drawn, floats, same, shape_of_rank, shown

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.example_libraries import optimizers

X, G = np.array([1.0, -2.0, 3.0], np.float32), np.array([0.5, -4.0, 0.0], np.float32)


def states(optimizer, gradients, x=X):
    """The states of one array: the first, and one after each gradient."""
    init, update, _ = optimizer
    found = [init(x)]
    for i, g in enumerate(gradients):
        found.append(update(i, g, found[-1]))
    return [jax.tree.leaves(state) for state in found]


def close(got, want, told=""):
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=told)


# ---- momentum ----


def test_momentum_begins_with_no_velocity():
    ((x, velocity),) = states(optimizers.momentum(0.1, 0.9), [])
    close(x, X)
    close(velocity, [0, 0, 0])


def test_the_first_step_with_momentum_is_that_of_sgd():
    (_, (x, velocity)) = states(optimizers.momentum(0.1, 0.9), [G])
    (_, (x_of_sgd,)) = states(optimizers.sgd(0.1), [G])
    close(x, x_of_sgd)
    close(velocity, G)


def test_momentum_goes_on_when_the_gradient_is_gone():
    *_, (x, velocity) = states(optimizers.momentum(0.1, 0.9), [G, 0 * G])
    close(velocity, 0.9 * G)
    close(x, X - 0.1 * G - 0.1 * 0.9 * G)


def test_nesterov_looks_one_step_ahead():
    *_, (x, velocity) = states(optimizers.nesterov(0.1, 0.9), [G])
    close(velocity, G)
    close(x, X - 0.1 * (0.9 * G + G))


# ---- adam ----


def test_adam_begins_with_means_of_zero():
    ((x, m, v),) = states(optimizers.adam(0.1), [])
    close(x, X)
    close(m, [0, 0, 0])
    close(v, [0, 0, 0])


def test_the_first_step_of_adam_has_the_step_size_whatever_the_gradient():
    _, (x, _, _) = states(optimizers.adam(0.1), [G])
    close(x, X - 0.1 * np.sign(G), "a step of 0.1 against each gradient that is not 0")
    *_, (x, _, _) = states(optimizers.adam(0.1), [G] * 15)
    told = "nor does it depend on how many steps there were: 15 steps of 0.1"
    np.testing.assert_allclose(x - X, -1.5 * np.sign(G), 1e-3, err_msg=told)
    *_, (x, _, _) = states(optimizers.adam(0.1), [np.full_like(G, 1e-7)])
    np.testing.assert_allclose(x, X - 0.1 / 1.1, 1e-4, err_msg="1e-7 is ten times eps")


def test_adam_keeps_means_of_gradients_and_of_their_squares():
    *_, (_, m, v) = states(optimizers.adam(0.1, b1=0.5, b2=0.75), [G, 2 * G])
    close(m, 0.5 * (0.5 * G) + 0.5 * (2 * G), "m in the state is the mean before its correction")
    close(v, 0.75 * (0.25 * G**2) + 0.25 * (2 * G) ** 2, "v, too, is kept before its correction")
    halves = optimizers.adam(0.1).update_fn(
        0, np.float16(G), optimizers.adam(0.1).init_fn(np.float16(X))
    )
    assert {x.dtype.name for x in jax.tree.leaves(halves)} == {"float16"}, "all keep the dtype of x"


def test_adam_steps_by_its_corrected_means():
    _, (x, _, _), (after, m, v) = states(optimizers.adam(0.1, 0.5, 0.75, 1e-3), [G, 2 * G])
    m, v = m / (1 - 0.5**2), v / (1 - 0.75**2)
    close(after, x - 0.1 * m / (np.sqrt(v) + 1e-3))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_adam_of_float64s_is_exact_after_any_number_of_steps(scale):
    x, g = np.array([2.0, -3.0]), scale * np.array([0.7, 0.1])
    for b1, b2, eps, first in [
        (0.9, 0.999, 1e-8, 0),
        (0.999, 0.9999, 1e-3, 0),
        (0, 0.99995, 0, 70_000),
    ]:
        m, v = (1 - b1) * g, (1 - b2) * g**2
        step = m / (1 - b1 ** (first + 1)) / (np.sqrt(v / (1 - b2 ** (first + 1))) + eps)
        with jax.enable_x64():
            init, update, _ = optimizers.adam(0.1, b1, b2, eps)
            found = jax.tree.leaves(update(first, g, init(x)))
        for name, got, want in zip("xmv", found, (x - 0.1 * step, m, v)):
            assert got.dtype == np.float64, f"{name} keeps the dtype of x"
            np.testing.assert_allclose(got, want, 1e-11, err_msg=f"{name} after step {first}")


def test_adam_takes_a_schedule():
    adam = optimizers.adam(lambda i: 0.1 / (i + 1))
    _, (once, _, _), (twice, _, _) = states(adam, [G, G])
    close(once, X - 0.1 * np.sign(G))
    close(twice, X - 0.15 * np.sign(G))
    adam = optimizers.adam(lambda i: (0.1, 0.2)[i])
    _, (once, _, _), (twice, _, _) = states(adam, [G, G])
    close(twice, X - 0.3 * np.sign(G), "the schedule is given the number of the step as it is")


# ---- trees ----


def test_an_optimizer_of_arrays_updates_a_tree_of_them():
    init, update, get_params = optimizers.sgd(0.5)
    params = {"w": jnp.ones((2, 2)), "b": (jnp.zeros(2), 3.0)}
    grads = {"w": jnp.ones((2, 2)), "b": (jnp.ones(2), 2.0)}
    params = get_params(update(0, grads, init(params)))
    close(params["w"], np.full((2, 2), 0.5))
    close(params["b"][0], [-0.5, -0.5])
    close(params["b"][1], 2.0)


def test_gradients_of_another_tree_are_refused():
    init, update, _ = optimizers.sgd(0.5)
    with pytest.raises(TypeError, match="gradients of another tree"):
        update(0, [X], init((X,)))


def test_a_state_goes_through_jit_and_keeps_its_trees():
    init, update, get_params = optimizers.adam(0.1)
    state = init({"x": X})
    after = jax.jit(update)(0, {"x": G}, state)
    assert jax.tree.structure(after) == jax.tree.structure(state)
    close(get_params(after)["x"], X - 0.1 * np.sign(G))


STEP_SIZES = {
    "sgd": (0.1,),
    "momentum": (0.02, 0.9),
    "nesterov": (0.02, 0.9),
    "adagrad": (0.5,),
    "rmsprop": (0.05,),
    "rmsprop_momentum": (0.02,),
    "adam": (0.2,),
    "adamax": (0.2,),
    "sm3": (0.5,),
}


@pytest.mark.parametrize("name", STEP_SIZES)
def test_an_optimizer_finds_the_bottom_of_a_bowl(name):
    init, update, get_params = getattr(optimizers, name)(*STEP_SIZES[name])
    state = init(X)
    for i in range(150):
        state = update(i, 2 * (get_params(state) - 1), state)
    np.testing.assert_allclose(get_params(state), [1, 1, 1], atol=0.1)


def test_packing_is_the_inverse_of_unpacking():
    state = optimizers.adam(0.1).init_fn({"x": X, "y": [G, G]})
    marked = optimizers.unpack_optimizer_state(state)
    assert isinstance(marked["y"][1], optimizers.JoinPoint)
    again = optimizers.pack_optimizer_state(marked)
    assert jax.tree.structure(again) == jax.tree.structure(state)
    close(jax.tree.leaves(again), jax.tree.leaves(state))


def test_only_join_points_are_packed():
    with pytest.raises(TypeError, match="JoinPoint"):
        optimizers.pack_optimizer_state({"x": X})


def test_the_norm_is_that_of_all_arrays_together():
    close(optimizers.l2_norm({"a": np.array([3.0]), "b": (np.array([[4.0]]), 12.0)}), 13.0)


def test_gradients_that_are_short_enough_stay():
    a, b = optimizers.clip_grads([G, -G], 100.0)
    close(a, G)
    close(b, -G)


def test_clipped_gradients_keep_their_direction():
    clipped = optimizers.clip_grads([G, -G], 1.0)
    close(optimizers.l2_norm(clipped), 1.0)
    close(clipped[0], G / np.sqrt(2 * np.sum(G**2)))


@drawn(10, most=5)
def test_drawn_steps_of_adam_are_those_of_its_paper(rng, most):
    """In float64, by NumPy; b1 and b2 may be 0, and the first step may be a late one."""
    b1, b2 = float(rng.choice([0.0, 0.5, 0.95])), float(rng.choice([0.0, 0.75, 0.99]))
    eps, first = float(rng.choice([0.25, 1e-3])), int(rng.choice([0, 3, 70_000]))
    x = floats(rng, *shape_of_rank(rng, int(rng.integers(0, most))))
    gradients = [floats(rng, *x.shape) for _ in range(3)]
    gradients[2].flat[0] = rng.choice([np.nan, np.inf, 1.0])
    with (
        np.errstate(invalid="ignore"),
        shown(b1=b1, b2=b2, eps=eps, first_step=first, x=x.tolist()),
    ):
        init, update, _ = optimizers.adam(lambda i: 1 / (i + 1), b1, b2, eps)
        state, m, v = init(x), 0.0, 0.0
        for i, g in enumerate(map(np.float64, gradients), first):
            state = update(i, np.float32(g), state)
            m, v = (1 - b1) * g + b1 * m, (1 - b2) * g * g + b2 * v
            step = m / (1 - b1 ** (i + 1)) / (np.sqrt(v / (1 - b2 ** (i + 1))) + eps)
            x = np.float64(x) - step / (i + 1)
            for name, got, want in zip("xmv", jax.tree.leaves(state), (x, m, v)):
                same(got, np.float32(want), f"{name} after step {i}", rtol=1e-4)
