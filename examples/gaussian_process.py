"""Gaussian process regression: a curve through points, with how sure it is, from one Cholesky factor.

All values of the curve are jointly normal, and near ones are alike, as the kernel measures. The known
points then give a mean and a spread everywhere. How smooth, how high and how noisy are
found by `grad` of the likelihood, which goes through `cholesky` (Rasmussen and Williams 2006, algorithm
2.1, http://gaussianprocess.org/gpml).
"""

import argparse

import jax
import jax.numpy as jnp
from jax import random
from jax.example_libraries import optimizers
from jax.scipy.linalg import cho_solve, solve_triangular

NOISE = 0.15


def truth(x):
    return jnp.sin(3 * x) + 0.3 * x


def kernel(params, x1, x2):
    """How alike the values at two places are."""
    height, width = jnp.exp(params["height"]), jnp.exp(params["width"])
    return height**2 * jnp.exp(-0.5 * ((x1 - x2) / width) ** 2)


def gram(params, xs1, xs2):
    """The kernel of each pair: float32[len(xs1), len(xs2)]."""
    row = jax.vmap(kernel, in_axes=(None, None, 0))
    return jax.vmap(row, in_axes=(None, 0, None))(params, xs1, xs2)


def factor(params, xs):
    """The Cholesky factor of the covariance of what is seen: the curve and the noise."""
    return jnp.linalg.cholesky(
        gram(params, xs, xs) + jnp.exp(2 * params["noise"]) * jnp.eye(len(xs))
    )


def negative_log_likelihood(params, xs, ys):
    lower = factor(params, xs)
    fit = 0.5 * ys @ cho_solve((lower, True), ys)
    return fit + jnp.sum(jnp.log(jnp.diag(lower))) + 0.5 * len(xs) * jnp.log(2 * jnp.pi)


@jax.jit
def posterior(params, xs, ys, at):
    """The mean and the standard deviation of the curve at other places."""
    lower = factor(params, xs)
    across = gram(params, xs, at)
    mean = across.T @ cho_solve((lower, True), ys)
    known = solve_triangular(lower, across, lower=True)
    variance = jnp.exp(2 * params["height"]) - jnp.sum(known**2, axis=0)
    return mean, jnp.sqrt(jnp.maximum(variance, 1e-6))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=24)
    parser.add_argument("--steps", type=int, default=200, help="of the optimizer")
    parser.add_argument("--picture", metavar="FILE", help="draw the result there")
    options = parser.parse_args()

    k1, k2 = random.split(random.key(1))
    xs = random.uniform(k1, (options.points,), minval=-2.5, maxval=2.5)
    xs = xs + 0.7 * jnp.sign(xs)  # nothing is known of the middle
    ys = truth(xs) + NOISE * random.normal(k2, xs.shape)

    init, update, get_params = optimizers.adam(0.05)
    first = {"height": jnp.log(1.0), "width": jnp.log(1.0), "noise": jnp.log(0.5)}
    state = init(first)

    @jax.jit
    def step(i, state):
        value, grads = jax.value_and_grad(negative_log_likelihood)(get_params(state), xs, ys)
        return update(i, grads, state), value

    for i in range(options.steps):
        state, value = step(i, state)
        if i % 50 == 0:
            print(f"step {i:3}: {value:.3f} nats")
    params = get_params(state)
    found = {name: float(jnp.exp(value)) for name, value in params.items()}
    print("found:", ", ".join(f"{name} {value:.3f}" for name, value in sorted(found.items())))

    at = jnp.linspace(-3.4, 3.4, 200)
    mean, spread = posterior(params, xs, ys, at)
    inside = jnp.mean(jnp.abs(truth(at) - mean) < 2 * spread)
    print(
        f"result: {inside:.0%} of the true curve lies within two standard deviations (expected: 95%)"
    )
    if options.picture:
        before = posterior(first, xs, ys, at)
        draw(options.picture, xs, ys, at, before, (mean, spread))


def draw(file, xs, ys, at, before, after):
    from picture import BLUE, GREEN, ORANGE, SKY, plt, save

    figure, places = plt.subplots(1, 2, figsize=(9.2, 3.6), sharey=True)
    titles = "Before: a guess", "After: the most likely"
    for axes, title, (mean, spread) in zip(places, titles, (before, after)):
        low, high = mean - 2 * spread, mean + 2 * spread
        axes.fill_between(at, low, high, color=SKY, alpha=0.3, label="two deviations")
        axes.plot(at, truth(at), "--", color=GREEN, label="truth")
        axes.plot(at, mean, color=BLUE, label="mean")
        axes.plot(xs, ys, "o", color=ORANGE, markersize=4, label="seen")
        axes.set(title=title, xlabel="x", ylabel="y")
    places[0].legend()
    save(figure, file)


if __name__ == "__main__":
    main()
