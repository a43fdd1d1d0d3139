"""The groups of a program: what runs on the host, as a kernel, or as a loop.

A group has its equations, what they read, and what they make.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tinyjax.compile.fusion.backward_slice import BackwardSlice
from tinyjax.compile.fusion.reduction_groups import Form
from tinyjax.compile.passes.loops import loop_of
from tinyjax.core.jaxpr import Atom, JaxprEqn, Var


@dataclass
class HostGroup:
    """One equation that runs on the host. NumPy computes it ("host"), BLAS does ("matmul"), or all processes
    together ("meet"); the last two work in the device's memory if possible.
    """

    eqn: JaxprEqn
    reason: str
    depth: int = 0
    kind: str = "host"

    @property
    def eqns(self) -> list[JaxprEqn]:
        return [self.eqn]

    @property
    def inputs(self) -> list[Var]:
        return [v for v in self.eqn.invars if isinstance(v, Var)]

    @property
    def outputs(self) -> list[Var]:
        return self.eqn.outvars


@dataclass
class KernelGroup:
    """Values that one kernel stores, reading `inputs`; `eqns` are computed inside.

    They have one shape, or are the results of a reduction's kernel of that `form`. `reasons` says why each is
    stored. `product`: the one product among the equations, which determines the schedule; outputs have its
    shape. `in_order`: the equation that makes all outputs element after element; `is_update` if it changes
    windows of its first operand."""

    outputs: list[Var]
    inputs: list[Var]
    eqns: list[JaxprEqn]
    form: Form | None = None
    reasons: list[str] = field(default_factory=list)
    depth: int = 0
    product: JaxprEqn | None = None
    in_order: JaxprEqn | None = None
    is_update: bool = False

    @property
    def kind(self) -> str:
        return self.form.kind if self.form else "kernel"

    @property
    def updated(self) -> Atom | None:
        """The array that an update changes."""
        return self.in_order.invars[0] if self.in_order and self.is_update else None

    def join(self, v: Var, needed: BackwardSlice) -> None:
        """Stores `v` too, and reads and computes what it needs."""
        self.outputs.append(v)
        self.inputs += [u for u in needed.inputs if u not in self.inputs and u not in self.outputs]
        self.eqns = list(dict.fromkeys([*self.eqns, *needed.eqns]))


@dataclass
class LoopGroup:
    """One equation of while, scan or cond, which runs the jaxprs among its parameters.

    A loop that is one kernel may compute operands itself by the equations `before`. Then `inputs` has the
    inputs of these equations instead of those operands."""

    eqn: JaxprEqn
    inputs: list[Var]
    before: list[JaxprEqn] = field(default_factory=list)
    depth: int = 0

    @property
    def kind(self) -> str:
        return "loop" if loop_of(self.eqn) else "branch"

    @property
    def eqns(self) -> list[JaxprEqn]:
        return [*self.before, self.eqn]

    @property
    def outputs(self) -> list[Var]:
        return self.eqn.outvars


Group = HostGroup | KernelGroup | LoopGroup
