"""Differentially private training: per-example gradients by `vmap(grad)`, clipped, with noise on their sum.

No single image may show in what is learned. So each image's gradient is cut to a length of at most 1, and
noise is added to the sum: what one image can change drowns in it (Abadi et al. 2016,
https://arxiv.org/abs/1607.00133). How private that is, is a number epsilon: with or without any one image,
the probability of any outcome differs by a factor of at most exp(epsilon), but for a chance of delta.

Elsewhere, gradients of single examples need tricks. Here they are one line: `vmap(grad(loss))`.
"""

import argparse
import math

import jax
import jax.numpy as jnp
from data import split_digits
from jax import random

DELTA = 1e-4
HIDDEN = 32


def init_params(key):
    k1, k2 = random.split(key)
    return {
        "w1": random.normal(k1, (64, HIDDEN)) / 8,
        "b1": jnp.zeros(HIDDEN),
        "w2": random.normal(k2, (HIDDEN, 10)) / math.sqrt(HIDDEN),
        "b2": jnp.zeros(10),
    }


def predict(params, image):
    hidden = jnp.tanh(image @ params["w1"] + params["b1"])
    return jax.nn.log_softmax(hidden @ params["w2"] + params["b2"])


def loss(params, image, label):
    """Of one image."""
    return -predict(params, image)[label]


def clipped_grad(params, image, label):
    """The gradient of one image's loss, made shorter if it is longer than 1."""
    gradient = jax.grad(loss)(params, image, label)
    length = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(gradient)))
    return jax.tree.map(lambda g: g / jnp.maximum(length, 1.0), gradient)


@jax.jit
def private_step(params, key, images, labels, share, noise, rate):
    """One step of gradient descent, on images of which each is taken with probability `share`."""
    choosing, *noising = random.split(key, 1 + len(params))
    chosen = random.bernoulli(choosing, share, (len(images),))
    gradients = jax.vmap(clipped_grad, in_axes=(None, 0, 0))(params, images, labels)
    new_params = {}
    for (name, param), k in zip(sorted(params.items()), noising):
        total = jnp.tensordot(chosen.astype(jnp.float32), gradients[name], 1)
        total += noise * random.normal(k, param.shape)
        new_params[name] = param - rate * total / (share * len(images))
    return new_params


@jax.jit
def accuracy(params, images, labels):
    scores = jax.vmap(predict, in_axes=(None, 0))(params, images)
    return jnp.mean(jnp.argmax(scores, axis=1) == labels)


def epsilon(steps, share, noise, delta=DELTA):
    """What `steps` steps tell about an image: Mironov, Talwar and Zhang 2019 (https://arxiv.org/abs/1908.10530),
    section 3.3, for orders of Renyi's divergence that are whole numbers; then Mironov 2017, proposition 3."""
    if noise == 0:
        return math.inf

    def log_moment(order):
        terms = [
            math.lgamma(order + 1)
            - math.lgamma(k + 1)
            - math.lgamma(order - k + 1)
            + (order - k) * math.log1p(-share)
            + k * math.log(share)
            + k * (k - 1) / (2 * noise**2)
            for k in range(order + 1)
        ]
        largest = max(terms)
        return largest + math.log(sum(math.exp(t - largest) for t in terms))

    return min((steps * log_moment(a) + math.log(1 / delta)) / (a - 1) for a in range(2, 64))


def train(noise, steps, share, train_data, test_data):
    """Trains; returns for some of the steps (step, accuracy on the test data)."""
    params = init_params(random.key(0))
    history = []
    for i, key in enumerate(random.split(random.key(1), steps), start=1):
        params = private_step(params, key, *train_data, share, noise, 1.0)
        if i % 10 == 0:
            history.append((i, float(accuracy(params, *test_data))))
    return history


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument(
        "--share", type=float, default=0.1, help="of the images in a step (default: 0.1)"
    )
    parser.add_argument(
        "--noise", type=float, default=2.0, help="its standard deviation (default: 2)"
    )
    parser.add_argument("--picture", metavar="FILE", help="draw the result there")
    options = parser.parse_args()

    train_data, test_data = split_digits()
    histories = {}
    for noise in (0.0, options.noise, 3 * options.noise):
        histories[noise] = train(noise, options.steps, options.share, train_data, test_data)
        private = epsilon(options.steps, options.share, noise)
        print(f"noise {noise:4.1f}: epsilon {private:5.2f}, right {histories[noise][-1][1]:.3f}")
    private = epsilon(options.steps, options.share, options.noise)
    right = histories[options.noise][-1][1]
    print(
        f"result: {right:.1%} of test images read rightly at epsilon = {private:.2f}, delta = {DELTA}"
    )
    if options.picture:
        draw(options.picture, histories, options.share)


def draw(file, histories, share):
    from picture import plt, save

    figure, (learning, privacy) = plt.subplots(1, 2, figsize=(9.2, 3.6))
    for noise, history in histories.items():
        steps, right = zip(*history)
        (line,) = learning.plot(steps, right, label=f"noise {noise:g}")
        if noise:
            private = [epsilon(s, share, noise) for s in steps]
            privacy.plot(steps, private, color=line.get_color(), label=f"noise {noise:g}")
    learning.set(title="The noise costs accuracy", xlabel="step", ylabel="test images read rightly")
    privacy.set(title="and buys privacy", xlabel="step", ylabel="epsilon (less is more private)")
    learning.legend()
    privacy.legend()
    save(figure, file)


if __name__ == "__main__":
    main()
