"""`jax.dtypes`: the names; they are made in core/dtypes.py and core/type_promotion.py."""

from tinyjax.core.dtypes import *
from tinyjax.core.type_promotion import promote_types as promote_types
from tinyjax.core.type_promotion import result_type as result_type
