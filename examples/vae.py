"""A variational autoencoder of handwritten digits: two numbers for each image, and images for all numbers.

The encoder says for an image where it lies in the plane, as a mean and a spread; the decoder makes an
image of a point. Both are trained on one number, the ELBO: how well the image comes back from a point that
is drawn there, less how far the encoder's answer is from a standard normal distribution (Kingma and
Welling 2014, https://arxiv.org/abs/1312.6114). The draw is mean + spread * noise, so that `grad` can go
through it.
"""

import argparse

import jax
import jax.numpy as jnp
from data import split_digits
from jax import random
from jax.example_libraries import optimizers

HIDDEN, LATENT = 128, 2
BATCH = 128


def init_layer(key, m, n):
    return random.normal(key, (m, n)) / jnp.sqrt(m), jnp.zeros(n)


def init_params(key):
    keys = random.split(key, 5)
    encoder = init_layer(keys[0], 64, HIDDEN), init_layer(keys[1], HIDDEN, 2 * LATENT)
    decoder = init_layer(keys[2], LATENT, HIDDEN), init_layer(keys[3], HIDDEN, HIDDEN)
    return encoder, (*decoder, init_layer(keys[4], HIDDEN, 64))


def network(layers, x):
    *hidden, (w, b) = layers
    for w_hidden, b_hidden in hidden:
        x = jnp.tanh(x @ w_hidden + b_hidden)
    return x @ w + b


def encode(params, image):
    """The mean and the logarithm of the spread, float32[2] each."""
    return jnp.split(network(params[0], image), 2)


def decode(params, point):
    """The log-odds of each pixel being white."""
    return network(params[1], point)


def elbo(params, key, image):
    """For one image, in nats."""
    mean, log_spread = encode(params, image)
    point = mean + jnp.exp(log_spread) * random.normal(key, mean.shape)
    log_odds = decode(params, point)
    fits = jnp.sum(image * log_odds - jax.nn.softplus(log_odds))
    divergence = 0.5 * jnp.sum(jnp.exp(2 * log_spread) + mean**2 - 1 - 2 * log_spread)
    return fits - divergence


def mean_elbo(params, key, images):
    keys = random.split(key, len(images))
    return jnp.mean(jax.vmap(elbo, in_axes=(None, 0, 0))(params, keys, images))


init, update, get_params = optimizers.adam(2e-3)


@jax.jit
def step(i, state, key, images):
    """Draw a batch, and go a step of Adam uphill on its ELBO."""
    choosing, drawing = random.split(key)
    batch = images[random.randint(choosing, (BATCH,), 0, len(images))]
    grads = jax.grad(lambda params: -mean_elbo(params, drawing, batch))(get_params(state))
    return update(i, grads, state)


evaluate = jax.jit(mean_elbo)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--picture", metavar="FILE", help="draw the result there")
    options = parser.parse_args()

    (images, _), (test_images, test_labels) = split_digits()
    state = init(init_params(random.key(0)))
    history = []
    for i, key in enumerate(random.split(random.key(1), options.steps)):
        state = step(i, state, key, images)
        if (i + 1) % max(1, options.steps // 10) == 0:
            params = get_params(state)
            history.append((i + 1, float(evaluate(params, random.key(2), test_images))))
            print(f"step {i + 1:4}: ELBO of test images {history[-1][1]:.2f}")
    print(f"result: an ELBO of {history[-1][1]:.1f} nats for images that it has not seen")
    if options.picture:
        draw(options.picture, get_params(state), test_images, test_labels)


def draw(file, params, images, labels):
    from picture import plt, save

    means = jax.vmap(encode, in_axes=(None, 0))(params, images)[0]
    at = jnp.linspace(-2.2, 2.2, 11)
    points = jnp.stack(jnp.meshgrid(at, at[::-1]), axis=-1).reshape(-1, 2)
    made = jax.nn.sigmoid(jax.vmap(decode, in_axes=(None, 0))(params, points))
    back = jax.nn.sigmoid(jax.vmap(decode, in_axes=(None, 0))(params, means[:6]))

    figure, (places, plane, pairs) = plt.subplots(1, 3, figsize=(12, 4.2), width_ratios=(6, 4, 1.6))
    for digit in range(10):
        places.plot(*means[labels == digit].T, "o", markersize=4, label=str(digit))
    places.set(title="Where test images lie", xlabel="first number", ylabel="second number")
    places.legend(ncols=2)
    plane.imshow(tiled(made, 11), extent=(-2.4, 2.4, -2.4, 2.4), interpolation="none")
    plane.set(title="What the plane decodes to", xlabel="first number", ylabel="second number")
    pairs.imshow(tiled(jnp.stack([images[:6], back], axis=1), 2), interpolation="none")
    pairs.set_title("Images, and from\ntwo numbers")
    pairs.axis("off")
    plane.grid(False)
    save(figure, file)


def tiled(images, columns):
    """One image of many, float32[9 * rows, 9 * columns]: nan, which is not drawn, between them."""
    apart = jnp.pad(images.reshape(-1, 8, 8), [(0, 0), (0, 1), (0, 1)], constant_values=jnp.nan)
    return jnp.swapaxes(apart.reshape(-1, columns, 9, 9), 1, 2).reshape(-1, 9 * columns)


if __name__ == "__main__":
    main()
