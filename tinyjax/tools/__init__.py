"""jax.tools: what older notebooks call before all else."""

from tinyjax.core.missing_names import getattr_of

__getattr__ = getattr_of(__name__)
