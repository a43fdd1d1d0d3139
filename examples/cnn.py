"""A convolutional network of handwritten digits, put together with stax.

In stax a layer is a pair of functions: one makes the params of it, the other applies them. `serial` makes
one layer of many. A convolution looks at 3 x 3 pixels at a time, with the same weights everywhere, so that
it finds a stroke wherever that is (https://docs.jax.dev/en/latest/jax.example_libraries.stax.html).
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
from data import split_digits
from jax import random
from jax.example_libraries import optimizers, stax

BATCH = 64

init_network, predict = stax.serial(
    stax.Conv(16, (3, 3), padding="SAME"),
    stax.Relu,
    stax.MaxPool((2, 2), strides=(2, 2)),
    stax.Conv(32, (3, 3), padding="SAME"),
    stax.Relu,
    stax.Flatten,
    stax.Dense(10),
    stax.LogSoftmax,
)
init, update, get_params = optimizers.adam(2e-3)


def loss(params, images, targets):
    """The cross entropy. images: float32[n,8,8,1]; targets: float32[n,10], one-hot."""
    return -jnp.mean(jnp.sum(predict(params, images) * targets, axis=1))


@jax.jit
def step(i, state, images, targets):
    value, grads = jax.value_and_grad(loss)(get_params(state), images, targets)
    return update(i, grads, state), value


@jax.jit
def accuracy(params, images, labels):
    return jnp.mean(jnp.argmax(predict(params, images), axis=1) == labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=12, help="how often to see each image")
    parser.add_argument("--picture", metavar="FILE", help="draw the result there")
    options = parser.parse_args()

    (images, labels), (test_images, test_labels) = split_digits()
    images, test_images = images.reshape(-1, 8, 8, 1), test_images.reshape(-1, 8, 8, 1)
    targets = np.eye(10, dtype=np.float32)[labels]
    _, params = init_network(random.key(0), (BATCH, 8, 8, 1))
    print("numbers to learn:", sum(p.size for p in jax.tree.leaves(params)))

    state = init(params)
    steps = len(images) // BATCH
    losses, right = [], []
    for epoch, key in enumerate(random.split(random.key(1), options.epochs)):
        order = np.asarray(random.permutation(key, len(images)))
        for k in range(steps):
            chosen = order[k * BATCH :][:BATCH]
            state, value = step(epoch * steps + k, state, images[chosen], targets[chosen])
            losses.append(float(value))
        right.append(float(accuracy(get_params(state), test_images, test_labels)))
        print(
            f"epoch {epoch + 1:2}: loss {np.mean(losses[-steps:]):.3f}, test images {right[-1]:.3f}"
        )
    print(
        f"result: {right[-1]:.1%} of {len(test_images)} images that it has not seen are read rightly"
    )
    if options.picture:
        draw(options.picture, get_params(state), losses, right, test_images)


def draw(file, params, losses, right, images):
    from picture import BLUE, ORANGE, plt, save

    first, bias = params[0]
    found = jax.lax.conv_general_dilated(
        images[:1], first, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    found = np.moveaxis(np.asarray(jax.nn.relu(found + bias)[0]), 2, 0)
    filters = np.moveaxis(np.asarray(first)[:, :, 0], 2, 0)

    figure = plt.figure(figsize=(12, 3.6))
    left, middle, end = figure.subfigures(1, 3, width_ratios=(5, 3.5, 3.5))
    learning = left.subplots()
    steps = np.arange(len(losses)) / len(losses) * len(right)
    learning.plot(steps, losses, color=ORANGE, linewidth=1, label="loss")
    learning.plot(np.arange(len(right)) + 1, right, color=BLUE, label="test images that are right")
    learning.set(title="How it learns", xlabel="epoch")
    learning.legend()
    shown = [*images[:1, :, :, 0], *found[:15]]
    for part, title, pictures in [
        (middle, "What the first layer looks for", filters),
        (end, "and where it finds it (first: the image)", shown),
    ]:
        part.suptitle(title, size="medium", weight="bold")
        for place, pixels in zip(part.subplots(4, 4).flat, pictures):
            place.imshow(pixels, interpolation="none")
            place.axis("off")
    save(figure, file)


if __name__ == "__main__":
    main()
