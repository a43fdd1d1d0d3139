"""Distributions of real numbers: `jax.scipy.stats.norm`, `gamma`, `beta`, ...

Each class becomes the module of its name, to which `distribution` adds `pdf`.
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.nn.activations import log1mexp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.scipy.special.bessel import i0e
from tinyjax.scipy.special.entropies import expit, logit, xlog1py, xlogy
from tinyjax.scipy.special.gamma_family import betainc, betaln, gammainc, gammaincc, gammaln
from tinyjax.scipy.special.normal_distribution import log_ndtr, ndtr, ndtri
from tinyjax.scipy.stats.declarations import distribution, exp_of, log_of, mirrored, promoted


@distribution("https://en.wikipedia.org/wiki/Normal_distribution")
class norm:
    """The normal distribution."""

    @promoted
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """-((x - loc)**2 / scale**2 + log(2 pi scale**2)) / 2."""
        variance = jnp.square(scale)
        normalizer = jnp.log(2 * np.pi * variance)
        return -(normalizer + jnp.square(x - loc) / variance) / 2

    @promoted
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The probability of at most x."""
        return ndtr((x - loc) / scale)

    @promoted
    def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """log of cdf, exact far to the left."""
        return log_ndtr((x - loc) / scale)

    def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The x with cdf(x) = q; NaN for q outside of [0, 1]."""
        return ndtri(promote_args_inexact("norm.ppf", q)[0]) * scale + loc

    def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The x with sf(x) = q."""
        q, loc, scale = promote_args_inexact("norm.isf", q, loc, scale)
        return -norm.ppf(q, -loc, scale)

    sf = mirrored(cdf)
    logsf = mirrored(logcdf)


@distribution("https://en.wikipedia.org/wiki/Continuous_uniform_distribution")
class uniform:
    """The uniform distribution on [loc, loc + scale]."""

    @promoted
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """-log(scale) inside, both ends included; -inf outside."""
        part = (x - loc) / scale
        inside = jnp.where((part >= 0) & (part <= 1), -jnp.log(scale), np.nan)
        return jnp.where((part < 0) | (part > 1), -np.inf, inside)

    @promoted
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The probability of at most x."""
        return jnp.clip((x - loc) / scale, 0, 1)

    @promoted
    def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The x with cdf(x) = q; NaN for q outside of [0, 1]."""
        return jnp.where((q < 0) | (q > 1), np.nan, loc + scale * q)


@distribution("https://en.wikipedia.org/wiki/Exponential_distribution")
class expon:
    """The exponential distribution of mean scale, from loc on."""

    @promoted
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """-(x - loc) / scale - log(scale) from loc on; -inf before."""
        return jnp.where(x < loc, -np.inf, -((x - loc) / scale + jnp.log(scale)))

    @promoted
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The probability of at most x: 1 - exp(-y)."""
        return jnp.where(x < loc, 0, -jnp.expm1((loc - x) / scale))

    @promoted
    def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """log of cdf."""
        return jnp.where(x < loc, -np.inf, log1mexp((x - loc) / scale))

    @promoted
    def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """log of sf: -(x - loc) / scale."""
        return jnp.where(x < loc, 0, (loc - x) / scale)

    @promoted
    def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The x with cdf(x) = q; NaN for q outside of [0, 1]."""
        return jnp.where((q < 0) | (q > 1), np.nan, loc - scale * jnp.log1p(-q))

    sf = exp_of(logsf)


