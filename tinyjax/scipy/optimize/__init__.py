"""`jax.scipy.optimize`: the least value of a smooth function. Imported when it is asked for.

Source: https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.optimize
"""

from tinyjax.core.missing_names import getattr_of

_LAZY_NAMES = {"minimizers": ("minimize",), "results": ("OptimizeResults",)}

__getattr__ = getattr_of(__name__)
