"""`jax.scipy.special`: special functions, with SciPy's names. All but logsumexp are imported when asked for.

Source: https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.special
"""

from tinyjax.core.missing_names import getattr_of
from tinyjax.numpy.log_sums import logsumexp as logsumexp

_LAZY_NAMES = {
    "bessel": ("bessel_jn", "i0", "i0e", "i1", "i1e"),
    "entropies": (
        *("boxcox", "boxcox1p", "entr", "expit", "kl_div", "logit", "rel_entr", "xlog1py", "xlogy"),
    ),
    "gamma_family": (
        *("bernoulli", "beta", "betainc", "betaln", "comb", "digamma", "factorial", "gamma"),
        *("gammainc", "gammaincc", "gammaln", "gammasgn", "loggamma", "multigammaln", "poch"),
        *("polygamma", "zeta"),
    ),
    "hypergeometric": ("hyp1f1", "hyp2f1"),
    "integrals": (
        *("dawsn", "erfcx", "exp1", "expi", "expn", "fresnel", "owens_t", "sici", "spence", "wofz"),
    ),
    "log_sums": ("log_softmax", "softmax"),
    "normal_distribution": ("erf", "erfc", "erfcinv", "erfinv", "log_ndtr", "ndtr", "ndtri"),
    "spherical_harmonics": ("sph_harm_y",),
}

__getattr__ = getattr_of(__name__)
