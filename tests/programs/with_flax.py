"""A convolutional network of Linen and a model of NNX, each trained as in the introductions."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax import nnx
from flax.training import train_state

key = jax.random.key(0)
labels = jnp.arange(12) % 3
images = jax.random.normal(jax.random.key(1), (12, 8, 8, 1)) + labels[:, None, None, None]


class CNN(nn.Module):
    @nn.compact
    def __call__(self, x, training):
        x = nn.relu(nn.Conv(features=4, kernel_size=(3, 3))(x))
        x = nn.avg_pool(x, window_shape=(2, 2), strides=(2, 2))
        x = nn.Conv(features=8, kernel_size=(3, 3), use_bias=False)(x)
        x = nn.relu(nn.BatchNorm(use_running_average=not training)(x))
        x = nn.relu(nn.Dense(features=16)(x.reshape((x.shape[0], -1))))
        return nn.Dense(features=3)(nn.Dropout(0.2, deterministic=not training)(x))


class State(train_state.TrainState):
    batch_stats: dict


@jax.jit
def cnn_step(state, key):
    def loss_fn(params):
        variables = {"params": params, "batch_stats": state.batch_stats}
        logits, updates = state.apply_fn(
            variables, images, training=True, rngs={"dropout": key}, mutable=["batch_stats"]
        )
        loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
        return loss, updates

    (loss, updates), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads, batch_stats=updates["batch_stats"]), loss


cnn = CNN()
variables = cnn.init(key, images, training=False)
print(jax.tree.map(jnp.shape, variables["params"]))
state = State.create(apply_fn=cnn.apply, tx=optax.adam(1e-2), **variables)
for step in range(10):
    state, loss = cnn_step(state, jax.random.fold_in(key, step))
    if step % 3 == 0:
        print(f"linen: step {step}, loss {loss:.6f}")


class Model(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.linear = nnx.Linear(4, 16, use_bias=False, rngs=rngs)
        self.bn = nnx.BatchNorm(16, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.linear_out = nnx.Linear(16, 2, rngs=rngs)

    def __call__(self, x):
        return self.linear_out(nnx.relu(self.dropout(self.bn(self.linear(x)))))


@nnx.jit
def model_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(lambda model: jnp.mean((model(x) - y) ** 2))(model)
    optimizer.update(model, grads)
    return loss


x = jax.random.normal(jax.random.key(1), (16, 4))
y = jnp.sin(x[:, :2]) + 0.1
model = Model(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
for step in range(10):
    loss = model_step(model, optimizer, x, y)
    if step % 3 == 0:
        print(f"nnx: step {step}, loss {loss:.6f}")
model.eval()
print("nnx: outputs", " ".join(f"{v:.5f}" for v in model(x)[0]))


@nnx.split_rngs(splits=3)
@nnx.vmap(in_axes=0, out_axes=0)
def create_layers(rngs: nnx.Rngs):
    return nnx.Linear(4, 4, rngs=rngs)


@nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
def forward(x, layer):
    return x + jnp.tanh(layer(x))


layers = create_layers(nnx.Rngs(1))
grads = nnx.grad(lambda layers: jnp.sum(forward(x, layers) ** 2))(layers)
print("nnx: scan over", layers.kernel.shape, " ".join(f"{v:.5f}" for v in forward(x, layers)[0]))
print("nnx: gradient", " ".join(f"{v:.5f}" for v in grads["bias"][...][:, 0]))
