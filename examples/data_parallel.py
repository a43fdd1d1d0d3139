"""A network trained on four devices at once: `pmap`, and one `psum` in which they agree.

Each device has the same params and a quarter of every batch. Each computes the gradient of its quarter, and
`lax.pmean` gives all of them the mean of the four, which is the gradient of the whole batch. So they take
the same step, and stay the same. One CPU acts as four devices here: that makes nothing faster, but the
program is that of a machine with four.
"""

import argparse
from functools import partial

import jax
import jax.numpy as jnp
from data import split_digits
from jax import lax, random

DEVICES = 4
jax.config.update("jax_num_cpu_devices", DEVICES)  # before the first use of any


def init_params(key, sizes=(64, 64, 10)):
    keys = random.split(key, len(sizes) - 1)
    return [
        (random.normal(k, (m, n)) / jnp.sqrt(m), jnp.zeros(n))
        for k, m, n in zip(keys, sizes, sizes[1:])
    ]


def predict(params, images):
    (w1, b1), (w2, b2) = params
    return jax.nn.log_softmax(jnp.tanh(images @ w1 + b1) @ w2 + b2)


def loss(params, images, labels):
    return -jnp.mean(predict(params, images)[jnp.arange(len(labels)), labels])


def descend(params, grads):
    return jax.tree.map(lambda p, g: p - 0.5 * g, params, grads)


@partial(jax.pmap, axis_name="device")
def parallel_step(params, images, labels):
    """On each device, with its part of the batch."""
    value, grads = jax.value_and_grad(loss)(params, images, labels)
    value, grads = lax.pmean((value, grads), "device")
    return descend(params, grads), value


@jax.jit
def step(params, images, labels):
    """On one device, with all of the batch."""
    value, grads = jax.value_and_grad(loss)(params, images, labels)
    return descend(params, grads), value


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=128, help="images in a step, on all devices")
    parser.add_argument("--picture", metavar="FILE", help="draw the result there")
    options = parser.parse_args()
    if options.batch % DEVICES:
        parser.error(f"--batch must be a multiple of {DEVICES}")

    (images, labels), (test_images, test_labels) = split_digits()
    devices = jax.local_devices()
    print(f"{len(devices)} devices")
    alone = init_params(random.key(0))
    # A copy for each device: the first axis is that of the devices.
    together = jax.tree.map(lambda p: jnp.broadcast_to(p, (DEVICES, *p.shape)), alone)

    losses = []
    for i, key in enumerate(random.split(random.key(1), options.steps)):
        chosen = random.randint(key, (options.batch,), 0, len(images))
        batch = images[chosen], labels[chosen]
        parts = [part.reshape(DEVICES, -1, *part.shape[1:]) for part in batch]
        together, values = parallel_step(together, *parts)
        alone, value = step(alone, *batch)
        losses.append((float(values[0]), float(value)))
        if i % 50 == 0:
            print("step {:3}: loss {:.4f} on four devices, {:.4f} on one".format(i, *losses[-1]))

    differences = jax.tree.map(lambda t, a: jnp.max(jnp.abs(t - a)), together, alone)
    print("the same params:", max(float(d) for d in jax.tree.leaves(differences)) < 1e-3)
    params = jax.tree.map(lambda p: p[0], together)
    right = jnp.mean(jnp.argmax(predict(params, test_images), axis=1) == test_labels)
    print(
        f"result: {right:.1%} of test images read rightly, after training on {len(devices)} devices"
    )
    if options.picture:
        draw(options.picture, losses)


def draw(file, losses):
    from picture import BLUE, SKY, plt, save

    on_four, on_one = zip(*losses)
    figure, axes = plt.subplots(figsize=(6, 3.6))
    axes.plot(on_one, color=SKY, linewidth=5, label="one device")
    axes.plot(on_four, color=BLUE, linewidth=1, label="four devices")
    axes.set(title="The same training, on four devices and on one", xlabel="step", ylabel="loss")
    axes.legend()
    save(figure, file)


if __name__ == "__main__":
    main()
