"""What fusion decided, as events: which values are stored, which kernel each is in, and why.

A value is stored, joins a kernel or is kept apart from one, or is recomputed where it is read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from tinyjax.compile.fusion.groups import Group, KernelGroup
from tinyjax.compile.record import event
from tinyjax.core.jaxpr import JaxprEqn, Var

Refusals = Mapping[Var, Sequence[tuple[Group, str]]]  # the kernels that a value can't join, and why


def report(
    groups: Sequence[Group], reasons: Mapping[Var, str], joined: Mapping[JaxprEqn, str],
    refusals: Refusals, names: Mapping[Var, str],
) -> None:  # fmt: skip
    """An event for each value, in the order of the kernels. `reasons` says why values are stored, `joined`
    why equations are in the kernel of a reduction."""
    number = {id(group): n for n, group in enumerate(groups)}
    recomputed: dict[JaxprEqn, list[str]] = defaultdict(list)
    for group in groups:
        kernel = f"k{number[id(group)]}"
        producer = {v: eqn for eqn in group.eqns for v in eqn.outvars}
        for place, v in enumerate(group.outputs):
            name, eqn = names[v], producer[v]
            event(name, "stored", reasons.get(v, ""), eqn)
            for other, why in refusals.get(v, ()):
                event(name, f"does not join k{number[id(other)]}", why, eqn)
            if isinstance(group, KernelGroup) and eqn not in joined:
                why = "it has that shape, and what it reads is there"
                why = why if place else "it is the first"
                event(name, f"joins {kernel}", why, eqn)
        for eqn in group.eqns:
            if eqn in joined and isinstance(group, KernelGroup) and group.form is not None:
                event(names[eqn.outvars[0]], f"joins {kernel}", joined[eqn], eqn)
            elif not set(eqn.outvars) & set(group.outputs):
                recomputed[eqn].append(kernel)
    for eqn, kernels in recomputed.items():
        is_read_once = len(kernels) == 1
        why = "one kernel reads it" if is_read_once else "it costs less than to store and read it"
        event(names[eqn.outvars[0]], f"recomputed in {', '.join(kernels)}", why, eqn)
