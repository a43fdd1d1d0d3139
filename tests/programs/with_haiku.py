"""An MLP with dropout and an LSTM, trained with optax; batch normalization with its state."""

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax


def show(name, *values):
    numbers = np.concatenate([np.ravel(np.asarray(v, np.float64)) for v in values])
    print(name, *(f"{number:.6g}" for number in numbers))


def mlp(x, is_training):
    x = hk.nets.MLP([16, 8], activation=jax.nn.tanh, name="body")(x)
    x = hk.LayerNorm(axis=-1, create_scale=True, create_offset=True)(x)
    x = hk.dropout(hk.next_rng_key(), 0.1, x) if is_training else x
    return hk.Linear(3)(x)


net = hk.transform(mlp)
images = jax.random.normal(jax.random.key(0), (32, 5))
labels = jnp.argmax(images[:, :3] ** 2, axis=1)
params = net.init(jax.random.PRNGKey(1), images, True)
print(jax.tree.map(jnp.shape, params))


def loss(params, key):
    logits = net.apply(params, key, images, True)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@jax.jit
def update(params, state, key):
    value, grads = jax.value_and_grad(loss)(params, key)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(params, updates), state, value


optimizer = optax.adam(0.02)
state = optimizer.init(params)
for step in range(10):
    params, state, value = update(params, state, jax.random.fold_in(jax.random.PRNGKey(2), step))
    show("mlp loss", value)
show("logits", net.apply(params, None, images[:2], False))


def lstm(series):
    core = hk.LSTM(6)
    outs, _ = hk.dynamic_unroll(core, series, core.initial_state(series.shape[1]))
    return hk.BatchApply(hk.Linear(1))(outs)[..., 0]


model = hk.without_apply_rng(hk.transform(lstm))
waves = jnp.sin(jnp.linspace(0, 6, 13)[:, None] + jnp.arange(4.0))[..., None]
params = model.init(jax.random.PRNGKey(3), waves[:-1])
mean_error = jax.jit(lambda p: jnp.mean((model.apply(p, waves[:-1]) - waves[1:, :, 0]) ** 2))
for _ in range(5):
    params = jax.tree.map(lambda p, g: p - 0.3 * g, params, jax.grad(mean_error)(params))
    show("lstm error", mean_error(params))


def averaged(x):
    return hk.BatchNorm(True, True, 0.9)(x, is_training=True).sum(0)


norm = hk.without_apply_rng(hk.transform_with_state(averaged))
params, state = norm.init(jax.random.PRNGKey(4), images)
_, state = norm.apply(params, state, images + 1)
show("averages", *jax.tree.leaves(state))
