"""Logistic regression with value_and_grad, a jitted step and an accuracy at the end."""

import functools

import jax
import jax.numpy as np
from jax import random
from jax.nn import sigmoid

key = random.PRNGKey(42)
key, k1, k2, k3 = random.split(key, 4)
n = 400
inputs = np.concatenate(
    [random.normal(k1, (n // 2, 2)) + 1.5, random.normal(k2, (n // 2, 2)) - 1.0]
)
targets = np.concatenate([np.ones(n // 2), np.zeros(n // 2)])
perm = random.permutation(k3, n)
inputs, targets = inputs[perm], targets[perm]
train_x, test_x = inputs[:300], inputs[300:]
train_y, test_y = targets[:300], targets[300:]


def loss(params, x, y, l2):
    w, b = params
    p = sigmoid(x @ w + b)
    eps = 1e-7
    log_likelihood = y * np.log(p + eps) + (1 - y) * np.log1p(-p + eps)
    return -log_likelihood.mean() + l2 * (w**2).sum()


@functools.partial(jax.jit, static_argnames=("l2",))
def step(params, x, y, l2=1e-3):
    value, grads = jax.value_and_grad(loss)(params, x, y, l2)
    return jax.tree_util.tree_map(lambda p, g: p - 0.5 * g, params, grads), value


params = (np.zeros(2), np.array(0.0))
for epoch in range(60):
    params, value = step(params, train_x, train_y)
    if epoch % 20 == 0:
        print("epoch", epoch, "loss", value)
w, b = params
accuracy = ((sigmoid(test_x @ w + b) > 0.5) == test_y.astype(bool)).mean()
print("weights", w, "bias", b)
print(f"test accuracy {accuracy:.2%}")
