"""Names removed from JAX that introductions still use: each returns the current object with a warning.

`jax.tree_map` is `jax.tree.map`, `jax.experimental.stax` is `jax.example_libraries.stax`. JAX 0.12 has none
of these; here a DeprecationWarning names today's spelling. Names without an equivalent raise an error
that says why. older_functions has those that were not just renamed.

Source: https://docs.jax.dev/en/latest/changelog.html
"""

from __future__ import annotations

import importlib
import sys
import warnings
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

# The older name -> today's name.
RENAMED = {
    "jax.DeviceArray": "jax.Array",
    "jax.core.ClosedJaxpr": "jax.extend.core.ClosedJaxpr",
    "jax.core.Jaxpr": "jax.extend.core.Jaxpr",
    "jax.core.JaxprEqn": "jax.extend.core.JaxprEqn",
    "jax.core.Literal": "jax.extend.core.Literal",
    "jax.core.Var": "jax.extend.core.Var",
    "jax.core.jaxpr_as_fun": "jax.extend.core.jaxpr_as_fun",
    "jax.experimental.PartitionSpec": "jax.sharding.PartitionSpec",
    "jax.experimental.enable_x64": "jax.enable_x64",
    "jax.interpreters.xla.DeviceArray": "jax.Array",
    "jax.nn.normalize": "jax.nn.standardize",
    "jax.numpy.DeviceArray": "jax.Array",
    "jax.numpy.alltrue": "jax.numpy.all",
    "jax.numpy.cumproduct": "jax.numpy.cumprod",
    "jax.numpy.in1d": "jax.numpy.isin",
    "jax.numpy.msort": "jax.numpy.sort",
    "jax.numpy.product": "jax.numpy.prod",
    "jax.numpy.round_": "jax.numpy.round",
    "jax.numpy.row_stack": "jax.numpy.vstack",
    "jax.numpy.sometrue": "jax.numpy.any",
    "jax.numpy.trapz": "jax.numpy.trapezoid",
    "jax.random.shuffle": "jax.random.permutation",
    "jax.tree_all": "jax.tree.all",
    "jax.tree_flatten": "jax.tree.flatten",
    "jax.tree_leaves": "jax.tree.leaves",
    "jax.tree_map": "jax.tree.map",
    "jax.tree_multimap": "jax.tree.map",
    "jax.tree_reduce": "jax.tree.reduce",
    "jax.tree_structure": "jax.tree.structure",
    "jax.tree_transpose": "jax.tree.transpose",
    "jax.tree_unflatten": "jax.tree.unflatten",
    "jax.tree_util.tree_multimap": "jax.tree.map",
    "jax.treedef_children": "jax.tree_util.treedef_children",
    "jax.treedef_is_leaf": "jax.tree_util.treedef_is_leaf",
    "jax.treedef_tuple": "jax.tree_util.treedef_tuple",
}

# Older name -> today's equivalent expression, for names that are expressions; see older_functions.
SAID_OTHERWISE = {
    "jax.curry": "functools.partial(f, x)",
    "jax.device_put_replicated": "jax.device_put of jnp.stack([x] * n)",
    "jax.device_put_sharded": "jax.device_put of jnp.stack(shards)",
    "jax.experimental.disable_x64": "jax.enable_x64(False)",
    "jax.lax.tie_in": "y: operations need no tie any more",
    "jax.ops.index": "jnp.s_[...], or the index itself",
    "jax.ops.index_add": "x.at[index].add(y)",
    "jax.ops.index_max": "x.at[index].max(y)",
    "jax.ops.index_min": "x.at[index].min(y)",
    "jax.ops.index_mul": "x.at[index].multiply(y)",
    "jax.ops.index_update": "x.at[index].set(y)",
    "jax.partial": "functools.partial",
}

# Modules: the older name -> today's name.
RENAMED_MODULES = {
    "jax.abstract_arrays": "jax.core",
    "jax.api": "jax",
    "jax.experimental.optimizers": "jax.example_libraries.optimizers",
    "jax.experimental.stax": "jax.example_libraries.stax",
    "jax.lib.xla_bridge": "jax.extend.backend",
    "jax.scipy.misc": "jax.scipy.special",
    "jax.util": "jax._src.util",
}

# Private modules that libraries import -> the public module with their names. They don't warn, and neither
# does a module of tinyjax that has moved.
PRIVATE_MODULES = {
    f"jax._src.{name}": f"jax.{name}" for name in ("core", "flatten_util", "tree_util")
} | {"jax.compile.tune": "jax.studio.tune"}

