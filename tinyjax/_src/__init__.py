"""Names of jax._src that libraries read although they are private; there is nothing else here to learn.

chex (https://chex.readthedocs.io) imports both modules.
"""

from tinyjax.core.missing_names import getattr_of

__getattr__ = getattr_of(__name__)
