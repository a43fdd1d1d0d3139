"""`jax.scipy.cluster`: grouping of points. Each module is imported when it is first asked for."""

from tinyjax.core.missing_names import getattr_of

__getattr__ = getattr_of(__name__)
