"""Distribution functions at the ends of their support and far out in their tails."""

import numpy as np
import pytest

import tinyjax as jax
from tinyjax.scipy import stats


def test_the_tail_of_gumbels_distribution_keeps_its_digits():
    np.testing.assert_allclose(stats.gumbel_r.logsf(np.float32(40)), -40, rtol=1e-6)
    np.testing.assert_allclose(stats.gumbel_l.logcdf(np.float32(-40)), -40, rtol=1e-6)
    np.testing.assert_allclose(jax.grad(stats.gumbel_r.logsf)(40.0), -1, rtol=1e-6)


@pytest.mark.parametrize(
    "cdf",
    [
        lambda x: stats.beta.cdf(x, 2.0, 0.5),
        lambda x: stats.beta.sf(x, 0.5, 0.5),
        lambda x: stats.gamma.cdf(x, 0.5),
        lambda x: stats.chi2.cdf(x, 2.0),
        lambda x: stats.truncnorm.cdf(x, 0.0, 1.0),
    ],
)
def test_outside_of_the_support_a_distribution_function_has_slope_0(cdf):
    assert jax.grad(cdf)(-0.3) == 0


def test_a_truncated_normals_slope_at_its_mean_is_its_density():
    slope = jax.grad(stats.truncnorm.cdf)(0.0, -1.0, 2.0)
    np.testing.assert_allclose(slope, stats.truncnorm.pdf(0.0, -1.0, 2.0), rtol=1e-5)
