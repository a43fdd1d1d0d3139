"""Random-walk Metropolis: many chains by vmap, time by scan, all draws from split keys."""

import jax
import jax.numpy as jnp
from jax import lax, random


def log_prob(x):
    """A banana."""
    return -0.5 * (x[0] ** 2 + (x[1] - 0.5 * x[0] ** 2) ** 2 / 0.25)


def metropolis_step(carry, key):
    x, accepted = carry
    propose_key, accept_key = random.split(key)
    proposal = x + 0.8 * random.normal(propose_key, x.shape)
    log_ratio = log_prob(proposal) - log_prob(x)
    accept = jnp.log(random.uniform(accept_key)) < log_ratio
    x = jnp.where(accept, proposal, x)
    return (x, accepted + accept), x


@jax.jit
def run_chain(key, start):
    keys = random.split(key, 500)
    (_, accepted), samples = lax.scan(metropolis_step, (start, 0), keys)
    return samples, accepted / len(keys)


chains = 64
start_key, run_key = random.split(random.PRNGKey(0))
starts = random.normal(start_key, (chains, 2))
samples, rates = jax.vmap(run_chain)(random.split(run_key, chains), starts)
print("samples", samples.shape, samples.dtype)
kept = samples[:, 100:].reshape(-1, 2)
print("mean", jnp.round(kept.mean(0), 2))
print("std ", jnp.round(kept.std(axis=0), 2))
print(f"acceptance rate {rates.mean():.2f}, least {rates.min():.2f}, most {rates.max():.2f}")
