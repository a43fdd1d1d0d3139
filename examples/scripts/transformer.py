"""A transformer block that learns to turn sequences around; parameters in nested dictionaries."""

import jax
import jax.numpy as jnp
from jax import random

VOCABULARY, LENGTH, WIDTH, HEADS = 10, 8, 32, 4


def dense(key, m, n):
    return {"w": random.normal(key, (m, n)) * m**-0.5, "b": jnp.zeros(n)}


def init(key):
    k = random.split(key, 6)
    return {
        "embed": 0.5 * random.normal(k[0], (VOCABULARY, WIDTH)),
        "position": 0.5 * random.normal(k[1], (LENGTH, WIDTH)),
        "qkv": dense(k[2], WIDTH, 3 * WIDTH),
        "proj": dense(k[3], WIDTH, WIDTH),
        "mlp": [dense(k[4], WIDTH, 2 * WIDTH), dense(k[5], 2 * WIDTH, WIDTH)],
    }


def apply(layer, x):
    return x @ layer["w"] + layer["b"]


def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def attention(params, x):
    q, k, v = jnp.split(apply(params["qkv"], x).reshape(LENGTH, HEADS, -1), 3, axis=-1)
    weights = jax.nn.softmax(jnp.einsum("qhd,khd->hqk", q, k) / jnp.sqrt(q.shape[-1]), axis=-1)
    return apply(params["proj"], jnp.einsum("hqk,khd->qhd", weights, v).reshape(LENGTH, WIDTH))


def model(params, tokens):
    x = params["embed"][tokens] + params["position"]
    x = x + attention(params, layer_norm(x))
    up, down = params["mlp"]
    x = x + apply(down, jax.nn.gelu(apply(up, layer_norm(x))))
    return layer_norm(x) @ params["embed"].T


def loss(params, batch):
    log_p = jax.nn.log_softmax(jax.vmap(model, (None, 0))(params, batch))
    targets = jax.nn.one_hot(batch[:, ::-1], VOCABULARY)
    return -(log_p * targets).sum(-1).mean()


@jax.jit
def train_step(params, moments, key):
    batch = random.randint(key, (32, LENGTH), 0, VOCABULARY)
    value, grads = jax.value_and_grad(loss)(params, batch)
    moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, grads)
    params = jax.tree.map(lambda p, m: p - 0.1 * m, params, moments)
    return params, moments, value


params = init(random.key(0))
print("parameters:", sum(p.size for p in jax.tree.leaves(params)))
moments = jax.tree.map(jnp.zeros_like, params)
for i in range(81):
    params, moments, value = train_step(params, moments, random.fold_in(random.key(1), i))
    if i % 20 == 0:
        print(f"step {i:3d} loss {value:.3f}")
tokens = jnp.array([3, 1, 4, 1, 5, 9, 2, 6])
print(tokens, "->", model(params, tokens).argmax(-1))
