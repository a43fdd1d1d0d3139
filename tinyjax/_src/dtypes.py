"""jax.dtypes, and the base class of extended dtypes, of which tinyjax has only random keys."""

import numpy as np

from tinyjax.core.dtypes import *  # noqa: F403
from tinyjax.core.type_promotion import TypePromotionError as TypePromotionError

DType = np.dtype


class ExtendedDType:
    """The base class of dtypes that a library defines for itself; arrays of these there are not."""
