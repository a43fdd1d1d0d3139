"""`jax.scipy.integrate`: the integral of samples."""

from tinyjax.core.missing_names import getattr_of
from tinyjax.numpy import trapezoid as trapezoid

__getattr__ = getattr_of(__name__)
