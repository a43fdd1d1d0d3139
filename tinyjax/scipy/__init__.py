"""`jax.scipy`: the parts of SciPy that jax.numpy has not. Each module is imported when it is first asked for.

Source: https://docs.jax.dev/en/latest/jax.scipy.html
"""

from tinyjax.core.missing_names import getattr_of

__getattr__ = getattr_of(__name__)
