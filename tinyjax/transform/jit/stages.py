"""The stages of jit, one after the other: `jit(f).trace(x)`, `.lower()`, `.compile()`.

A jitted function can be stopped at each stage: the jaxpr, the OpenCL program with its schedule, costs and
memory, and the executable, which takes arguments of the traced types alone. `as_text(dialect)` is a
compiler stage's result as text, and `compiler_ir(dialect)` the result itself; the dialects are those of
STAGES in compile/lowered.py.

Source: https://docs.jax.dev/en/latest/aot.html, https://docs.jax.dev/en/latest/jax.stages.html
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.avals import get_aval, to_numpy
from tinyjax.core.bind import Tracer, bind_bodies
from tinyjax.core.debug_info import DebugInfo
from tinyjax.core.jaxpr import ClosedJaxpr, prepare_jaxpr
from tinyjax.core.structs import struct_of
from tinyjax.core.tree_util.pytrees import PyTreeDef, tree_flatten, tree_unflatten
from tinyjax.runtime import placement
from tinyjax.runtime.devices import default_device
from tinyjax.runtime.placement import DeviceOrSpread, commit, compile_device, devices_of
from tinyjax.transform.jit.primitive import read_arguments
from tinyjax.transform.jit.wrong_arguments import argument_name, place_error, tree_error, type_error

if TYPE_CHECKING:  # the compiler is imported by the first stage that needs it
    from tinyjax.compile.lowered import LoweredProgram
    from tinyjax.compile.record import PassRecord
    from tinyjax.compile.schedules.directive import Directive
    from tinyjax.runtime.executable import Executable

# ---- before the first stage ----


@runtime_checkable
class Wrapped(Protocol):
    """The result of `jit`: a function that can be called, or taken through the stages."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def trace(self, *args: Any, **kwargs: Any) -> Traced: ...

    def lower(self, *args: Any, **kwargs: Any) -> Lowered: ...


# ---- shared by all stages ----


@dataclass(frozen=True)
class ArgInfo:
    """The type of one argument, and whether its memory is donated."""

    _aval: ShapedArray
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return self._aval.shape

    @property
    def dtype(self) -> np.dtype:
        return self._aval.dtype


@dataclass(frozen=True)
class CompiledMemoryStats:
    """How much memory a call takes, by JAX's names.

    Arguments, constants and results are in memory of their own; `alias` is the memory that results and
    donated arguments share, `temp` the rest of the peak, and the generated code is OpenCL C."""

    generated_code_size_in_bytes: int
    argument_size_in_bytes: int
    output_size_in_bytes: int
    alias_size_in_bytes: int
    temp_size_in_bytes: int
    peak_memory_in_bytes: int


