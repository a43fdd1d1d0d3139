"""Variational inference by `grad`: fit a normal distribution to a posterior that is none.

Twenty numbers are seen; their mean and their spread are not. What is known of both afterwards is the
posterior, which is known up to a factor only. ADVI (Kucukelbir et al. 2017,
https://arxiv.org/abs/1603.00788) does three things: a spread is positive, so it looks for its logarithm,
and counts in the density what that stretches; it takes a family of normal distributions over both
numbers; and it goes uphill on the ELBO with draws center + factor @ noise, through which `grad` can go.
With two numbers the posterior can be computed on a grid as well, and so we see how good that is.
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random
from jax.example_libraries import optimizers
from jax.scipy.stats import norm

DRAWS = 64


def log_joint(mean, spread, data):
    """The logarithm of the posterior's density, up to a constant."""
    prior = norm.logpdf(mean, 0, 5) + norm.logpdf(spread, 0, 5)  # half of a normal: spread > 0
    return prior + jnp.sum(norm.logpdf(data, mean, spread))


def log_density(theta, data):
    """The same of (mean, log spread): exp stretches by its derivative, whose logarithm is log spread."""
    mean, log_spread = theta
    return log_joint(mean, jnp.exp(log_spread), data) + log_spread


def factor(params):
    """A lower triangular matrix with a positive diagonal."""
    (a, b), c = params["diagonal"], params["below"]
    return jnp.array([[jnp.exp(a), 0.0], [c, jnp.exp(b)]])


def draw_thetas(params, key, count):
    noise = random.normal(key, (count, 2))
    return params["center"] + noise @ factor(params).T


def elbo(params, key, data):
    """The mean log density of draws, and the entropy of what they are drawn from, up to a constant."""
    thetas = draw_thetas(params, key, DRAWS)
    fits = jax.vmap(log_density, in_axes=(0, None))(thetas, data)
    return jnp.mean(fits) + jnp.sum(params["diagonal"])


def fit(data, steps):
    """Params after `steps` steps of Adam, and the ELBO at each: one scan."""
    init, update, get_params = optimizers.adam(
        optimizers.inverse_time_decay(0.1, 100, 1.0), b2=0.95
    )
    first = {"center": jnp.zeros(2), "diagonal": jnp.zeros(2), "below": jnp.array(0.0)}

    def step(state, i):
        key = random.fold_in(random.key(1), i)
        value, grads = jax.value_and_grad(elbo)(get_params(state), key, data)
        return update(i, jax.tree.map(jnp.negative, grads), state), value

    state, history = lax.scan(step, init(first), jnp.arange(steps))
    return get_params(state), history


def on_grid(data, means, spreads):
    """The probability of each cell: float32[spreads, means]."""
    row = jax.vmap(log_joint, in_axes=(0, None, None))
    log_p = jax.vmap(row, in_axes=(None, 0, None))(means, spreads, data)
    return jnp.exp(log_p - jax.scipy.special.logsumexp(log_p))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--picture", metavar="FILE", help="draw the result there")
    options = parser.parse_args()

    data = 2.0 + 1.5 * random.normal(random.key(0), (20,))
    params, history = jax.jit(fit, static_argnums=1)(data, options.steps)
    print("ELBO:", " ".join(f"{value:.2f}" for value in history[:: max(1, options.steps // 5)]))

    means, spreads = jnp.linspace(0.0, 4.0, 160), jnp.linspace(0.6, 3.0, 160)
    cells = on_grid(data, means, spreads)
    exact = jnp.sum(cells.sum(axis=0) * means), jnp.sum(cells.sum(axis=1) * spreads)
    thetas = draw_thetas(params, random.key(2), 10_000)
    found = jnp.mean(thetas[:, 0]), jnp.mean(jnp.exp(thetas[:, 1]))
    for name, of_grid, of_fit in zip(("mean", "spread"), exact, found):
        print(f"the expected {name} is {of_grid:.3f}, and {of_fit:.3f} after ADVI")
    off = max(abs(float(a - b)) for a, b in zip(exact, found))
    print(f"result: both are within {off:.2f} of what is exact")
    if options.picture:
        draw(options.picture, cells, (means, spreads), thetas, history)


def draw(file, cells, axes, thetas, history):
    from picture import BLUE, ORANGE, plt, save

    means, spreads = axes
    figure, (plane, climb) = plt.subplots(1, 2, figsize=(9.2, 3.6))
    levels = cells.max() * jnp.array([0.05, 0.2, 0.4, 0.6, 0.8])
    plane.contour(means, spreads, cells, levels, colors=BLUE, linewidths=1)
    plane.plot(thetas[:200, 0], jnp.exp(thetas[:200, 1]), ".", color=ORANGE, markersize=3)
    plane.axis([means[0], means[-1], spreads[0], spreads[-1]])
    plane.set(title="The posterior (blue), and draws of ADVI's", xlabel="mean", ylabel="spread")
    climb.plot(np.arange(20, len(history), 4), history[20::4], linewidth=1)
    climb.set(title="Uphill", xlabel="step", ylabel="ELBO (from step 20)")
    save(figure, file)


if __name__ == "__main__":
    main()
