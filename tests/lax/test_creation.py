"""full and iota."""

import numpy as np
import pytest

from tinyjax import lax
from tinyjax.core.tracing import make_jaxpr


def test_sixty_four_bits_are_cut_with_a_warning():
    with pytest.warns(UserWarning, match="float64 requested in full is not available"):
        assert lax.full((), 1, np.float64).dtype == np.float32


def test_iota_counts_along_its_dimension():
    np.testing.assert_array_equal(lax.iota(np.float32, 3), [0, 1, 2])
    np.testing.assert_array_equal(lax.broadcasted_iota(np.int32, (2, 3), 1), [[0, 1, 2]] * 2)


def test_shape_that_depends_on_a_tracer_is_explained():
    with pytest.raises(TypeError, match="static"):
        make_jaxpr(lambda n: lax.full((n,), 0.0))(3)


def test_empty_is_zeros():
    assert lax.empty((2,), np.float32).tolist() == [0, 0]
