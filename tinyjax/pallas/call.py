"""pallas_call: runs a custom kernel as each program of a grid, on blocks of the arrays.

In a jaxpr it is one equation, whose parameter is the kernel as a jaxpr that takes Refs. It is compiled
(lowering.py). Outside of jit, `interpret=True` runs the Python function itself, program after program
(interpret.py).

Source: https://docs.jax.dev/en/latest/pallas/quickstart.html
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from tinyjax.core.api_util import FlatFun, check_callable
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import (
    EvalTrace,
    HigherOrderPrimitive,
    abstract_eval_rules,
    context,
    impl_rules,
    no_rule_reasons,
)
from tinyjax.core.config import config
from tinyjax.core.debug_info import DebugInfo, name_and_place, unwrapped
from tinyjax.core.dtypes import np_dtype
from tinyjax.core.inlining import CALLS
from tinyjax.core.jaxpr import ClosedJaxpr
from tinyjax.core.lists import split_list
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.core.tree_util.key_paths import keystr, tree_flatten_with_path
from tinyjax.core.tree_util.pytrees import PyTreeDef, tree_flatten, tree_unflatten
from tinyjax.pallas.grid_mapping import GridMapping, grid_mapping_of
from tinyjax.pallas.interpret import run_programs
from tinyjax.pallas.kernel_jaxpr import kernel_of_jaxpr
from tinyjax.pallas.lowering import lowered
from tinyjax.pallas.programs import Grid, running
from tinyjax.pallas.specs import GridSpec, MemoryRef, no_block_spec
from tinyjax.refs.types import AbstractRef
from tinyjax.transform.jit.primitive import Inline, jit_p

# Parameters: jaxpr, the kernel; grid_mapping, input_output_aliases (pairs of numbers), out_avals, interpret,
# and those that change nothing: compiler_params, cost_estimate, debug, mesh, metadata and name.
pallas_call_p = HigherOrderPrimitive(
    "pallas_call", multiple_results=True, impl_binds_primitives=True
)
abstract_eval_rules[pallas_call_p] = lambda *avals, out_avals, **params: list(out_avals)
no_rule_reasons[pallas_call_p, "lowering"] = "compile/passes/inline.py replaces it by its programs"


def lowered_call(params: Mapping[str, Any]) -> ClosedJaxpr:
    """The program that an equation of pallas_call_p stands for."""
    return lowered(
        params["jaxpr"],
        params["grid_mapping"],
        params["input_output_aliases"],
        bool(params["interpret"]),
    )


CALLS["pallas_call"] = lowered_call


def _impl(*args: Any, **params: Any) -> list[Any]:
    """Interpreted, or compiled at the first call."""
    jaxpr = params["jaxpr"]
    if params["interpret"] or config.jax_disable_jit:
        aliases = params["input_output_aliases"]
        return run_programs(kernel_of_jaxpr(jaxpr), params["grid_mapping"], aliases, args)
    return jit_p.bind(
        *args,
        jaxpr=lowered_call(params),
        name=params["name"] or "pallas_call",
        donated_invars=(False,) * len(args),
        keep_unused=True,
        inline=Inline.AUTO,
        device=None,
    )


impl_rules[pallas_call_p] = _impl


# ---- the public function ----


def pallas_call(
    kernel: Callable[..., None],
    out_shape: Any,
    *,
    grid_spec: GridSpec | None = None,
    grid: Any = (),
    in_specs: Any = no_block_spec,
    out_specs: Any = no_block_spec,
    scratch_shapes: Any = (),
    input_output_aliases: Mapping[int, int] = {},  # noqa: B006  (JAX's signature; it is only read)
    debug: bool = False,
    interpret: Any = False,
    name: str | None = None,
    compiler_params: Any = None,
    cost_estimate: Any = None,
    metadata: Mapping[str, str] | None = None,
) -> Callable[..., Any]:
    """A function of arrays that runs `kernel` once for each program of the grid.

    The kernel gets a Ref for each input, output and scratch array, and returns nothing: it writes to the
    outputs. Each Ref has the block of its array that the BlockSpec gives this program, or the whole array.
    `out_shape` has shapes and dtypes of the outputs, as ShapeDtypeStructs. Where `input_output_aliases` has
    {i: o}, output o begins as input i does.

    The kernel is compiled. Programs with different blocks of the outputs run in parallel; those that write to
    one block must follow each other, and run in order. With `interpret=True`, a call outside of jit runs the
    Python function itself, program after program: a debugger can step through it.

    `debug` prints the kernel's jaxpr. `compiler_params`, `cost_estimate` and `metadata` change nothing.
    Raises ValueError for specs that don't match the arrays, for a kernel that returns something or uses
    arrays from outside, and for programs that would write to the same elements at the same time."""
    check_callable(kernel, "pallas_call")
    given = {"grid": grid, "in_specs": in_specs, "out_specs": out_specs}
    if grid_spec is None:
        grid_spec = GridSpec(**given, scratch_shapes=scratch_shapes)
    else:
        _check_not_given(given | {"scratch_shapes": scratch_shapes})
    params = {
        "compiler_params": compiler_params,
        "cost_estimate": cost_estimate,
        "debug": debug,
        "input_output_aliases": tuple(input_output_aliases.items()),
        "interpret": interpret,
        "mesh": None,
        "metadata": metadata,
        "name": name,
    }
    out_shape = tuple(out_shape) if isinstance(out_shape, list) else out_shape
    call = _Call(kernel, out_shape, grid_spec, params)

    def wrapped(*args: Any) -> Any:
        return call.run(args)

    return wrapped


def _check_not_given(given: dict[str, Any]) -> None:
    for name, value in given.items():
        default = no_block_spec if name.endswith("specs") else ()
        if value is not default and value != ():
            must = "no_block_spec" if default else "()"
            raise ValueError(
                f"If `grid_spec` is specified, then `{name}` must be `{must}`. It is {value}"
            )


class _Call:
    """A kernel with its specs. Traced jaxprs are cached by the types of the arguments."""

    def __init__(self, kernel: Callable, out_shape: Any, spec: GridSpec, params: dict[str, Any]):
        self.kernel, self.spec, self.params = kernel, spec, params
        paths, self.out_tree = tree_flatten_with_path(out_shape)
        self.out_origins = [f"outputs{keystr(path)}" for path, _ in paths]
        self.out_avals = tuple(_out_aval(x) for _, x in paths)
        scratch, self.scratch_tree = tree_flatten(spec.scratch_shapes)
        self.scratch_avals = [x.get_ref_aval() for x in scratch]
        self._mappings: dict[Any, GridMapping] = {}
        self._jaxprs: dict[Any, ClosedJaxpr] = {}

    def run(self, args: tuple) -> Any:
        """The outputs. Outside of transformations, the Python function itself can be interpreted."""
        leaves, in_tree = tree_flatten(args)
        mapping = self.grid_mapping(args)
        is_interpreted = self.params["interpret"] or config.jax_disable_jit
        if is_interpreted and type(context.trace) is EvalTrace:
            if uses_outer_arrays(self.kernel):
                self.traced(in_tree, mapping)  # raises if it reads one
            kernel, aliases = self.python_kernel(in_tree), self.params["input_output_aliases"]
            return tree_unflatten(self.out_tree, run_programs(kernel, mapping, aliases, leaves))
        jaxpr = self.traced(in_tree, mapping)
        if self.params["debug"]:
            print(f"\nThe kernel of pallas_call {name_and_place(self.kernel)}:\n{jaxpr}")
        outs = pallas_call_p.bind(
            *leaves, jaxpr=jaxpr, grid_mapping=mapping, out_avals=self.out_avals, **self.params
        )
        return tree_unflatten(self.out_tree, outs)

    def grid_mapping(self, args: tuple) -> GridMapping:
        """Raises ValueError where specs or aliases don't match the arguments."""
        paths, tree = tree_flatten_with_path(args)
        avals = tuple(get_aval(x) for _, x in paths)
        if (tree, avals) not in self._mappings:
            origins = [f"args{keystr(path)}" for path, _ in paths]
            _check_arrays(avals, origins)
            inputs = tree, avals, origins
            outputs = self.out_tree, self.out_avals, self.out_origins
            mapping = grid_mapping_of(self.spec, inputs, outputs, self.scratch_avals)
            self._check_aliases(mapping)
            self._mappings[tree, avals] = mapping
        return self._mappings[tree, avals]

    def _check_aliases(self, mapping: GridMapping) -> None:
        for i, o in self.params["input_output_aliases"]:
            what = f"input_output_aliases contains the mapping '{i}:{o}'"
            for number, kind, mappings in (
                (i, "input", mapping.inputs),
                (o, "output", mapping.outputs),
            ):
                if number not in range(len(mappings)):
                    raise ValueError(
                        f"{what} with {kind} index {number} outside the range [0, {len(mappings)})"
                    )
            ours, theirs = mapping.inputs[i], mapping.outputs[o]
            if (ours.aval.shape, ours.aval.dtype) != (theirs.aval.shape, theirs.aval.dtype):
                raise ValueError(
                    f"{what} referring to {ours.origin} with abstract value {ours.aval} and to "
                    f"{theirs.origin} with a different abstract value {theirs.aval}."
                )

    def python_kernel(self, in_tree: PyTreeDef) -> Callable[..., None]:
        """The kernel as a function of a flat list of Refs. Raises ValueError if it returns something."""

        def run(*refs: Any) -> None:
            parts = split_list(refs, in_tree.num_leaves, self.out_tree.num_leaves)
            trees = in_tree, self.out_tree, self.scratch_tree
            ins, outs, scratch = map(tree_unflatten, trees, parts)
            outs = outs if isinstance(outs, tuple) else (outs,)
            named = scratch if isinstance(scratch, dict) else {}
            out = self.kernel(*ins, *outs, *(() if named else scratch), **named)
            if out is not None:
                raise ValueError(
                    f"The kernel function in the pallas_call {name_and_place(self.kernel)} should return "
                    f"None. It returns a PyTree: {tree_flatten(out)[1]}. Write to the Refs of the outputs"
                )

        return run

    def traced(self, in_tree: PyTreeDef, mapping: GridMapping) -> ClosedJaxpr:
        """The kernel as a jaxpr that takes Refs. Raises ValueError if it uses an array from outside."""
        key = mapping, config.key, context.axis_env
        if key not in self._jaxprs:
            self._jaxprs[key] = self._trace(in_tree, mapping)
        return self._jaxprs[key]

    def _trace(self, in_tree: PyTreeDef, mapping: GridMapping) -> ClosedJaxpr:
        run = self.python_kernel(in_tree)
        sizes = mapping.seen_grid.sizes

        def kernel(*refs: Any) -> list[Any]:
            with running(Grid(sizes, trace=context.trace)):
                run(*refs)
            return []

        flat_tree = tree_flatten((tuple(mapping.ref_avals), {}))[1]
        info = DebugInfo(self.kernel, (), flat_tree, traced_for="pallas_call")
        closed = trace_to_jaxpr(FlatFun(kernel, flat_tree, info), mapping.ref_avals)
        if closed.consts:
            types = ", ".join(get_aval(x).str_short(short_dtypes=True) for x in closed.consts)
            raise ValueError(
                f"The kernel function in the pallas_call {name_and_place(self.kernel)} captures constants "
                f"[{types}]. You should pass them as inputs."
            )
        return closed


