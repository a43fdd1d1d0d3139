"""`jax.scipy.sparse`: linear systems whose matrix is only a function.

Each module is imported when it is first asked for.
"""

from tinyjax.core.missing_names import getattr_of

__getattr__ = getattr_of(__name__)