class _Signature:
    """Arguments and results of a traced function: `args_info`, `in_avals` and `in_tree` are of the pair
    (args, kwargs), `out_info` and `out_tree` of the result."""

    traced: Traced

    @property
    def in_tree(self) -> PyTreeDef:
        return self.traced._in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        return self.traced._out_tree

    @property
    def in_avals(self) -> Any:
        return tree_unflatten(self.in_tree, self.traced.jaxpr.in_avals)

    @property
    def args_info(self) -> Any:
        """A tree of ArgInfos."""
        infos = map(ArgInfo, self.traced.jaxpr.in_avals, self.traced.donated)
        return tree_unflatten(self.in_tree, list(infos))

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The numbers of the donated arguments, counted leaf by leaf."""
        return tuple(i for i, donated in enumerate(self.traced.donated) if donated)

    @property
    def out_info(self) -> Any:
        """A tree of ShapeDtypeStructs."""
        avals = self.traced.jaxpr.out_avals
        return tree_unflatten(self.out_tree, list(map(struct_of, avals)))


class Traced(_Signature):
    """A function as a jaxpr, with the trees of its arguments and results."""

    def __init__(
        self, jaxpr: ClosedJaxpr, in_tree: PyTreeDef, out_tree: PyTreeDef, fun_name: str,
        device: DeviceOrSpread | None, consts: Sequence[Any] = (), donated: Sequence[bool] = (),
        places: Sequence[Any] = (), out_places: Sequence[Any] = (),
        debug_info: DebugInfo | None = None,
    ):  # fmt: skip
        self.debug_info = debug_info
        self.places = tuple(places) or (None,) * len(jaxpr.in_avals)
        self.out_places = tuple(out_places) or (None,) * len(jaxpr.out_avals)
        self.jaxpr = jaxpr
        self.fun_name = fun_name
        self.device = device
        self._in_tree = in_tree
        self._out_tree = out_tree
        self.donated = tuple(donated) or (False,) * len(jaxpr.in_avals)
        if consts:
            raise ValueError(
                f"{fun_name} closes over values of an outer transformation: trace or lower it outside"
            )

    @property
    def traced(self) -> Traced:  # type: ignore[override]  # an attribute would be a reference cycle
        return self

    @property
    def out_avals(self) -> Any:
        return tree_unflatten(self.out_tree, self.jaxpr.out_avals)

    def lower(self) -> Lowered:
        """The OpenCL program; nothing is built yet. Warns of donated arguments that are of no use."""
        return Lowered(self)


# ---- lowered ----


class Lowered(_Signature):
    """A function as an OpenCL program: kernels and the schedule that runs them."""

    def __init__(self, traced: Traced):
        from tinyjax.compile.lowered import lower_jaxpr

        self.traced = traced
        self.device = compile_device(traced.device or default_device())
        self.lowered = lower_jaxpr(_prepared(traced), self.device, traced.fun_name, traced.donated)

    def as_text(self, dialect: str | None = None) -> str:
        """The program as text: OpenCL C and schedule, another stage (see STAGES in compile/lowered.py), or
        what a pass made, by the title of its record: "cse", "fusion".

        Raises ValueError, with the list of dialects, for an unknown dialect."""
        return _text_of_stage(self.lowered, dialect, self.traced.places)

    @property
    def passes(self) -> list[PassRecord]:
        """The input and output of each compiler pass, and each change with its reason: print one pass or
        all. (The function is lowered once more, with passes recorded.)"""
        return self.lowered.passes

    def compiler_ir(self, dialect: str = "kernel") -> Any:
        """A stage's result as an object: a ClosedJaxpr for 'jaxpr' and 'simplified', a list of groups for
        'groups', of Kernels for 'kernel', of directives for 'schedule of k0', ...

        Raises ValueError for an unknown dialect."""
        return self.lowered.result(dialect)

    def cost_analysis(self) -> dict[str, float]:
        """'flops', 'transcendentals' and 'bytes accessed' of the jaxpr's equations, if each ran by
        itself; compile/fusion/cost_record.py defines the counts. Zeros are left out."""
        from tinyjax.compile.fusion.cost_record import jaxpr_cost

        return jaxpr_cost(self.traced.jaxpr.jaxpr).as_dict()

    def with_schedule(self, kernel: str, directives: Sequence[Directive]) -> Lowered:
        """This program with a custom schedule for a kernel: directives that rewrite its naive loop nest,
        such as `[Vectorize("i1", 8)]` (they are in compile/schedules/). The
        beginning of a kernel's name is enough. `as_text("loop nests")` shows the axes, `as_text("schedule
        of k0")` what the compiler chose for k0.

        Raises ValueError for a directive that can't be applied, and says why."""
        new = copy.copy(self)
        new.lowered = self.lowered.with_schedule(kernel, directives)
        return new

    def compile(self) -> Compiled:
        """Builds the program for its device."""
        from tinyjax.runtime.executable import compile_lowered

        return Compiled(self.traced, compile_lowered(self.lowered))


# ---- compiled ----


