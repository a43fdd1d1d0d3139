"""A regression sampled with NUTS, and the same posterior by SVI; prior samples; a sparse CAR."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, log_likelihood
from numpyro.infer.autoguide import AutoNormal
from scipy import sparse


def show(name, *values):
    numbers = np.concatenate([np.ravel(np.asarray(v, np.float64)) for v in values])
    print(name, *(f"{number:.6g}" for number in numbers))


def schools(sigma, y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("J", 8):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("obs", dist.Normal(theta, sigma), obs=y)


y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
sigma = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
drawn = Predictive(schools, num_samples=3)(jax.random.key(5), sigma)
show("prior", drawn["mu"], drawn["tau"], drawn["obs"][0])


def regression(x, y=None):
    slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    noise = numpyro.sample("noise", dist.Exponential(1.0))
    numpyro.sample("y", dist.Normal(offset + slope * x, noise), obs=y)


x = jnp.linspace(-1, 1, 20)
y = 0.7 * x - 0.3 + 0.2 * jax.random.normal(jax.random.key(1), (20,))
mcmc = MCMC(NUTS(regression), num_warmup=20, num_samples=20, progress_bar=False)
mcmc.run(jax.random.key(2), x, y, extra_fields=("num_steps", "potential_energy"))
samples = mcmc.get_samples()
for name in ("slope", "offset", "noise"):
    show(name, samples[name][:3], samples[name].mean(), samples[name].std())
show("steps", mcmc.get_extra_fields()["num_steps"])
show("likelihood", log_likelihood(regression, samples, x, y)["y"].sum(1)[:3])

guide = AutoNormal(regression)
svi = SVI(regression, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
result = svi.run(jax.random.key(3), 50, x, y, progress_bar=False)
show("losses", result.losses[::10])
show("guide", *(result.params[name] for name in sorted(result.params)))
show("median", *(value for _, value in sorted(guide.median(result.params).items())))

ring = sparse.csr_matrix(np.roll(np.eye(5), 1, 0) + np.roll(np.eye(5), -1, 0))
car = dist.CAR(jnp.zeros(5), 0.5, 2.0, ring, is_sparse=True)
show("neighbours", car.log_prob(jnp.arange(5.0)))