@distribution("https://en.wikipedia.org/wiki/Laplace_distribution")
class laplace:
    """Laplace's distribution, exponential to both sides."""

    @promoted
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """-abs(x - loc) / scale - log(2 scale)."""
        return -(abs(x - loc) / scale + jnp.log(2 * scale))

    @promoted
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The probability of at most x."""
        y = (x - loc) / scale
        tail = 0.5 * jnp.exp(-abs(y))  # can't overflow in the branch that is not taken, either
        return jnp.where(y < 0, tail, 1 - tail)


@distribution("https://en.wikipedia.org/wiki/Cauchy_distribution")
class cauchy:
    """Cauchy's distribution, which has no mean."""

    @promoted
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """-log(pi scale (1 + y**2)), for y = (x - loc) / scale."""
        y = (x - loc) / scale
        return -(jnp.log(np.pi * scale) + jnp.log1p(y * y))

    @promoted
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The probability of at most x: 1/2 + arctan(y) / pi."""
        return 0.5 + 1 / np.pi * jnp.arctan((x - loc) / scale)

    @promoted
    def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The x with cdf(x) = q: -1 / tan(pi q), or by symmetry for q > 1/2, so that tan is exact at both
        ends; NaN for q outside of [0, 1]."""
        is_upper = q > 0.5
        angle = np.pi * jnp.where(is_upper, 1 - q, abs(q))
        y = jnp.where(q == 0.5, 0, jnp.where(is_upper, 1.0, -1.0) / jnp.tan(angle))
        return jnp.where((q < 0) | (q > 1), np.nan, y * scale + loc)

    @promoted
    def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The x with sf(x) = q."""
        return -cauchy.ppf(q, -loc, scale)

    logcdf = log_of(cdf)
    sf = mirrored(cdf)
    logsf = mirrored(logcdf)


@distribution("https://en.wikipedia.org/wiki/Logistic_distribution")
class logistic:
    """The logistic distribution, whose cdf is the sigmoid."""

    @promoted
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """-2 log(exp(y / 2) + exp(-y / 2)) - log(scale), for y = (x - loc) / scale."""
        half = (x - loc) / scale / 2
        return -2 * jnp.logaddexp(half, -half) - jnp.log(scale)

    @promoted
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The probability of at most x."""
        return expit((x - loc) / scale)

    @promoted
    def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The probability of more than x."""
        return expit(-((x - loc) / scale))

    @promoted
    def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The value whose cdf is x."""
        return logit(x) * scale + loc

    @promoted
    def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The value whose sf is x."""
        return -logit(x) * scale + loc


@distribution("https://en.wikipedia.org/wiki/Gumbel_distribution")
class gumbel_r:
    """Gumbel's distribution of the largest of many values, skewed to the right."""

    @promoted
    def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """-y - exp(-y) - log(scale), for y = (x - loc) / scale; NaN where scale is not positive."""
        y = (x - loc) / scale
        return jnp.where(scale > 0, -(y + jnp.exp(-y)) - jnp.log(scale), np.nan)

    @promoted
    def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The probability of at most x: exp(-exp(-y))."""
        y = (x - loc) / scale
        return jnp.where(scale > 0, jnp.exp(-jnp.exp(-y)), np.nan)

    @promoted
    def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """log of cdf."""
        y = (x - loc) / scale
        return jnp.where(scale > 0, -jnp.exp(-y), np.nan)

    @promoted
    def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The probability of more than x."""
        y = (x - loc) / scale
        return jnp.where(scale > 0, -jnp.expm1(-jnp.exp(-y)), np.nan)

    @promoted
    def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """log of sf."""
        y = (x - loc) / scale
        return jnp.where(scale > 0, log1mexp(jnp.exp(-y)), np.nan)

    @promoted
    def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The x with cdf(x) = p; NaN where p is outside of (0, 1)."""
        return jnp.where((p > 0) & (p < 1), loc - scale * jnp.log(-jnp.log(p)), np.nan)


@distribution("https://en.wikipedia.org/wiki/Gumbel_distribution")
class gumbel_l:
    """Gumbel's distribution of the smallest of many values, skewed to the left: that of -x is gumbel_r."""

    logpdf = mirrored(gumbel_r.logpdf, "gumbel_r.")
    cdf, logcdf = mirrored(gumbel_r.sf, "gumbel_r."), mirrored(gumbel_r.logsf, "gumbel_r.")
    sf, logsf = mirrored(gumbel_r.cdf, "gumbel_r."), mirrored(gumbel_r.logcdf, "gumbel_r.")

    @promoted
    def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The x with cdf(x) = p; NaN where p is outside of (0, 1)."""
        return jnp.where((p > 0) & (p < 1), loc + scale * jnp.log(-jnp.log1p(-p)), np.nan)


@distribution("https://en.wikipedia.org/wiki/Pareto_distribution")
class pareto:
    """Pareto's distribution, a power law from loc + scale on."""

    @promoted
    def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """log(b / scale) - (b + 1) log(y) for y = (x - loc) / scale >= 1; -inf before."""
        y = (x - loc) / scale
        return jnp.where(y < 1, -np.inf, jnp.log(b / scale) - (b + 1) * jnp.log(y))

    @promoted
    def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The probability of at most x: 1 - y**-b."""
        y = (x - loc) / scale
        return jnp.where(y < 1, 0, 1 - jnp.power(y, -b))

    @promoted
    def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """log of cdf."""
        y = (x - loc) / scale
        return jnp.where(y < 1, -np.inf, jnp.log1p(-jnp.power(y, -b)))

    @promoted
    def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """log of sf: -b log(y)."""
        y = (x - loc) / scale
        return jnp.where(y < 1, 0, -b * jnp.log(y))

    @promoted
    def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The x with cdf(x) = q; NaN for q outside of [0, 1]."""
        return jnp.where((q < 0) | (q > 1), np.nan, loc + scale * jnp.power(1 - q, -1 / b))

    sf = exp_of(logsf)


