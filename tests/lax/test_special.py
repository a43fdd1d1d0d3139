"""jax.scipy.special and the primitives that SciPy computes. Values are compared with recorded ones too."""

import functools
import subprocess
import sys

import numpy as np
import pytest
from scipy import special as scipy_special
from scipy import stats

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.lax import incomplete_gamma
from tinyjax.scipy import special


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


POSITIVE = np.array([0.01, 0.4, 1.0, 1.7, 3.2, 9.0, 40.0])
OTHER = np.array([0.3, 2.5, 1.0, 0.02, 4.1, 7.0, 55.0])


@pytest.mark.parametrize("name", ["betaln", "beta", "gammainc", "gammaincc", "poch", "rel_entr"])
def test_functions_of_two_agree_with_scipy(name, x64):
    got = getattr(special, name)(POSITIVE, OTHER)
    np.testing.assert_allclose(got, getattr(scipy_special, name)(POSITIVE, OTHER), rtol=1e-11)


def test_betaln_of_large_numbers_keeps_its_digits(x64):
    """lgamma(a) + lgamma(b) - lgamma(a + b) would have lost half of them; by mpmath, with 40 digits."""
    a, b = np.array([1e-3, 200.0, 1e6, 1e8]), np.array([1e6, 1e7, 1e6, 1e15])
    expected = [6.893363375325389, -2365.6874503525733, -1386300.003362921, -1711809578.3872335]
    np.testing.assert_allclose(special.betaln(a, b), expected, rtol=1e-14)


def test_log_ndtr_keeps_its_digits_on_both_sides():
    """log(ndtr(x)) would be 0 from 6 on, as ndtr(x) is 1 then."""
    x = np.linspace(-40, 12, 53, dtype=np.float32)
    expected = scipy_special.log_ndtr(x.astype(np.float64))
    np.testing.assert_allclose(special.log_ndtr(x), expected, rtol=2e-5)


def test_poch_is_finite_where_gamma_overflows():
    np.testing.assert_allclose(
        special.poch(40.0, jnp.array([1.0, 2.0])), [40.0, 40.0 * 41], rtol=1e-4
    )


def test_complex_gamma_satisfies_its_recurrence(x64):
    z = jnp.array([0.5 + 1j, -1.5 + 2j, 3 - 4j])
    np.testing.assert_allclose(special.gamma(z + 1), z * special.gamma(z), rtol=1e-12)


# ---- the sample derivative of a gamma variate ----


def test_a_gamma_sample_moves_as_its_quantile_does(x64):
    a, p, h = np.array([0.05, 0.7, 1.0, 6.0, 80.0]), 0.3, 1e-4
    x = stats.gamma.ppf(p, a)
    slope = (stats.gamma.ppf(p, a + h * a) - stats.gamma.ppf(p, a - h * a)) / (2 * h * a)
    np.testing.assert_allclose(lax.random_gamma_grad(jnp.array(a), jnp.array(x)), slope, rtol=1e-6)


def test_the_sums_and_the_formula_for_large_a_meet(monkeypatch, x64):
    a = jnp.full(5, 2e5)
    x = a + jnp.sqrt(a) * jnp.array([-3.0, -0.1, 0.0, 0.1, 3.0])
    by_sums = lax.random_gamma_grad(a, x)
    monkeypatch.setattr(incomplete_gamma, "LARGE", 1e5)
    np.testing.assert_allclose(lax.random_gamma_grad(a, x), by_sums, rtol=1e-8)


def test_gammainc_is_differentiable_by_both_arguments(x64):
    slopes = jax.grad(special.gammainc, (0, 1))(2.0, 1.5)
    h = 1e-5
    by_a = (scipy_special.gammainc(2 + h, 1.5) - scipy_special.gammainc(2 - h, 1.5)) / (2 * h)
    np.testing.assert_allclose(slopes, [by_a, stats.gamma.pdf(1.5, 2)], rtol=1e-8)


# ---- derivatives ----


def test_zeta_can_be_differentiated_again_and_again(x64):
    third = jax.grad(jax.grad(jax.grad(special.zeta, 1), 1), 1)(2.0, 1.5)
    np.testing.assert_allclose(third, -2 * 3 * 4 * scipy_special.zeta(5, 1.5), rtol=1e-12)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_hypergeometric_parameters_have_slopes_everywhere(place, x64):
    """At a = 0 the function is constant 1, but its slope is not 0; beyond |x| = 1 no series converges."""
    args, h = [0.0, 0.5, 1.5, -4.0], 1e-4
    above, below = ([*args[:place], args[place] + s, *args[place + 1 :]] for s in (h, -h))
    slope = (scipy_special.hyp2f1(*above) - scipy_special.hyp2f1(*below)) / (2 * h)
    np.testing.assert_allclose(jax.grad(special.hyp2f1, place)(*args), slope, rtol=1e-5, atol=1e-9)


