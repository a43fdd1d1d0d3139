"""The groups of a program: what runs on the host, as a kernel, or as a loop.

A group is the unit of a schedule: its equations run as one, and only its outputs are stored in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tinyjax.compile.fusion.backward_slice import BackwardSlice
from tinyjax.compile.fusion.reduction_groups import Form
from tinyjax.compile.passes.loops import loop_of
from tinyjax.core.jaxpr import Atom, JaxprEqn, Var


@dataclass
class Group:
    """Equations that run as one: what they make, and what they read. `depth`: it runs after all groups of
    smaller depth. `kind` is its word in a schedule, `reason` says why it is no kernel."""

    outputs: list[Var]
    inputs: list[Var]
    eqns: list[JaxprEqn]
    depth: int = 0
    kind: str = "kernel"
    reason: str = ""

    def overwritten(self, v: Atom) -> Atom | None:
        """The input whose memory the output `v` can take, if nothing reads that input later."""
        return None

    @property
    def eqn(self) -> JaxprEqn:
        """The equation of a host step, a loop or a branch."""
        return self.eqns[-1]


class HostGroup(Group):
    """One equation that runs on the host. NumPy computes it ("host"), BLAS does ("matmul"), or all processes
    together ("meet"); the last two work in the device's memory if possible."""


class LoopGroup(Group):
    """One equation of while, scan or cond ("loop" or "branch"), which runs the jaxprs among its parameters.

    A loop that is one kernel may compute operands itself, by the equations before. Then `inputs` has the
    inputs of these equations instead of those operands."""

    def overwritten(self, v: Atom) -> Atom | None:
        """The carry that a loop begins with."""
        loop = loop_of(self.eqn)
        begins: dict[Atom, Atom] = dict(zip(loop.last_carry, loop.carry)) if loop else {}
        return begins.get(v)


@dataclass
class KernelGroup(Group):
    """Values that one kernel stores, reading `inputs`; `eqns` are computed inside.

    They have one shape, or are the results of a reduction's kernel of that `form`, whose kind is the group's.
    `reasons` says why each is stored. `product`: the one product among the equations, which determines the
    schedule; outputs have its shape. `in_order`: the equation that makes all outputs element after element;
    `updated`: its first operand, if it changes windows of that."""

    form: Form | None = None
    reasons: list[str] = field(default_factory=list)
    product: JaxprEqn | None = None
    in_order: JaxprEqn | None = None
    updated: Atom | None = None

    def overwritten(self, v: Atom) -> Atom | None:
        """The array that an update changes."""
        return self.updated

    def join(self, v: Var, needed: BackwardSlice) -> None:
        """Stores `v` too, and reads and computes what it needs."""
        self.outputs.append(v)
        self.inputs += [u for u in needed.inputs if u not in self.inputs and u not in self.outputs]
        self.eqns = list(dict.fromkeys([*self.eqns, *needed.eqns]))


def host_group(eqn: JaxprEqn, reason: str, kind: str = "host") -> HostGroup:
    inputs = [v for v in eqn.invars if isinstance(v, Var)]
    return HostGroup(eqn.outvars, inputs, [eqn], kind=kind, reason=reason)