@distribution("https://en.wikipedia.org/wiki/Gamma_distribution")
class gamma:
    """The gamma distribution of shape a."""

    @promoted
    def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """(a - 1) log(y) - y - log(gamma(a)) - log(scale), for y = (x - loc) / scale; -inf before loc."""
        y = (x - loc) / scale
        inside = xlogy(a - 1, jnp.where(x < loc, 1, y)) - y - gammaln(a) - jnp.log(scale)
        return jnp.where(x >= loc, inside, -np.inf)

    @promoted
    def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The probability of at most x: the regularized incomplete gamma function."""
        return gammainc(a, jnp.where(x <= loc, 0, (x - loc) / scale))

    @promoted
    def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The probability of more than x."""
        return gammaincc(a, jnp.where(x <= loc, 0, (x - loc) / scale))

    logcdf = log_of(cdf)
    logsf = log_of(sf)


@distribution("https://en.wikipedia.org/wiki/Chi-squared_distribution")
class chi2:
    """The chi-squared distribution of df degrees of freedom."""

    @promoted
    def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """(k - 1) log(y) - y - log(gamma(k)) - log(2 scale), for k = df / 2, y = (x - loc) / scale / 2."""
        return gamma.logpdf(x, df / 2, loc, 2 * scale)

    @promoted
    def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The probability of at most x."""
        return gamma.cdf(x, df / 2, loc, 2 * scale)

    @promoted
    def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The probability of more than x."""
        return gamma.sf(x, df / 2, loc, 2 * scale)

    logcdf = log_of(cdf)
    logsf = log_of(sf)


def _clipped(y: Any) -> Any:
    """y in [0, 1]. Unlike those of clip, derivatives are 0 where what follows has infinite ones."""
    return jnp.where(y <= 0, 0, jnp.where(y >= 1, 1, y))


@distribution("https://en.wikipedia.org/wiki/Beta_distribution")
class beta:
    """The beta distribution on [loc, loc + scale]."""

    @promoted
    def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """(a - 1) log(y) + (b - 1) log(1 - y) - log(B(a, b)) - log(scale), for y = (x - loc) / scale."""
        y = (x - loc) / scale
        inside = xlogy(a - 1, y) + xlog1py(b - 1, -y) - betaln(a, b) - jnp.log(scale)
        outside = (x > loc + scale) | (x < loc)
        return jnp.where(outside, -np.inf, inside)

    @promoted
    def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The probability of at most x: the regularized incomplete beta function."""
        return betainc(a, b, _clipped((x - loc) / scale))

    @promoted
    def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The probability of more than x: that of at most 1 - y, with a and b exchanged."""
        return betainc(b, a, 1 - _clipped((x - loc) / scale))

    logcdf = log_of(cdf)
    logsf = log_of(sf)


@distribution("https://en.wikipedia.org/wiki/Student's_t-distribution")
class t:
    """Student's distribution of df degrees of freedom."""

    @promoted
    def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """log of (1 + y**2 / df)**-(df + 1) / 2, less its normalizer, for y = (x - loc) / scale."""
        y = (x - loc) / scale
        half = (df + 1) / 2
        normalizer = gammaln(df / 2) - gammaln(half) + 0.5 * jnp.log(df * np.pi * jnp.square(scale))
        return -(normalizer + half * jnp.log1p(y * y / df))


