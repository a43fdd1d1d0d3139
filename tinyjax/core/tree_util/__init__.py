"""`jax.tree_util`: the public names. pytrees.py is where to begin.

Source: https://docs.jax.dev/en/latest/jax.tree_util.html
"""

# ruff: noqa: F401  (re-exports)
# ruff: isort: skip_file
# fmt: off

from tinyjax.core.tree_util.key_paths import (
    DictKey, FlattenedIndexKey, GetAttrKey, KeyEntry, KeyPath, SequenceKey, flatten_one_level,
    flatten_one_level_with_keys, keystr, tree_flatten_with_path, tree_leaves_with_path,
)
from tinyjax.core.tree_util.more_functions import (
    all_leaves, tree_all, tree_map_with_path, tree_reduce, tree_reduce_associative, tree_transpose,
    treedef_children, treedef_is_leaf, treedef_tuple,
)
from tinyjax.core.tree_util.differences import equality_errors
from tinyjax.core.tree_util.prefixes import broadcast_prefix, flatten_axes, tree_broadcast
from tinyjax.core.tree_util.pytrees import (
    PyTreeDef, prefix_errors, register_pytree_node, tree_flatten, tree_leaves, tree_map, tree_structure,
    tree_unflatten,
)
from tinyjax.core.tree_util.partial import Partial
from tinyjax.core.tree_util.registration import (
    is_tree_node, register_dataclass, register_pytree_node_class, register_pytree_with_keys,
    register_pytree_with_keys_class, register_static,
)
