"""A network of handwritten digits from scratch: arrays, `grad`, `vmap` and `jit`, and nothing else.

The model is written for one image. `vmap` makes it a model of many, `grad` gives the gradient of its
loss, and `jit` compiles a whole step of training, which is pure: params go in, new params come out.
"""

import argparse
import itertools

import jax
import jax.numpy as jnp
from data import split_digits
from jax import grad, jit, random, vmap

LAYERS = [64, 64, 10]  # pixels, hidden numbers, digits


def init_params(key):
    """For each layer a matrix with random entries, small enough that sums of them are near 1; no bias."""
    keys = random.split(key, len(LAYERS) - 1)
    return [
        (random.normal(k, (m, n)) / jnp.sqrt(m), jnp.zeros(n))
        for k, m, n in zip(keys, LAYERS, LAYERS[1:])
    ]


def predict(params, image):
    """The logarithms of the probabilities of the ten digits, for one image."""
    *hidden, (w, b) = params
    for w_hidden, b_hidden in hidden:
        image = jax.nn.relu(image @ w_hidden + b_hidden)
    return jax.nn.log_softmax(image @ w + b)


batched_predict = vmap(predict, in_axes=(None, 0))


def loss(params, images, labels):
    """The mean of minus the log-probability of the right digit (the cross entropy)."""
    right = jnp.take_along_axis(batched_predict(params, images), labels[:, None], axis=1)
    return -jnp.mean(right)


@jit
def step(params, images, labels, rate):
    """Gradient descent, on one batch."""
    grads = grad(loss)(params, images, labels)
    return jax.tree.map(lambda p, g: p - rate * g, params, grads)


@jit
def accuracy(params, images, labels):
    return jnp.mean(jnp.argmax(batched_predict(params, images), axis=1) == labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30, help="how often to see each image")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.2, help="how far to go in each step")
    parser.add_argument("--picture", metavar="FILE", help="draw the result there")
    options = parser.parse_args()

    train, test = split_digits()
    params = init_params(random.key(0))
    history = []
    for epoch, key in enumerate(random.split(random.key(1), options.epochs), start=1):
        order = random.permutation(key, len(train[0]))
        for i in range(0, len(order) - options.batch + 1, options.batch):
            chosen = order[i : i + options.batch]
            params = step(params, train[0][chosen], train[1][chosen], options.rate)
        history.append([loss(params, *train), accuracy(params, *train), accuracy(params, *test)])
        if epoch % 5 == 0 or epoch == options.epochs:
            print(
                "epoch {:2}: loss {:.3f}, right {:.3f}, of test images {:.3f}".format(
                    epoch, *history[-1]
                )
            )

    print(
        f"result: {history[-1][2]:.1%} of {len(test[0])} images that it has not seen are read rightly"
    )
    if options.picture:
        draw(options.picture, params, history, test)


def draw(file, params, history, test):
    from picture import BLUE, ORANGE, SKY, plt, save

    figure = plt.figure(figsize=(9.2, 3.6))
    left, right = figure.subfigures(1, 2, width_ratios=(5, 4))
    curves = left.subplots()
    epochs = jnp.arange(len(history)) + 1
    names = "loss", "right, training images", "right, test images"
    for name, values, color in zip(names, jnp.array(history).T, (ORANGE, SKY, BLUE)):
        curves.plot(epochs, values, color=color, label=name)
    curves.set(title="How it learns", xlabel="epoch")
    curves.legend()

    images, labels = test
    said = jnp.argmax(batched_predict(params, images), axis=1)
    right.suptitle("What it read wrongly", size="medium", weight="bold")
    wrong = jnp.flatnonzero(said != labels)[:12]
    for place, i in itertools.zip_longest(right.subplots(3, 4).flat, wrong):
        place.axis("off")
        if i is not None:
            place.imshow(images[i].reshape(8, 8), interpolation="none")
            place.set_title(f"{said[i]}, not {labels[i]}", size="small", weight="normal")
    save(figure, file)


if __name__ == "__main__":
    main()
