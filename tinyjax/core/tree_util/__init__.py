"""`jax.tree_util`: the public names. pytrees.py is where to begin.

Source: https://docs.jax.dev/en/latest/jax.tree_util.html
"""

from tinyjax.core.tree_util.key_paths import DictKey as DictKey
from tinyjax.core.tree_util.key_paths import FlattenedIndexKey as FlattenedIndexKey
from tinyjax.core.tree_util.key_paths import GetAttrKey as GetAttrKey
from tinyjax.core.tree_util.key_paths import KeyEntry as KeyEntry
from tinyjax.core.tree_util.key_paths import KeyPath as KeyPath
from tinyjax.core.tree_util.key_paths import SequenceKey as SequenceKey
from tinyjax.core.tree_util.key_paths import flatten_one_level as flatten_one_level
from tinyjax.core.tree_util.key_paths import (
    flatten_one_level_with_keys as flatten_one_level_with_keys,
)
from tinyjax.core.tree_util.key_paths import keystr as keystr
from tinyjax.core.tree_util.key_paths import tree_flatten_with_path as tree_flatten_with_path
from tinyjax.core.tree_util.key_paths import tree_leaves_with_path as tree_leaves_with_path
from tinyjax.core.tree_util.key_paths import tree_map_with_path as tree_map_with_path
from tinyjax.core.tree_util.more_functions import all_leaves as all_leaves
from tinyjax.core.tree_util.more_functions import tree_reduce_associative as tree_reduce_associative
from tinyjax.core.tree_util.more_functions import tree_transpose as tree_transpose
from tinyjax.core.tree_util.more_functions import treedef_children as treedef_children
from tinyjax.core.tree_util.more_functions import treedef_is_leaf as treedef_is_leaf
from tinyjax.core.tree_util.more_functions import treedef_tuple as treedef_tuple
from tinyjax.core.tree_util.prefixes import broadcast_prefix as broadcast_prefix
from tinyjax.core.tree_util.prefixes import equality_errors as equality_errors
from tinyjax.core.tree_util.prefixes import flatten_axes as flatten_axes
from tinyjax.core.tree_util.prefixes import prefix_errors as prefix_errors
from tinyjax.core.tree_util.prefixes import tree_broadcast as tree_broadcast
from tinyjax.core.tree_util.pytrees import PyTreeDef as PyTreeDef
from tinyjax.core.tree_util.pytrees import register_pytree_node as register_pytree_node
from tinyjax.core.tree_util.pytrees import tree_all as tree_all
from tinyjax.core.tree_util.pytrees import tree_flatten as tree_flatten
from tinyjax.core.tree_util.pytrees import tree_leaves as tree_leaves
from tinyjax.core.tree_util.pytrees import tree_map as tree_map
from tinyjax.core.tree_util.pytrees import tree_reduce as tree_reduce
from tinyjax.core.tree_util.pytrees import tree_structure as tree_structure
from tinyjax.core.tree_util.pytrees import tree_unflatten as tree_unflatten
from tinyjax.core.tree_util.registration import Partial as Partial
from tinyjax.core.tree_util.registration import is_tree_node as is_tree_node
from tinyjax.core.tree_util.registration import register_dataclass as register_dataclass
from tinyjax.core.tree_util.registration import (
    register_pytree_node_class as register_pytree_node_class,
)
from tinyjax.core.tree_util.registration import (
    register_pytree_with_keys as register_pytree_with_keys,
)
from tinyjax.core.tree_util.registration import (
    register_pytree_with_keys_class as register_pytree_with_keys_class,
)
from tinyjax.core.tree_util.registration import register_static as register_static
