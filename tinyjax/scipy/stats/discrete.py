"""Distributions of integers: `jax.scipy.stats.poisson`, `binom`, ...

Each class becomes the module of its name, to which `distribution` adds `pmf`.
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.scipy.special.entropies import xlog1py, xlogy
from tinyjax.scipy.special.gamma_family import betaln, gammaincc, gammaln
from tinyjax.scipy.stats.declarations import distribution, promoted


@distribution("https://en.wikipedia.org/wiki/Bernoulli_distribution")
class bernoulli:
    """Bernoulli's distribution: 1 with probability p, else 0."""

    @promoted
    def logpmf(k: Any, p: Any, loc: Any = 0) -> Array:
        """log(p) for k - loc = 1, log(1 - p) for 0, in proportion between; -inf outside."""
        x = k - loc
        inside = xlogy(x, p) + xlog1py(1 - x, -p)
        return jnp.where((x < 0) | (x > 1), -np.inf, inside)

    @promoted
    def cdf(k: Any, p: Any) -> Array:
        """The probability of at most k; NaN for p outside of [0, 1]."""
        within = jnp.where(k < 0, 0, jnp.where(k < 1, 1 - p, 1))
        return jnp.where(jnp.isnan(k) | jnp.isnan(p) | (p < 0) | (p > 1), np.nan, within)

    @promoted
    def ppf(q: Any, p: Any) -> Array:
        """The least k with cdf(k) >= q; NaN for q or p outside of [0, 1]."""
        wrong = jnp.isnan(q) | jnp.isnan(p) | (p < 0) | (p > 1) | (q < 0) | (q > 1)
        return jnp.where(wrong, np.nan, (q > 1 - p).astype(q.dtype))


@distribution("https://en.wikipedia.org/wiki/Binomial_distribution")
class binom:
    """The binomial distribution: successes in n tries of probability p."""

    @promoted
    def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Array:
        """log of n over y, times p**y (1 - p)**(n - y), for y = k - loc; -inf outside of 0 to n."""
        y = k - loc
        ways = gammaln(n + 1) - gammaln(y + 1) - gammaln(n - y + 1)
        inside = ways + xlogy(y, p) + xlog1py(n - y, -p)
        return jnp.where((y >= 0) & (y < n + 1), inside, -np.inf)


@distribution("https://en.wikipedia.org/wiki/Negative_binomial_distribution")
class nbinom:
    """The negative binomial distribution: failures before n successes of probability p."""

    @promoted
    def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Array:
        """log of (y + n - 1) over y, times p**n (1 - p)**y, for y = k - loc; -inf before 0."""
        y = k - loc
        ways = gammaln(y + n) - gammaln(n) - gammaln(y + 1)
        return jnp.where(y < 0, -np.inf, ways + n * jnp.log(p) + xlog1py(y, -p))


@distribution("https://en.wikipedia.org/wiki/Beta-binomial_distribution")
class betabinom:
    """Binomial, of a probability drawn from beta(a, b)."""

    @promoted
    def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Array:
        """log of n over y, times B(y + a, n - y + b) / B(a, b), for y = k - loc.

        -inf outside of 0 to n; NaN where n, a or b is negative."""
        y = jnp.floor(k) - loc
        ways = -jnp.log1p(n) - betaln(n - y + 1, y + 1)
        inside = ways + betaln(y + a, n - y + b) - betaln(a, b)
        within = jnp.where((y < 0) | (y > n), -np.inf, inside)
        return jnp.where((n < 0) | (a < 0) | (b < 0), np.nan, within)


@distribution("https://en.wikipedia.org/wiki/Geometric_distribution")
class geom:
    """The geometric distribution: tries until the first success of probability p."""

    @promoted
    def logpmf(k: Any, p: Any, loc: Any = 0) -> Array:
        """(y - 1) log(1 - p) + log(p), for y = k - loc; -inf before 1."""
        y = k - loc
        return jnp.where(y <= 0, -np.inf, xlog1py(y - 1, -p) + jnp.log(p))


@distribution("https://en.wikipedia.org/wiki/Poisson_distribution")
class poisson:
    """Poisson's distribution of mean mu."""

    @promoted
    def logpmf(k: Any, mu: Any, loc: Any = 0) -> Array:
        """y log(mu) - mu - log(y!), for y = k - loc; -inf before 0 and between integers."""
        y = k - loc
        inside = xlogy(y, mu) - gammaln(y + 1) - mu
        return jnp.where((y < 0) | (y != jnp.round(y)), -np.inf, inside)

    @promoted
    def cdf(k: Any, mu: Any, loc: Any = 0) -> Array:
        """The probability of at most k."""
        y = k - loc
        return jnp.where(y < 0, 0, gammaincc(jnp.floor(y + 1), mu))

    def entropy(mu: Any, loc: Any = 0) -> Array:
        """-sum of pmf logpmf over all k, in nats; NaN for negative mu. `loc` moves k, and changes nothing.

        From mu = 30 on by an asymptotic series, of which these terms suffice for float32.
        Source: R. J. Evans, J. Boersma, "The Entropy of a Poisson Distribution", SIAM Review 30, 1988."""
        mu, loc = promote_args_inexact("poisson.entropy", mu, loc)
        few = jnp.where(mu < 30, mu, 1)
        k = jnp.arange(150, dtype=mu.dtype)  # 20 standard deviations above the mean
        log_p = xlogy(k, few[..., None]) - gammaln(k + 1) - few[..., None]
        p = jnp.exp(log_p)
        summed = -jnp.sum(jnp.where(p > 0, p * log_p, 0), axis=-1)
        many = jnp.where(mu < 30, 30, mu)
        series = 1 / (12 * many) + 1 / (24 * many**2) + 19 / (360 * many**3)
        asymptotic = 0.5 * jnp.log(2 * np.pi * np.e * many) - series
        return jnp.where(mu >= 0, jnp.where(mu < 30, summed, asymptotic), np.nan)