# Private names that libraries use -> where they are here. They don't warn either.
PRIVATE = {
    "jax.api_util.debug_info": "tinyjax.compat.partial_values.debug_info",
    "jax.api_util.flatten_fun": "tinyjax.compat.partial_values.flatten_fun",
    "jax.api_util.flatten_fun_nokwargs": "tinyjax.compat.partial_values.flatten_fun_nokwargs",
    "jax.api_util.safe_map": "tinyjax._src.util.safe_map",
    "jax.core.AbstractValue": "tinyjax.core.array.ShapedArray",
    "jax.core.ensure_compile_time_eval": "tinyjax.core.compile_time.ensure_compile_time_eval",
    "jax.core.eval_context": "tinyjax.core.compile_time.eval_context",
    "jax.core.pytype_aval_mappings": "tinyjax.compat.array_types.pytype_aval_mappings",
    "jax.core.trace_state_clean": "tinyjax.core.compile_time.trace_state_clean",
    "jax.core.valid_jaxtype": "tinyjax.extend.core.valid_jaxtype",
    "jax.interpreters.xla.canonicalize_dtype_handlers": "tinyjax.compat.array_types."
    "canonicalize_dtype_handlers",
    "jax.interpreters.partial_eval.DynamicJaxprTracer": "tinyjax.core.tracing.JaxprTracer",
    **{
        f"jax.{name}": f"tinyjax.compat.jaxpr_functions.{name.rpartition('.')[2]}"
        for name in (
            "extend.core.concrete_or_error",
            "extend.core.gensym",
            "extend.core.new_jaxpr_eqn",
            "extend.core.subjaxprs",
            "interpreters.partial_eval.dce_jaxpr",
            "interpreters.partial_eval.trace_to_jaxpr_dynamic",
        )
    },
    "jax.interpreters.partial_eval.PartialVal": "tinyjax.compat.partial_values.PartialVal",
    "jax.interpreters.partial_eval.trace_to_jaxpr_nounits": "tinyjax.compat.partial_values."
    "trace_to_jaxpr_nounits",
}

# Removed names and their replacements.
GONE = {
    "jax.custom_transforms": "jax.custom_jvp and jax.custom_vjp do what it did",
    "jax.defvjp": "f.defvjp(fwd, bwd) of f = jax.custom_vjp(f)",
    "jax.defjvp": "f.defjvp(rule) of f = jax.custom_jvp(f)",
    "jax.defvjp_all": "f.defvjp(fwd, bwd) of f = jax.custom_vjp(f)",
    "jax.experimental.host_callback": "jax.debug.print, jax.debug.callback and jax.pure_callback do what "
    "id_print, id_tap and call did",
    "jax.experimental.loops": "jax.lax.fori_loop, while_loop and cond do what its Scope did",
    "jax.experimental.maps": "jax.vmap with axis_name, and jax.pmap, do what xmap did",
    "jax.experimental.optix": "it is a package of its own: pip install optax",
    "jax.experimental.vectorize": "jax.numpy.vectorize(f, signature=...)",
    "jax.mask": "pad the arrays, and jnp.where(mask, x, 0)",
    "jax.soft_pmap": "jax.pmap of jax.vmap",
    "jax.xla_computation": "jax.jit(f).lower(x).as_text() shows what is compiled",
}


def find(name: str) -> Any:
    """The object for an older name such as "jax.tree_map", with a DeprecationWarning.

    Raises KeyError for a name that JAX never had, AttributeError for one without an equivalent."""
    if name in GONE:
        raise AttributeError(_gone(name), name=name.rpartition(".")[2])
    if name in PRIVATE:
        module, _, attribute = PRIVATE[name].rpartition(".")
        return getattr(importlib.import_module(module), attribute)
    if name in SAID_OTHERWISE:
        today, module = SAID_OTHERWISE[name], "tinyjax.compat.older_functions"
        attribute = name.rpartition(".")[2]
    else:
        today = RENAMED[name]
        module, _, attribute = ("tiny" + today).rpartition(".")
    value = getattr(importlib.import_module(module), attribute)
    _warn(name, today)
    return value


def find_module(fullname: str) -> ModuleSpec | None:
    """The spec to load a module such as "tinyjax.experimental.stax", with a DeprecationWarning; None if JAX
    never had one of this name.

    Raises ImportError for a module without an equivalent."""
    name = fullname.removeprefix("tiny")
    if name in GONE:
        raise ImportError(_gone(name), name=name)
    if name in PRIVATE_MODULES:
        return ModuleSpec(fullname, Alias("tiny" + PRIVATE_MODULES[name]))
    if name not in RENAMED_MODULES:
        return None
    _warn(name, RENAMED_MODULES[name])
    return ModuleSpec(fullname, Alias("tiny" + RENAMED_MODULES[name]))


class Alias(Loader):
    """Loads a module that exists under another name."""

    def __init__(self, name: str):
        self.name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.name)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """The module has run already. Python gave it the other name's spec, so this restores its own."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def _gone(name: str) -> str:
    return f"{name} is in neither JAX nor tinyjax any longer: {GONE[name]}"


def _warn(name: str, today: str) -> None:
    """Warns at the line that uses the name: the first frame outside of tinyjax and of Python's import."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_code.co_filename.startswith((_HERE, "<frozen", _IMPORTLIB)):
        level += "importlib._bootstrap" not in frame.f_code.co_filename
        frame = frame.f_back
    text = f"{name} is an older spelling, which JAX no longer has: {today}"
    warnings.warn(text, DeprecationWarning, stacklevel=level)


_HERE = str(Path(__file__).parents[1])
_IMPORTLIB = str(Path(importlib.__file__).parent)