def _check_arrays(avals: Sequence[ShapedArray], origins: Sequence[str]) -> None:
    """Raises NotImplementedError for a Ref, ValueError for an array whose type has a mesh."""
    for aval, origin in zip(avals, origins):
        if isinstance(aval, AbstractRef):
            raise NotImplementedError(
                f"{origin} of a pallas_call is a {aval}: give it what the Ref holds"
            )
        if aval.extra is not None:
            raise ValueError(
                f"{origin} of a pallas_call has the type {aval}, and a kernel knows no mesh: call it in "
                "jax.shard_map(..., check_vma=False)"
            )


def uses_outer_arrays(kernel: Callable) -> bool:
    """Whether a global or an outer variable that a Python function names is an array."""
    fun = unwrapped(kernel)
    if not isinstance(fun, FunctionType):
        return False
    values = [fun.__globals__.get(name) for name in fun.__code__.co_names]
    for cell in fun.__closure__ or ():
        with contextlib.suppress(ValueError):  # a variable that has no value yet
            values.append(cell.cell_contents)
    return any(isinstance(x, Array | np.ndarray) for x in values)


def _out_aval(shape: Any) -> ShapedArray:
    if isinstance(shape, MemoryRef):
        return shape.get_array_aval()
    if not (hasattr(shape, "shape") and hasattr(shape, "dtype")):
        raise ValueError(f"Invalid out_shape type: {type(shape)}")
    return ShapedArray(tuple(shape.shape), np_dtype(shape.dtype))