def test_spherical_harmonics_are_orthonormal(x64):
    theta, weights = np.polynomial.legendre.leggauss(12)
    theta = np.arccos(theta)
    n, m = jnp.array([3, 3, 4]), jnp.array([2, -2, 2])
    waves = special.sph_harm_y(n[:, None], m[:, None], theta, 0.0).real * 1j ** (m[:, None] < 0)
    products = (waves[:, None] * waves.conj()[None] * weights).sum(-1) * 2 * np.pi
    np.testing.assert_allclose(abs(products[0]), [1, 1, 0], atol=1e-12)


# ---- on the host, and only when asked for ----


def test_scipy_computes_on_the_host_inside_compiled_code():
    x = jnp.float32(0.5)
    text = jax.jit(lambda x: jnp.sin(special.poch(x, x))).lower(x).as_text()
    assert "host" in text and "SciPy computes it" in text


def test_scipy_is_imported_for_the_first_value_alone():
    code = (
        "import sys, tinyjax as jax; from tinyjax.scipy.special import i0e; jax.make_jaxpr(i0e)(1.0); "
        "assert 'scipy' not in sys.modules; i0e(1.0); assert 'scipy' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


f32 = functools.partial(np.array, dtype=np.float32)


@pytest.mark.parametrize(
    "name, low, high",
    [
        ("erf", -4, 4),
        ("erfc", -4, 12),
        ("erfinv", -0.999999, 0.999999),
        ("gammaln", -5, 40),
        ("digamma", -5, 40),
    ],
)
def test_special_function_is_accurate(name, low, high, x64):
    special = pytest.importorskip("scipy.special")
    ours = {"erfinv": lax.erf_inv, "gammaln": lax.lgamma}.get(name) or getattr(lax, name)
    x = np.linspace(low, high, 1001) + 1e-3 * np.sin(np.arange(1001)) * (high < 30) * 1e-3
    np.testing.assert_allclose(ours(x), getattr(special, name)(x), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("order", [0, 1, 2, 5])
def test_polygamma_is_accurate(order, x64):
    special = pytest.importorskip("scipy.special")
    x = np.linspace(0.1, 30, 200)
    expected = special.polygamma(order, x)
    np.testing.assert_allclose(lax.polygamma(np.float64(order), x), expected, rtol=1e-11)


def test_special_functions_at_poles():
    poles = f32([0, -1, -np.inf])
    np.testing.assert_array_equal(lax.lgamma(poles), [np.inf] * 3)
    np.testing.assert_array_equal(lax.digamma(poles), [-np.inf, np.nan, np.nan])
    np.testing.assert_array_equal(
        lax.erf_inv(f32([-1, 1, 0, 2])), f32([-np.inf, np.inf, 0, np.nan])
    )


def test_parts_by_threads_are_put_together_in_order():
    x = np.linspace(0.1, 30, 90_000).reshape(300, 300)
    with jax.enable_x64(True):
        np.testing.assert_array_equal(lax.digamma(x)[::299], lax.digamma(x[::299]))


def test_many_elements_are_computed_without_threads_where_none_can_start(monkeypatch):
    def start(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", start)
    x = jnp.linspace(0.1, 9, 20_000)
    got = special.gammainc(x, x[::-1])
    np.testing.assert_array_equal(got[:100], special.gammainc(x[:100], x[::-1][:100]))


def test_erf_inv_of_float64s_in_a_kernel():
    near_1 = 1 - 10.0 ** -np.arange(1, 17)
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-300, 1.0, -1.0, 1.1]
    x = np.concatenate([np.linspace(-1, 1, 999), near_1, -near_1, special])
    with jax.enable_x64(True):
        compiled = jax.jit(lax.erf_inv)
        assert ": host" not in compiled.lower(x).as_text("schedule")
        found, expected = np.asarray(compiled(x)), np.asarray(lax.erf_inv(x))
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert (np.signbit(found) == np.signbit(expected))[~np.isnan(expected)].all()
