"""An ordinary differential equation, solved by `scan`, and fitted to data by `grad` through the solver.

Hares eat grass, lynxes eat hares (Lotka and Volterra): of h hares and l lynxes,

    dh/dt = a h - b h l        dl/dt = c h l - d l

We see both now and then, with noise, and look for the rates a, b, c, d. The solver is the method of Runge
and Kutta: one step as a function, and `lax.scan` to repeat it. The gradient goes through all its steps.
"""

import argparse

import jax
import jax.numpy as jnp
from jax import lax, random
from jax.example_libraries import optimizers

RATES = jnp.array([1.0, 0.2, 0.1, 0.6])  # a, b, c, d: what made the data
START = jnp.array([10.0, 2.0])
STEP, STEPS, EVERY = 0.1, 240, 8  # a step's time; how many; each eighth is observed


def change(rates, state):
    """How fast hares and lynxes become more."""
    a, b, c, d = rates
    hares, lynxes = state
    return jnp.array([a * hares - b * hares * lynxes, c * hares * lynxes - d * lynxes])


def runge_kutta(rates, state):
    """One step of the classic method of fourth order."""
    k1 = change(rates, state)
    k2 = change(rates, state + STEP / 2 * k1)
    k3 = change(rates, state + STEP / 2 * k2)
    k4 = change(rates, state + STEP * k3)
    return state + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@jax.jit
def solve(rates):
    """float32[STEPS, 2]: hares and lynxes after each step."""

    def step(state, _):
        state = runge_kutta(rates, state)
        return state, state

    return lax.scan(step, START, length=STEPS)[1]


def loss(log_rates, observed):
    """The mean square of what the logarithms differ by. That rates are positive comes from exp."""
    solved = solve(jnp.exp(log_rates))[EVERY - 1 :: EVERY]
    return jnp.mean((jnp.log(solved) - jnp.log(observed)) ** 2)


def conserved(rates, state):
    """A number that stays the same in the exact solution: its drift measures the solver."""
    a, b, c, d = rates
    hares, lynxes = state
    return c * hares - d * jnp.log(hares) + b * lynxes - a * jnp.log(lynxes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300, help="of the optimizer")
    parser.add_argument("--picture", metavar="FILE", help="draw the result there")
    options = parser.parse_args()

    exact = solve(RATES)
    kept = jax.vmap(conserved, in_axes=(None, 0))(RATES, exact)
    print(f"conserved: {kept[0]:.4f} after a step, {kept[-1]:.4f} after {STEPS}")
    noise = jnp.exp(0.08 * random.normal(random.key(0), (STEPS // EVERY, 2)))
    observed = exact[EVERY - 1 :: EVERY] * noise

    init, update, get_params = optimizers.adam(0.05)
    first = state = init(jnp.log(jnp.array([0.8, 0.15, 0.15, 0.8])))

    @jax.jit
    def step(i, state):
        value, gradient = jax.value_and_grad(loss)(get_params(state), observed)
        return update(i, gradient, state), value

    losses = []
    for i in range(options.steps):
        state, value = step(i, state)
        losses.append(float(value))
        if i % 100 == 0:
            print(f"step {i:3}: loss {value:.4f}")
    rates = jnp.exp(get_params(state))
    print("rates:", " ".join(f"{name} = {rate:.3f}" for name, rate in zip("abcd", rates)))
    off = float(jnp.max(jnp.abs(rates / RATES - 1)))
    print(f"result: all four rates are found within {off:.1%}")
    if options.picture:
        draw(options.picture, observed, solve(jnp.exp(get_params(first))), solve(rates))


def draw(file, observed, before, after):
    from picture import BLUE, GREEN, GREY, ORANGE, PINK, plt, save

    figure, (over_time, cycle) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=(3, 2))
    times = STEP * (jnp.arange(STEPS) + 1)
    seen = times[EVERY - 1 :: EVERY]
    for k, (name, color) in enumerate([("hares", BLUE), ("lynxes", ORANGE)]):
        over_time.plot(times, before[:, k], "--", color=color, linewidth=1)
        over_time.plot(times, after[:, k], color=color, label=name)
        over_time.plot(seen, observed[:, k], "o", color=color, markersize=4)
    title = "Hares and lynxes: seen, fitted, and before fitting (dashed)"
    over_time.set(title=title, xlabel="time", ylabel="animals")
    over_time.legend()
    cycle.plot(*before.T, "--", color=GREY, linewidth=1, label="before fitting")
    cycle.plot(*after.T, color=GREEN, label="fitted")
    cycle.plot(*observed.T, "o", color=PINK, markersize=4, label="seen")
    cycle.set(title="Each cycle is the same", xlabel="hares", ylabel="lynxes")
    cycle.legend()
    save(figure, file)


if __name__ == "__main__":
    main()
