"""Modules and an MLP that learns, filtered transformations, layers with state, errors within jit, loops."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax


class Linear(eqx.Module):
    weight: jax.Array
    bias: jax.Array

    def __init__(self, in_size, out_size, key):
        wkey, bkey = jr.split(key)
        self.weight = jr.normal(wkey, (out_size, in_size))
        self.bias = jr.normal(bkey, (out_size,))

    def __call__(self, x):
        return self.weight @ x + self.bias


@jax.jit
@jax.grad
def linear_loss(model, x, y):
    pred_y = jax.vmap(model)(x)
    return jnp.mean((y - pred_y) ** 2)


linear = Linear(2, 3, jr.key(0))
grads = linear_loss(linear, jnp.ones((5, 2)), jnp.zeros((5, 3)))
print("README:", grads.weight, grads.bias)

# ---- an MLP learns ----

x = jnp.linspace(-1, 1, 32)[:, None]
y = jnp.sin(3 * x)
model = eqx.nn.MLP(1, 1, 8, 2, activation=jax.nn.tanh, key=jr.key(1))
optimizer = optax.adam(1e-2)
state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))


@eqx.filter_jit
def step(model, state):
    def loss(model):
        return jnp.mean((jax.vmap(model)(x) - y) ** 2)

    value, grads = eqx.filter_value_and_grad(loss)(model)
    updates, state = optimizer.update(grads, state, model)
    return eqx.apply_updates(model, updates), state, value


for i in range(60):
    model, state, value = step(model, state)
    if i % 20 == 0:
        print("loss:", value)
print("MLP:", model(x[3]), model.layers[1].weight[0])

# ---- transformations that filter ----

ensemble = eqx.filter_vmap(lambda key: eqx.nn.Linear(2, 2, key=key))(jr.split(jr.key(2), 3))
print("ensemble:", eqx.filter_vmap(lambda m, v: m(v), in_axes=(0, None))(ensemble, jnp.ones(2)))
frozen = eqx.tree_at(lambda m: m.bias, linear, replace_fn=jnp.zeros_like)
print("tree_at:", frozen(jnp.ones(2)), eqx.tree_equal(frozen, linear))
print("jvp:", eqx.filter_jvp(lambda m, v: m(v), (linear, x[:2, 0]), (linear, x[2:4, 0]))[1])
print("shapes:", eqx.filter_eval_shape(linear, jnp.ones(2)))
print(
    "checkpoint:", jax.grad(lambda v: jnp.sum(eqx.filter_checkpoint(linear)(v) ** 2))(jnp.ones(2))
)

# ---- layers with state, dropout, errors within jit ----

norm, norm_state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(2, axis_name="batch", mode="batch")
batched = jax.vmap(norm, in_axes=(0, None), out_axes=(0, None), axis_name="batch")
normed, norm_state = batched(jnp.arange(6.0).reshape(3, 2), norm_state)
print("BatchNorm:", normed[0], norm_state.get(norm.batch_state_index)[0][0])
cnn = eqx.nn.Sequential(
    [eqx.nn.Conv2d(1, 2, 3, key=jr.key(3)), eqx.nn.Lambda(jax.nn.relu), eqx.nn.AvgPool2d(2, 2)]
)
print("Conv2d:", cnn(jnp.arange(36.0).reshape(1, 6, 6) / 36).ravel())
attention = eqx.nn.MultiheadAttention(2, 4, key=jr.key(4))
print(
    "attention:",
    attention(*[jnp.ones((3, 4))] * 3)[0],
    eqx.nn.GRUCell(2, 3, key=jr.key(5))(jnp.ones(2), jnp.ones(3)),
)
print("dropout:", eqx.nn.Dropout(0.5)(jnp.ones(6), key=jr.key(6)))


@eqx.filter_jit
def root(v):
    v = eqx.error_if(v, v < 0, "v must be at least 0")
    return jnp.sqrt(v)


print("error_if:", root(jnp.array(4.0)))
try:
    root(jnp.array(-1.0))
except Exception as error:
    print("error_if:", "v must be at least 0" in str(error))
loop = eqx.internal.while_loop(
    lambda v: v < 100, lambda v: v * 3, 2.0, max_steps=8, kind="checkpointed"
)
print(
    "while_loop:",
    loop,
    jax.grad(
        lambda v: eqx.internal.while_loop(
            lambda c: c < 100, lambda c: c * 3, v, max_steps=8, kind="checkpointed"
        )
    )(2.0),
)