class Compiled(_Signature):
    """A built program: call it with arguments of the types that it was traced for."""

    def __init__(self, traced: Traced, executable: Executable):
        self.traced = traced
        self.executable = executable

    def as_text(self, dialect: str | None = None) -> str:
        """As Lowered.as_text."""
        return _text_of_stage(self.executable.lowered, dialect, self.traced.places)

    def compiler_ir(self, dialect: str = "kernel") -> Any:
        """As Lowered.compiler_ir."""
        return self.executable.lowered.result(dialect)

    def runtime_executable(self) -> Executable:
        """The program without checks: it takes and gives flat lists of arrays."""
        return self.executable

    @property
    def input_shardings(self) -> Any:
        """The places of the arguments, as a tree of (args, kwargs); None for an unread argument."""
        places = placement.needed_places()
        return tree_unflatten(self.in_tree, places.input_shardings(self.traced, self.executable))

    @property
    def output_shardings(self) -> Any:
        """The places of the results, as the result's tree."""
        places = placement.needed_places()
        return tree_unflatten(self.out_tree, places.output_shardings(self.traced, self.executable))

    def cost_analysis(self) -> dict[str, float]:
        """As Lowered.cost_analysis, of the steps that run: fused equations hand each other their values
        for nothing. `as_text("cost")` has a line for each step, and `compiler_ir("cost")` a Cost."""
        from tinyjax.compile.cost import plan_cost

        return plan_cost(self.executable.lowered.plan).as_dict()

    def memory_analysis(self) -> CompiledMemoryStats:
        """The bytes that a call needs, known before it runs; `as_text("memory")` has a line for each
        array."""
        lowered = self.executable.lowered
        memory, code = lowered.plan.memory, lowered.as_text("opencl").encode()
        return CompiledMemoryStats(
            len(code),
            memory.argument_bytes,
            memory.output_bytes,
            memory.alias_bytes,
            memory.temp_bytes,
            memory.peak_bytes,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program.

        Raises TypeError for tracers, and for other trees or types than the traced ones; ValueError for
        arrays that are committed to another device; RuntimeError for deleted ones."""
        leaves, in_tree = tree_flatten((args, kwargs))
        if in_tree != self.in_tree:
            raise tree_error(self.in_tree, in_tree)
        self._check_leaves(leaves)
        for bind in bind_bodies:
            return tree_unflatten(self.out_tree, bind(self, leaves, {}))
        return tree_unflatten(self.out_tree, self.run(leaves))

    def run(self, leaves: Sequence[Any]) -> list[ArrayImpl]:
        """The results of a flat list of arguments."""
        traced = self.traced
        arrays = [
            x if isinstance(x, ArrayImpl) else ArrayImpl(to_numpy(x, aval), aval)
            for x, aval in zip(leaves, traced.jaxpr.in_avals)
        ]
        if placement.places is not None:
            return placement.places.run_stage(_prepared(traced), traced, self.executable, arrays)
        outs = self.executable(arrays)
        if traced.device is not None:
            for out in outs:
                commit(out, traced.device)
        return outs

    def _check_leaves(self, leaves: Sequence[Any]) -> None:
        if any(isinstance(x, Tracer) for x in leaves):
            raise TypeError(
                "Cannot apply JAX transformations to a function lowered and compiled for a particular "
                "signature: transform the jitted function itself, then lower and compile that"
            )
        pairs = list(zip(self.traced.jaxpr.in_avals, map(get_aval, leaves)))
        if any((got.shape, got.dtype) != (exp.shape, exp.dtype) for exp, got in pairs):
            raise type_error(self.args_info, pairs)
        for number, x in enumerate(leaves):
            if isinstance(x, ArrayImpl) and x.is_deleted():
                raise RuntimeError(
                    f"Array has been deleted with shape={x.aval.str_short()}: {self._name(number)} was "
                    "deleted or donated. Donate only what is not used again"
                )
            if isinstance(x, ArrayImpl) and x.committed and not self._takes(number, x):
                wanted = self.traced.places[number] or self._place
                raise place_error(self.args_info, number, x.device, wanted)

    def _takes(self, number: int, x: ArrayImpl) -> bool:
        """Whether an array is where the program reads argument `number`: where the traced argument was, or if
        that was put nowhere, on the devices of the program. One that is not read can be anywhere."""
        if not read_arguments(self.traced.jaxpr)[number]:
            return True
        place, got = self.traced.places[number], x._device
        if place is None:
            return devices_of(got) == devices_of(self._place)
        if placement.places is None:
            return got is place
        return placement.places.are_alike(place, got, x.ndim)

    @property
    def _place(self) -> DeviceOrSpread:
        """Where the program runs."""
        return self.traced.device or self.executable.device

    def _name(self, number: int) -> str:
        return argument_name(self.args_info, number)


def _text_of_stage(lowered: LoweredProgram, dialect: str | None, places: Sequence[Any]) -> str:
    """The result of a compiler stage, as text."""
    text = lowered.as_text(dialect)
    if placement.places is None or dialect not in (None, "schedule"):
        return text
    return "\n".join([text, *placement.places.text_of_traffic(lowered.closed, places)])


def _prepared(traced: Traced) -> ClosedJaxpr:
    """The jaxpr that is compiled."""
    jaxpr = traced.jaxpr
    for prepare in prepare_jaxpr:
        jaxpr = prepare(jaxpr, True)
    return jaxpr
