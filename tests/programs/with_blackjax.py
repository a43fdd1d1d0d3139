"""NUTS and HMC of its README, window adaptation, and a random walk."""

import blackjax
import jax
import jax.numpy as jnp
import jax.scipy.stats as stats
import numpy as np


def show(name, *values):
    numbers = np.concatenate([np.ravel(np.asarray(v, np.float64)) for v in values])
    print(name, *(f"{number:.6g}" for number in numbers))


observed = np.random.default_rng(0).normal(10, 2, size=50)


def logdensity_fn(x):
    logpdf = stats.norm.logpdf(observed, x["loc"], jnp.exp(x["log_scale"]))
    return jnp.sum(logpdf)


def sample(kernel, state, key, count):
    @jax.jit
    def one_step(state, key):
        state, info = kernel(key, state)
        return state, (state, info)

    return jax.lax.scan(one_step, state, jax.random.split(key, count))[1]


start = {"loc": jnp.array(9.0), "log_scale": jnp.array(0.5)}
nuts = blackjax.nuts(logdensity_fn, step_size=0.05, inverse_mass_matrix=jnp.array([0.5, 0.01]))
states, info = sample(nuts.step, nuts.init(start), jax.random.key(0), 10)
show("nuts loc", states.position["loc"])
show("nuts log_scale", states.position["log_scale"])
show("nuts density", states.logdensity)
show("nuts steps", info.num_integration_steps)

hmc = blackjax.hmc(
    logdensity_fn,
    step_size=0.1,
    inverse_mass_matrix=jnp.array([0.1, 0.02]),
    num_integration_steps=10,
)
states, info = sample(hmc.step, hmc.init(start), jax.random.key(1), 10)
show("hmc loc", states.position["loc"])
show("hmc acceptance", info.acceptance_rate)

warmup = blackjax.window_adaptation(blackjax.nuts, logdensity_fn)
(state, parameters), _ = warmup.run(jax.random.key(2), start, num_steps=10)
show("adapted", state.position["loc"], parameters["step_size"])
show("mass", parameters["inverse_mass_matrix"])

walk = blackjax.additive_step_random_walk(
    logdensity_fn, blackjax.mcmc.random_walk.normal(jnp.array([0.1, 0.1]))
)
states, _ = sample(walk.step, walk.init(start), jax.random.key(3), 10)
show("walk", states.position["loc"])
