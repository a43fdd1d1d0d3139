"""REINFORCE on a corridor: scan plays an episode, vmap many at once, grad of the log-probabilities."""

import jax
import jax.numpy as jnp
from jax import lax, random

LENGTH, HORIZON, EPISODES = 7, 20, 64


def logits(params, state):
    return params[state]


def play(params, key):
    """Start in the middle; the right end pays 1, the left 0.2; each step costs a little."""

    def step(carry, key):
        state, done = carry
        action = random.categorical(key, logits(params, state))
        log_p = jax.nn.log_softmax(logits(params, state))[action]
        following = jnp.clip(state + 2 * action - 1, 0, LENGTH - 1)
        reward = jnp.select([following == LENGTH - 1, following == 0], [1.0, 0.2], -0.02)
        reward = jnp.where(done, 0.0, reward)
        log_p = jnp.where(done, 0.0, log_p)
        done = done | (following == 0) | (following == LENGTH - 1)
        return (following, done), (log_p, reward)

    _, (log_ps, rewards) = lax.scan(step, (LENGTH // 2, False), random.split(key, HORIZON))
    return log_ps.sum(), rewards.sum()


def surrogate(params, key):
    log_ps, returns = jax.vmap(play, (None, 0))(params, random.split(key, EPISODES))
    advantages = lax.stop_gradient(returns - returns.mean())
    return jnp.mean(log_ps * advantages), returns.mean()


@jax.jit
def improve(params, key):
    grads, mean_return = jax.grad(surrogate, has_aux=True)(params, key)
    return params + 1.0 * grads, mean_return


params = jnp.zeros((LENGTH, 2))
for i, key in enumerate(random.split(random.PRNGKey(0), 101)):
    params, mean_return = improve(params, key)
    if i % 25 == 0:
        print(f"iteration {i:3d}: return {mean_return:.3f}")
print("goes right:", jax.nn.softmax(params)[1:-1, 1].round(2))