@distribution("https://en.wikipedia.org/wiki/Generalized_normal_distribution")
class gennorm:
    """The generalized normal distribution: Laplace for beta 1, normal for beta 2."""

    @promoted
    def logpdf(x: Any, beta: Any) -> Array:
        """log(beta / 2) - log(gamma(1 / beta)) - abs(x)**beta."""
        return jnp.log(0.5 * beta) - gammaln(1 / beta) - abs(x) ** beta

    @promoted
    def cdf(x: Any, beta: Any) -> Array:
        """The probability of at most x."""
        return 0.5 * (1 + jnp.sign(x) * gammainc(1 / beta, abs(x) ** beta))


@distribution("https://en.wikipedia.org/wiki/Von_Mises_distribution")
class vonmises:
    """Von Mises' distribution of an angle x."""

    @promoted
    def logpdf(x: Any, kappa: Any) -> Array:
        """kappa (cos(x) - 1) - log(2 pi i0e(kappa)); NaN where kappa is negative."""
        inside = kappa * (jnp.cos(x) - 1) - jnp.log(2 * np.pi * i0e(kappa))
        return jnp.where(kappa >= 0, inside, np.nan)


@distribution("https://en.wikipedia.org/wiki/Wrapped_Cauchy_distribution")
class wrapcauchy:
    """Cauchy's distribution, wrapped around the circle: of an angle x in [0, 2 pi]."""

    @promoted
    def logpdf(x: Any, c: Any) -> Array:
        """log((1 - c**2) / (2 pi (1 + c**2 - 2 c cos(x)))); NaN for c outside of (0, 1)."""
        square = c * c
        inside = jnp.log(1 - square) - jnp.log(2 * np.pi) - jnp.log(1 + square - 2 * c * jnp.cos(x))
        within = jnp.where((x >= 0) & (x <= 2 * np.pi), inside, -np.inf)
        return jnp.where((c > 0) & (c < 1), within, np.nan)


def _log_difference(x: Any, y: Any) -> Any:
    """log(exp(x) - exp(y)) for x >= y."""
    return x + log1mexp(x - y)


def _log_mass(a: Any, b: Any) -> Any:
    """log of the normal probability of [a, b]. Where both ends are in one tail, it is that tail's."""
    in_right_tail = a > 0
    low, high = jnp.where(in_right_tail, -b, a), jnp.where(in_right_tail, -a, b)
    in_left_tail = high <= 0
    # Elsewhere any numbers do whose derivatives are finite.
    ends = jnp.where(in_left_tail, high, 0), jnp.where(in_left_tail, low, -1)
    tail = _log_difference(*(log_ndtr(end) for end in ends))
    around_zero = jnp.log1p(-ndtr(low) - ndtr(-high))
    return jnp.where(in_left_tail, tail, around_zero)


@distribution("https://en.wikipedia.org/wiki/Truncated_normal_distribution")
class truncnorm:
    """The normal distribution of (x - loc) / scale, cut to [a, b]."""

    @promoted
    def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """The normal logpdf less log of the probability of [a, b]; NaN where a >= b."""
        y = (x - loc) / scale
        inside = norm.logpdf(y) - (_log_mass(a, b) + jnp.log(scale))
        within = jnp.where((y < a) | (y > b), -np.inf, inside)
        return jnp.where(a < b, within, np.nan)

    @promoted
    def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """log of cdf: where that is near 1, by the probability of what is left."""
        y = (x - loc) / scale
        outside = (y <= a) | (y >= b)
        # Outside any three numbers do whose derivatives are finite.
        low, place, high = (jnp.where(outside, n, x) for n, x in ((-1, a), (0, y), (1, b)))
        total = _log_mass(low, high)
        below, above = _log_mass(low, place) - total, _log_mass(place, high) - total
        inside = jnp.where(below > -0.1, log1mexp(-above), below)
        within = jnp.where(y <= a, -np.inf, jnp.where(y >= b, 0, inside))
        return jnp.where(a < b, within, np.nan)

    @promoted
    def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
        """log of sf: by symmetry logcdf of the other side."""
        return truncnorm.logcdf(-x, -b, -a, -loc, scale)

    cdf = exp_of(logcdf)
    sf = exp_of(logsf)
