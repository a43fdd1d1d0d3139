"""Rotations at the places where a careless formula has no derivative, and what is refused.

JAX's numbers are recorded in golden/scipy/spatial/transform.values.json.
"""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.scipy.spatial.transform import Rotation


def test_the_derivative_at_no_rotation_is_the_cross_product():
    v = jnp.array([1.0, 2.0, 3.0])
    slope = jax.jacobian(lambda x: Rotation.from_rotvec(x).apply(v))(jnp.zeros(3))
    np.testing.assert_allclose(slope, np.cross(np.eye(3), v).T, atol=1e-6)


def test_rotation_vectors_come_back_with_the_slope_1_at_0():
    slope = jax.jacobian(lambda x: Rotation.from_rotvec(x).as_rotvec())(jnp.zeros(3))
    np.testing.assert_allclose(slope, np.eye(3), atol=1e-6)


@pytest.mark.parametrize("length", [9e-4, 1.1e-3, 3.0])
def test_rotation_vectors_come_back_from_both_sides_of_the_series(length):
    x = length * jnp.array([0.6, 0, 0.8])
    np.testing.assert_allclose(Rotation.from_rotvec(x).as_rotvec(), x, rtol=1e-5)


def test_a_quaternion_of_three_elements_is_refused():
    with pytest.raises(ValueError, match=r"quat must have the shape \(\.\.\., 4\), got \(3,\)"):
        Rotation.from_quat(jnp.ones(3))
