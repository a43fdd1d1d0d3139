"""`jax.sharding`: the names; they are made in transform/pmap/sharding.py, and in mesh.py beside it."""

from tinyjax.core.missing_names import getattr_of
from tinyjax.transform.pmap.sharding import *

_LAZY_NAMES = {"transform.pmap.mesh": ("AbstractMesh", "Mesh", "NamedSharding", "PartitionSpec")}
__getattr__ = getattr_of(__name__)
