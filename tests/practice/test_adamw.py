"""Adam with a decay of weights that no mean sees."""

import numpy as np
from drawn import drawn, floats, same, shape_of_rank, shown
from judged import unchanged
from practice.adamw import adamw

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.example_libraries.optimizers import adam

weights = jnp.array([[2.0, -4.0], [8.0, 16.0]])
biases = jnp.array([2.0, -4.0])
nothing = jnp.zeros_like


def after(opt, x, *gradients):
    """The parameters after a step for each gradient."""
    init, update, get_params = opt
    state = init(x)
    for i, g in enumerate(gradients):
        state = update(i, g, state)
    return get_params(state)


def test_where_gradients_are_zero_weights_decay_alone():
    got = after(adamw(0.5, 0.1), weights, *[nothing(weights)] * 2)
    np.testing.assert_allclose(got, 0.95**2 * weights, rtol=1e-6)
    of_decay = lambda decay: after(adamw(0.5, decay), weights, nothing(weights))  # noqa: E731
    decays = jnp.array([0.0, 0.5, -0.5])
    wants = [weights, 0.75 * weights, 1.25 * weights]
    np.testing.assert_allclose([of_decay(float(decay)) for decay in decays], wants)
    np.testing.assert_allclose(jax.vmap(of_decay)(decays), wants, err_msg="decays are traced")


def test_what_has_fewer_than_two_axes_does_not_decay():
    for x in (biases, jnp.array(3.0)):
        np.testing.assert_array_equal(after(adamw(0.5, 0.1), x, nothing(x)), x)


def test_without_a_decay_it_is_adam():
    gradients = [jnp.sin(weights + i) for i in range(3)]
    want = after(adam(0.1), weights, *gradients)
    np.testing.assert_allclose(after(adamw(0.1, 0.0), weights, *gradients), want, rtol=1e-6)


def test_the_decay_is_no_part_of_the_gradient_and_is_of_the_weights_before_the_step():
    got = after(adamw(0.5, 0.1), weights, nothing(weights) + 7.0)
    np.testing.assert_allclose(got, weights - 0.5 - 0.05 * weights, rtol=1e-5)


def test_means_know_nothing_of_the_decay():
    init, update, _ = adamw(0.5, 0.1)
    (kept,) = update(0, nothing(weights), init(weights)).packed_state
    assert len(kept) == 3, f"the state is Adam's, of x, m and v, not of {len(kept)} arrays"
    assert not np.any(kept[1]) and not np.any(kept[2]), (
        "gradients were zero, and so are their means"
    )


def test_a_schedule_says_how_much_decays_too():
    got = after(adamw(lambda i: 0.5 * i, 0.1), weights, *[nothing(weights)] * 3)
    np.testing.assert_allclose(got, 0.95 * 0.9 * weights, rtol=1e-6)


def test_a_tree_of_parameters_is_updated_in_a_compiled_step():
    init, update, get_params = adamw(0.5, 0.1)
    tree = {"w": weights, "b": biases}
    state = jax.jit(update)(0, jax.tree.map(nothing, tree), init(tree))
    np.testing.assert_allclose(get_params(state)["w"], 0.95 * weights, rtol=1e-6)
    np.testing.assert_allclose(get_params(state)["b"], biases)
    init, update, get_params = adamw(lambda i: 0.25 * (i + 1), 0.125)
    state = jax.jit(update)(1, jax.tree.map(nothing, tree), init(tree))
    np.testing.assert_allclose(get_params(state)["w"], 0.9375 * weights, rtol=1e-6)
    np.testing.assert_allclose(after(adamw(1.0, 0.875), weights, nothing(weights)), 0.125 * weights)


def test_arrays_of_more_than_two_axes_decay_too_and_keep_their_dtype():
    for shape in ((2, 1, 3), (1, 1), (0, 2, 2, 1)):
        x = np.full(shape, 8, np.float32)
        with unchanged(x=x):
            got = after(adamw(0.5, 0.5), jnp.asarray(x), jnp.zeros(shape))
        assert got.dtype == x.dtype
        np.testing.assert_array_equal(got, np.full(shape, 6, np.float32))


def test_each_optimizer_has_its_own_numbers_and_states_stay_as_they_are():
    first, second = adamw(0.5, 0.1), adamw(0.25, 0.2)
    state = first.init_fn(weights)
    with unchanged(state=state):
        first.update_fn(0, weights, state)
    for _ in range(2):
        np.testing.assert_allclose(after(first, weights, nothing(weights)), 0.95 * weights)
        np.testing.assert_allclose(after(second, weights, nothing(weights)), 0.95 * weights)
    np.testing.assert_allclose(after(adamw(1.0, 0.2), weights, nothing(weights)), 0.8 * weights)


def test_weights_of_float64_decay_as_exactly_as_they_are():
    x = np.array([[2.0, -4e6], [8e-6, 16.0]])
    with jax.enable_x64():
        got = after(adamw(0.1, 3.3), x, np.zeros((2, 2)))
    same(np.asarray(got) / x, np.full((2, 2), 0.67), "what is left of the weights", 1e-12)


@drawn(10, most=6)
def test_drawn_weights_go_with_adam_and_decay_as_in_numpy(rng, most):
    x = floats(rng, *shape_of_rank(rng, int(rng.integers(0, most))))
    decay, first = float(rng.choice([0.0, 0.25, 1.5])), int(rng.choice([0, 5, 300]))
    gradients = [floats(rng, *x.shape) for _ in range(3)]
    with shown(x=x.tolist(), decay=decay, first_step=first):
        init, update, get_params = adamw(lambda i: 0.5 / (i + 1), decay)
        state, m, v, x = init(x), 0.0, 0.0, np.float64(x)
        for i, g in enumerate(map(np.float64, gradients), first):
            state = update(i, np.float32(g), state)
            m, v = 0.1 * g + 0.9 * m, 0.001 * g * g + 0.999 * v
            step = m / (1 - 0.9 ** (i + 1)) / (np.sqrt(v / (1 - 0.999 ** (i + 1))) + 1e-8)
            x = x - 0.5 / (i + 1) * (step + decay * x * (x.ndim >= 2))
            same(get_params(state), np.float32(x), f"the weights after step {i}", 1e-3)
