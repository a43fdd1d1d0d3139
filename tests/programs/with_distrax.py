"""Distributions, bijectors, a hidden Markov model, and a flow of coupling layers that is trained."""

import distrax
import jax
import jax.numpy as jnp
import numpy as np


def show(name, *values):
    numbers = np.concatenate([np.ravel(np.asarray(v, np.float64)) for v in values])
    print(name, *(f"{number:.6g}" for number in numbers))


key = jax.random.PRNGKey(1234)
mu, sigma = jnp.array([-1.0, 0.0, 1.0]), jnp.array([0.1, 0.2, 0.3])
dist = distrax.MultivariateNormalDiag(mu, sigma)
samples = dist.sample(seed=key, sample_shape=(4,))
show("normal", samples, dist.log_prob(samples), dist.entropy(), dist.mean(), dist.mode())
draws, log_probs = distrax.Normal(0.5, 2.0).sample_and_log_prob(seed=key, sample_shape=(3,))
show("draws", draws, log_probs)
show("kl", distrax.Normal(0.0, 1.0).kl_divergence(distrax.Normal(1.0, 2.0)))

logits = jnp.array([0.5, -1.0, 2.0])
categorical = distrax.Categorical(logits=logits)
show("categorical", categorical.sample(seed=key, sample_shape=(6,)), categorical.entropy())
show("bernoulli", distrax.Bernoulli(probs=0.3).log_prob(jnp.array([0, 1])))
show("gamma", distrax.Gamma(2.0, 3.0).log_prob(jnp.array([0.5, 1.5])))
mixture = distrax.MixtureSameFamily(categorical, distrax.Normal(mu, sigma))
show("mixture", mixture.log_prob(jnp.array([0.1, 1.2])), mixture.mean())
tall = distrax.Independent(distrax.Laplace(jnp.zeros((2, 3)), 1.0), reinterpreted_batch_ndims=1)
show("independent", tall.log_prob(jnp.ones((2, 3))))

log_normal = distrax.Transformed(distrax.Normal(0.0, 1.0), distrax.Lambda(jnp.exp))
show("log normal", log_normal.log_prob(2.0), log_normal.sample(seed=key))
chain = distrax.Chain([distrax.Tanh(), distrax.ScalarAffine(0.5, 2.0)])
show("chain", *chain.forward_and_log_det(jnp.array([0.1, -0.4])))

hmm = distrax.HMM(
    init_dist=distrax.Categorical(probs=jnp.array([0.6, 0.4])),
    trans_dist=distrax.Categorical(probs=jnp.array([[0.9, 0.1], [0.3, 0.7]])),
    obs_dist=distrax.Normal(jnp.array([-1.0, 2.0]), jnp.array([1.0, 0.5])),
)
show("hmm", *hmm.forward(jnp.array([0.0, 1.5, 2.5, -1.0]))[::2])


def flow(params):
    layers = []
    for i, (w, b) in enumerate(params):
        mask = jnp.arange(4) % 2 == i % 2

        def conditioner(x, w=w, b=b):
            return jnp.tanh(x @ w + b)

        def bijector(theta):
            shift, log_scale = jnp.split(theta, 2, axis=-1)
            return distrax.ScalarAffine(shift=shift, log_scale=log_scale)

        layers.append(distrax.MaskedCoupling(mask, conditioner, bijector))
    base = distrax.MultivariateNormalDiag(jnp.zeros(4), jnp.ones(4))
    return distrax.Transformed(base, distrax.Inverse(distrax.Chain(layers)))


keys = jax.random.split(key, 3)
params = [(0.5 * jax.random.normal(k, (4, 8)), jnp.zeros(8)) for k in keys]
data = jnp.sin(jnp.arange(24.0)).reshape(6, 4)
loss = jax.jit(jax.value_and_grad(lambda p: -flow(p).log_prob(data).mean()))
for _ in range(5):
    value, grads = loss(params)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    show("flow loss", value, *(jnp.linalg.norm(g) for g in jax.tree.leaves(grads)))
show("flow sample", flow(params).sample(seed=key))
