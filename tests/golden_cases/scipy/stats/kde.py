"""Recorded cases of gaussian_kde of jax.scipy.stats."""

import importlib

from golden_cases.codec import Group


def names(jax, jnp, lax):
    gaussian_kde = importlib.import_module(f"{jax.__name__}.scipy.stats").gaussian_kde
    line = jnp.array([1.0, 2, 2.5, 4, 7])
    plane = jnp.array([[1.0, 2, 2.5, 4, 7], [0, 1, -1, 3, 2]])
    return {
        "gaussian_kde": gaussian_kde,
        "line": line,
        "plane": plane,
        "kde": gaussian_kde(line),
        "kde2": gaussian_kde(plane, weights=jnp.array([1.0, 2, 1, 1, 3])),
        "spots": jnp.array([[0.0, 3, 10], [1, 1, 1]]),
    }


CALLS = [
    "[kde.d, kde.n, kde2.d, kde2.n]",
    "kde.neff, kde.dataset, kde.weights, kde.covariance, kde.inv_cov",
    "kde2.neff, kde2.dataset, kde2.weights, kde2.covariance, kde2.inv_cov",
    *[
        f"gaussian_kde(line, {bw}).covariance"
        for bw in ("'scott'", "'silverman'", "0.5", "lambda kde: 2 / kde.n")
    ],
    "kde(v)",
    "kde.evaluate(f32(2.5))",
    "kde.pdf(f32([[1, 50]]))",
    "kde.logpdf(f32([1, 50]))",
    "kde2(spots)",
    "kde2(spots[:, 0])",
    "kde2.logpdf(spots)",
    "gaussian_kde(i32([1, 2, 4]))(2)",
    "kde.integrate_gaussian(1.0, 2.0)",
    "kde2.integrate_gaussian(f32([1, 0]), jnp.eye(2))",
    "kde.integrate_box_1d(1.0, 3.0)",
    "kde.integrate_kde(gaussian_kde(v))",
    "kde2.integrate_kde(gaussian_kde(plane))",
    "kde.resample(jax.random.key(0), (4,))",
    "jax.jit(lambda kde, x: kde(x))(kde, v)",
    "jax.grad(lambda x: kde(x).sum())(v)",
    "jax.grad(lambda data: gaussian_kde(data).logpdf(v).sum())(line)",
]

GROUPS = [Group("kde", CALLS, ulps=64, scaled=True)]

ERRORS = {
    "kde": [
        ("gaussian_kde(f32([1]))", ["dataset", "multiple elements"]),
        ("gaussian_kde([1.0, 2.0])", ["list"]),
        ("gaussian_kde(line + 1j)", ["complex"]),
        ("gaussian_kde(line, weights=v)", ["weights", "length"]),
        ("gaussian_kde(line, weights=plane)", ["weights", "one-dimensional"]),
        ("gaussian_kde(line, 'wide')", ["bw_method"]),
        ("kde2(v)", ["dimension 1", "dimension 2"]),
        ("kde2.integrate_gaussian(v, jnp.eye(2))", ["mean", "2"]),
        ("kde2.integrate_gaussian(v[:2], jnp.eye(3))", ["covariance", "2"]),
        ("kde2.integrate_box_1d(0.0, 1.0)", ["1D"]),
        ("kde.integrate_box_1d(v, 1.0)", ["scalar"]),
        ("kde.integrate_kde(kde2)", ["dimension"]),
        ("kde.integrate_box(0.0, 1.0)", ["1D"]),
        ("kde.set_bandwidth(1.0)", ["bandwidth"]),
    ],
}
