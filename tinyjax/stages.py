"""The stages of jit, one after the other: `jit(f).trace(x)`, `.lower()`, `.compile()`.

After this file you can stop a jitted function at each stage and look at it: the jaxpr, the OpenCL
program with its schedule, and the executable, which takes arguments of the traced types alone.
Builds on the lowering in opencl.

Source: https://docs.jax.dev/en/latest/aot.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.array import ArrayImpl
from tinyjax.core import Tracer, get_aval, to_numpy
from tinyjax.devices import Device, default_device
from tinyjax.jaxpr import ClosedJaxpr
from tinyjax.opencl.compile import Executable, lower_jaxpr
from tinyjax.tree_util.pytrees import PyTreeDef, tree_flatten, tree_unflatten


class Traced:
    """A function as a jaxpr, with the trees of its arguments and results."""

    def __init__(
        self,
        jaxpr: ClosedJaxpr,
        in_tree: PyTreeDef,
        out_tree: PyTreeDef,
        fun_name: str,
        device: Device | None,
        consts: Sequence[Any] = (),
    ):
        self.jaxpr = jaxpr
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.fun_name = fun_name
        self.device = device
        if consts:
            raise ValueError(
                f"{fun_name} closes over values of an outer transformation: trace or lower it outside"
            )

    def lower(self) -> Lowered:
        """The OpenCL program; nothing is built yet."""
        return Lowered(self)


class Lowered:
    """A function as an OpenCL program: kernels and the schedule that runs them."""

    def __init__(self, traced: Traced):
        self.traced = traced
        self.device = traced.device or default_device()
        self.in_tree = traced.in_tree
        self.out_tree = traced.out_tree
        self.lowered = lower_jaxpr(traced.jaxpr, self.device, traced.fun_name)

    def as_text(self, dialect: str | None = None) -> str:
        """The program as text: OpenCL C and schedule, or another stage (opencl/compile.py has the list).

        Raises ValueError for a dialect that there is not."""
        return self.lowered.as_text(dialect)

    def compile(self) -> Compiled:
        """Builds the program for its device."""
        return Compiled(self.traced, self.lowered.compile())


class Compiled:
    """A built program: call it with arguments of the types that it was traced for."""

    def __init__(self, traced: Traced, executable: Executable):
        self.traced = traced
        self.executable = executable

    def as_text(self, dialect: str | None = None) -> str:
        return self.executable.as_text(dialect)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program. Raises TypeError for tracers, and for other types than the traced ones."""
        leaves, in_tree = tree_flatten((args, kwargs))
        if in_tree != self.traced.in_tree:
            raise TypeError(
                "Function compiled with input pytree does not match the input pytree it was called "
                f"with: compiled for {self.traced.in_tree}, called with {in_tree}"
            )
        if any(isinstance(x, Tracer) for x in leaves):
            raise TypeError(
                "Cannot apply JAX transformations to a function lowered and compiled for a particular "
                "signature: transform the jitted function itself, then lower and compile that"
            )
        for i, (x, expected) in enumerate(zip(leaves, self.traced.jaxpr.in_avals)):
            got = get_aval(x)
            if (got.shape, got.dtype) != (expected.shape, expected.dtype):
                raise TypeError(
                    "Argument types differ from the types for which this computation was compiled: "
                    f"argument {i} compiled with {expected.str_short()} and called with "
                    f"{got.str_short()}. Call the jitted function itself, which compiles anew"
                )
        arrays = [
            x if isinstance(x, ArrayImpl) else ArrayImpl(to_numpy(x, aval), aval)
            for x, aval in zip(leaves, self.traced.jaxpr.in_avals)
        ]
        return tree_unflatten(self.traced.out_tree, self.executable(arrays))
