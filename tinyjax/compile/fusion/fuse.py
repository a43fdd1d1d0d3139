"""Fusion: which equations share a kernel, which values get memory, and in which order the groups run.

A kernel computes each output element from the elements it needs, back through the equations (see lower.py).
So fusion only chooses where to stop: at the values that are *stored* in memory. A value is stored when

- the jaxpr returns it, or a host step, a loop or a branch makes or reads it;
- it is costly, and would be computed again: because a reader repeats it (a broadcast, an argmax), because two
  readers read it at different places, or because two kernels read it. A sum always counts as costly: computed
  again, its terms may be added in another order;
- it is joined from several arrays (a pad), and read at many places, or at places of the data;
- a reduction's kernel makes it (see reduction_groups.py), and another reads it;
- a product (of matrices, or a convolution) reads it, and it is computed or joined from several arrays; or it
  is a product itself, and a reader of it is not elementwise;
- it is one element of an array that an update then changes in place;
- it is made in order (see InOrder in rules.py), or read in order and costly;
- its reader would read more arrays than a kernel may have parameters.

All other values are recomputed in registers where they are read. Loops and branches are separate groups.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tinyjax.compile.fusion import cost_model
from tinyjax.compile.fusion.backward_slice import BackwardSlice, backward_slice
from tinyjax.compile.fusion.cost_record import operations, reduction_size
from tinyjax.compile.fusion.decisions import report
from tinyjax.compile.fusion.groups import Group, HostGroup, KernelGroup, LoopGroup, host_group
from tinyjax.compile.fusion.reduction_groups import Cluster, Clusters, variables
from tinyjax.compile.kernel import rules
from tinyjax.compile.kernel.known import OF_INDICES
from tinyjax.compile.passes.loops import is_control_flow, loop_of
from tinyjax.compile.record import is_recording
from tinyjax.compile.target import Target
from tinyjax.core.jaxpr import Atom, Jaxpr, JaxprEqn, Var, has_effects

# The values that a loop's kernel reads, and the equations by which it computes its other operands
LoopInputs = tuple[Sequence[Var], Sequence[JaxprEqn]]


def fuse(
    jaxpr: Jaxpr, target: Target, loops: Mapping[JaxprEqn, LoopInputs] = MappingProxyType({}),
    names: Mapping[Var, str] | None = None,
) -> list[Group]:  # fmt: skip
    """The groups of `jaxpr`, in an order in which they can run. `loops` has those that are one kernel; others
    read their operands. With `names`, the decisions are events of the current pass."""
    alone: set[JaxprEqn] = set()  # equations that would give a group too many arrays
    while True:
        plan = _Plan(jaxpr, target, loops, alone)
        groups = plan.group_all()
        too_large = {
            eqn
            for group in groups
            if isinstance(group, KernelGroup) and group.form is not None
            if len(group.inputs) + len(group.outputs) > cost_model.MAX_ARRAYS
            for eqn in group.eqns
        }
        if not too_large:
            groups = sorted(groups, key=lambda group: group.depth)
            groups = _just_in_time(groups, {*jaxpr.invars, *jaxpr.constvars})
            if names is not None and is_recording():
                joined = {eqn: cluster.eqns[eqn] for eqn, cluster in plan.cluster.items()}
                report(groups, plan.stored, joined, plan.refusals, names)
            return groups
        alone |= too_large


def _just_in_time(groups: list[Group], arguments: set[Var]) -> list[Group]:
    """The groups, each directly before the first reader of its results if that frees no memory later.

    Everything that a moved group reads must be an argument or also be read later. What jax.checkpoint
    recomputes is then in memory only from where the backward pass needs it. Host steps stay where they are,
    because they would separate kernels that are launched together; so do groups with effects, and those that
    read an argument which an update changes."""
    kept = arguments.difference(g.updated for g in groups if isinstance(g, KernelGroup))
    places = list(range(len(groups)))
    # The places of a value's first and last reader so far, from the end on
    first: dict[Var, int] = {}
    last: dict[Var, int] = {}
    for number, group in reversed(list(enumerate(groups))):
        place = min([first[v] for v in group.outputs if v in first], default=number)
        is_on_host = isinstance(group, HostGroup) and group.kind != "matmul"
        if is_on_host or any(map(has_effects, group.eqns)):
            place = number
        elif any(last.get(v, -1) < place for v in group.inputs if v not in kept):
            place = number
        places[number] = place
        for v in group.inputs:
            first[v] = min(place, first.get(v, place))
            last[v] = max(place, last.get(v, place))
    return [groups[n] for n in sorted(range(len(groups)), key=lambda n: (places[n], n))]


def _loop_group(eqn: JaxprEqn, inputs: Sequence[Var], before: Sequence[JaxprEqn]) -> LoopGroup:
    kind = "loop" if loop_of(eqn) else "branch"
    return LoopGroup(eqn.outvars, list(inputs), [*before, eqn], kind=kind)


class _Plan:
    def __init__(
        self, jaxpr: Jaxpr, target: Target, loops: Mapping[JaxprEqn, LoopInputs], alone: set[JaxprEqn],
    ):  # fmt: skip
        self.jaxpr = jaxpr
        self.target = target
        # A loop or a branch is a separate group: its operands and results are in memory.
        self.lowerings: dict[JaxprEqn, Any] = {
            e: _loop_group(e, *loops.get(e, (variables(e), ())))
            if is_control_flow(e)
            else rules.lowering_of(e, target)
            for e in jaxpr.eqns
        }
        self.overwritten: set[Atom] = set()  # in place, by updates and loops
        self._find_updates_in_place()
        self.producer = {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
        self.readers: dict[Atom, list[JaxprEqn]] = defaultdict(list)
        for eqn in jaxpr.eqns:
            for v in eqn.invars:
                self.readers[v].append(eqn)
        # Operations for one element, and nested index maps; none for a stored value.
        self.work: dict[Atom, float] = defaultdict(float)
        self.depth: dict[Atom, int] = defaultdict(int)
        self.size: dict[Var, int] = defaultdict(int)  # the equations that compute a value
        self.product: dict[Var, JaxprEqn] = {}  # the product that is recomputed for a value
        self.leaves: dict[Var, set[Var]] = {}  # the stored values that a value is computed from
        self.refusals: dict[Var, list[tuple[Group, str]]] = {}
        # The stored values, and why they are; arguments and constants are in memory anyway.
        self.stored: dict[Var, str] = dict.fromkeys([*jaxpr.invars, *jaxpr.constvars], "")
        self._store("the program returns it", [v for v in jaxpr.outvars if isinstance(v, Var)])
        for lowering in self.lowerings.values():
            if isinstance(lowering, LoopGroup):
                self._store("a loop or branch reads it", lowering.inputs)
        clusters = Clusters(
            jaxpr.eqns, self.lowerings, target, alone, self.stored, self.producer, self.readers
        )
        self.cluster, self.eqns = clusters.of, clusters.order
        self.number = {eqn: number for number, eqn in enumerate(self.eqns)}
        for eqn in self.eqns:
            self._decide(eqn)

    def _find_updates_in_place(self) -> None:
        """Updates of one window that take an argument to a result, such as a loop's carry, can be in place:
        in one work-item, or if the window is small enough, in a separate kernel. Other updates and loops may
        be on the way."""
        changed: set[Atom] = set(self.jaxpr.invars)
        last: set[Atom] = set(self.jaxpr.outvars)
        found: list[tuple[JaxprEqn, Atom, Var]] = []
        for eqn in self.jaxpr.eqns:
            lowering, pairs = self.lowerings[eqn], []
            if isinstance(lowering, LoopGroup) and (loop := loop_of(eqn)):
                pairs = [*zip(loop.carry, loop.last_carry)]
            if isinstance(lowering, rules.WindowUpdate | rules.Update):
                count = lowering.in_place.changed(eqn.outvars[0].aval.shape)
                many = eqn.outvars[0].aval.size >= cost_model.MIN_IN_PLACE * count
                if self.target.name == "work-item" or many:
                    pairs = [(eqn.invars[0], eqn.outvars[0])]
            for u, v in pairs:
                if u in changed:
                    changed.add(v)
                    found.append((eqn, u, v))
        for eqn, u, v in reversed(found):
            if v in last:
                last.add(u)
                if self.target.name == "work-item":
                    self.overwritten.add(u)
                if isinstance(self.lowerings[eqn], rules.WindowUpdate):
                    self.lowerings[eqn] = self.lowerings[eqn].in_place

    def _store(self, reason: str, values: Iterable[Var]) -> None:
        for v in values:
            self.stored.setdefault(v, reason)

    def _computed(self, eqn: JaxprEqn) -> list[Var]:
        """The operands that are not stored, in order: a set's order differs between processes."""
        return [v for v in dict.fromkeys(variables(eqn)) if v not in self.stored]

    # ---- what to store ----

    def _decide(self, eqn: JaxprEqn) -> None:
        """Estimates the work of the equation's results, and stores those that must be."""
        lowering = self.lowerings[eqn]
        if isinstance(lowering, (rules.OnHost, LoopGroup)):
            return self._store("the host or a loop makes it", eqn.outvars)
        if eqn in self.cluster:
            return self._decide_in_cluster(eqn)
        operands = list(dict.fromkeys(variables(eqn)))
        if isinstance(lowering, rules.InOrder):
            self._decide_in_order(eqn, lowering)
        if len(operands) > cost_model.MAX_BUFFERS:
            self.lowerings[eqn] = rules.OnHost("more operands than a kernel may have")
            return self._store("the host reads or makes it", [*operands, *eqn.outvars])
        leaves = set().union(*[{v} if v in self.stored else self.leaves[v] for v in operands])
        if len(leaves) > cost_model.MAX_BUFFERS:
            self._store("its reader would need too many arrays", operands)
            leaves = set(operands)
        self._end_products(eqn, lowering)
        if isinstance(lowering, rules.Reduction):
            again = (v for v in self._computed(eqn) if self._reads(eqn) > v.aval.size)
            self._store("it would be joined at each read", filter(self._is_joined, again))
        if isinstance(lowering, rules.Reduction) and self.target.name == "work-item":
            self._store("a sum of sums has no vectors", self._sums_in(eqn))
        is_index = not leaves and getattr(lowering, "op", "") in OF_INDICES
        work: float = 0 if is_index else operations(lowering)
        depth, size = 0, 1
        for v in self._computed(eqn):
            work += self.work[v]
            depth = max(depth, self.depth[v])
            size += self.size[v]
        work *= reduction_size(eqn, lowering)
        is_reshape = eqn.primitive.name == "reshape"
        depth += 4 if is_reshape else not isinstance(lowering, rules.Elementwise)
        if isinstance(lowering, rules.Reduction) and lowering.op in ("add", "mul"):
            work = max(work, cost_model.CHEAP_WORK + 1)
        for v in eqn.outvars:
            self.work[v], self.depth[v], self.leaves[v] = work, depth, leaves
            reason = self._reason_to_store(v)
            self.size[v] = size
            if size > cost_model.MAX_EQUATIONS:  # values that its operands share count once
                needed = backward_slice([v], self.producer, self.stored, self.lowerings)
                self.size[v] = len(needed.eqns)
            if self.size[v] > cost_model.MAX_EQUATIONS:
                reason = "it takes as many equations as a kernel may have"
            elif depth > cost_model.MAX_DEPTH:
                reason = "index maps upon index maps are too deep"
            if reason:
                self._store(reason, [v])

    def _decide_in_order(self, eqn: JaxprEqn, lowering: rules.InOrder) -> None:
        """Stores the results and costly operands. A one-window update's operands are stored too: they are
        then computed before the window changes."""
        self._store("it is made in order", eqn.outvars)
        if isinstance(lowering, rules.Update) and lowering.is_one_window:
            read = (v for v in self._computed(eqn) if v is not eqn.invars[0])
            self._store("an update reads it", read)
        costly = (v for v in self._computed(eqn) if self.work[v] > cost_model.CHEAP_WORK)
        self._store("it is costly, and read in order", costly)

    def _decide_in_cluster(self, eqn: JaxprEqn) -> None:
        """Stores the values of a reduction's kernel that others read."""
        cluster = self.cluster[eqn]
        self._end_products(eqn, self.lowerings[eqn])
        for v in eqn.outvars:
            self.leaves[v] = {v}
            if any(self.cluster.get(reader) is not cluster for reader in self.readers[v]):
                self._store("another kernel reads it", [v])

    def _end_products(self, eqn: JaxprEqn, lowering: rules.Lowering) -> None:
        """Stores operands that a product reads too often to recompute them in its kernel, and products that
        can't share a kernel with their readers."""
        if isinstance(lowering, rules.Product):
            made = (v for v in self._computed(eqn) if self.work[v])
            self._store("a product reads it", made)
            self.product[eqn.outvars[0]] = eqn
            return
        products = {v: self.product[v] for v in self._computed(eqn) if v in self.product}
        if not products:
            return
        first, shape = next(iter(products.values())), eqn.outvars[0].aval.shape
        fits = isinstance(lowering, rules.Elementwise) and first.outvars[0].aval.shape == shape
        fits = fits and eqn not in self.cluster
        ended = (v for v, product in products.items() if not fits or product is not first)
        self._store("a product's kernel ends here", ended)
        if fits:
            self.product.update((v, first) for v in eqn.outvars)

    def _sums_in(self, eqn: JaxprEqn) -> list[Var]:
        """The sums that would be recomputed for each element of a long, costly operand: their loops would
        keep the outer sum from adding vectors."""
        long = [v for v in self._computed(eqn) if v.aval.size > cost_model.MIN_COLUMNS]
        costly = [v for v in long if self.work[v] > cost_model.CHEAP_WORK]
        eqns = backward_slice(costly, self.producer, self.stored, self.lowerings).eqns
        return [
            v for e in eqns if isinstance(self.lowerings[e], rules.Reduction) for v in e.outvars
        ]

    def _is_joined(self, v: Var) -> bool:
        """Whether its elements come from several arrays, among which a kernel chooses for each element."""
        makers = backward_slice([v], self.producer, self.stored, self.lowerings).eqns
        return any(getattr(self.lowerings[e], "joins", False) for e in makers)

    def _reason_to_store(self, v: Var) -> str:
        """Why `v` has to be stored for its readers, or an empty text (see the top of this file)."""
        if any(isinstance(self.lowerings[eqn], rules.OnHost) for eqn in self.readers[v]):
            return "the host reads it"
        moved = [e for e in self.readers[v] if not isinstance(self.lowerings[e], rules.Elementwise)]
        if moved and self._is_joined(v):
            if sum(self._repeats(v, eqn) for eqn in moved) >= cost_model.MANY_READERS:
                return "it is joined from several arrays, and read at many places"
        if (
            self.overwritten
            and v.aval.size == 1
            and not self.overwritten.isdisjoint(self.leaves[v])
        ):
            return "an update changes what it is read from"
        return self._why_not_recompute(v)

    def _repeats(self, v: Var, eqn: JaxprEqn) -> int:
        """For how many readers an equation counts that isn't elementwise: for one, unless other operands give
        the places that it reads (a gather, a roll by a traced number). Then no border cuts its loop, and it
        counts as often as it reads all elements, and for many if data gives the places of half of them."""
        lowering = self.lowerings[eqn]
        is_cut = v is not eqn.invars[0] or getattr(lowering, "joins", False)
        places = () if is_cut else eqn.invars[1:]
        if not places or any(place.aval.dtype.kind not in "iu" for place in places):
            return 1
        weight = 2 * cost_model.MANY_READERS if type(lowering) is rules.IndexMap else 1
        return max(1, weight * self._reads(eqn) // max(1, v.aval.size))

    def _why_not_recompute(self, v: Var) -> str:
        """Why `v` should not be computed again wherever it is read, or an empty text.

        It may be if its work for one element is at most CHEAP_WORK. A costly value may not if one of its
        readers reads more elements than it has (`_reads`), or if it is read at several places."""
        if self.work[v] <= cost_model.CHEAP_WORK:
            return ""
        if any(self._reads(eqn) > v.aval.size for eqn in self.readers[v]):
            return "it is costly, and a reader repeats it"
        moved = self._is_read_at_several_places(v)
        return "it is costly, and read at several places" if moved else ""

    def _is_read_at_several_places(self, v: Var) -> bool:
        """Whether it has several readers, and one of them reads it at another place than its own: it is not
        Elementwise, or is in the cluster of a reduction."""
        readers = self.readers[v]
        moved = any(not isinstance(self.lowerings[eqn], rules.Elementwise) for eqn in readers)
        return len(readers) > 1 and (moved or any(eqn in self.cluster for eqn in readers))

    def _reads(self, eqn: JaxprEqn) -> int:
        """How many elements of an operand the equation reads."""
        lowering = self.lowerings[eqn]
        if isinstance(lowering, LoopGroup):
            return 0  # of operands that it does not compute itself
        return eqn.outvars[0].aval.size * reduction_size(eqn, lowering)

    def costly_values_in_two(self, groups: Sequence[Group]) -> set[Var]:
        """The costly values that more than one kernel computes."""
        kernels: dict[Var, int] = defaultdict(int)
        for group in groups:
            if isinstance(group, KernelGroup):
                for eqn in group.eqns:
                    for v in eqn.outvars:
                        kernels[v] += 1
        twice = {v for v, n in kernels.items() if n > 1 and self.work[v] > cost_model.CHEAP_WORK}
        # Storing the first of a chain stops the recomputation of all before it, but keeps the chain
        # after it in one piece. So store those that are read by something not computed twice.
        last = {v for v in twice if any(not twice.issuperset(r.outvars) for r in self.readers[v])}
        return (last or twice) - self.stored.keys()

    # ---- grouping ----

    def group_all(self) -> list[Group]:
        """The groups, after storing the costly values that two of them would compute."""
        while True:
            groups = self.group()
            computed_twice = self.costly_values_in_two(groups)
            if not computed_twice:
                for group in groups:
                    if isinstance(group, KernelGroup):
                        group.reasons = [self.stored[v] for v in group.outputs]
                return groups
            self._store("it is costly, and two kernels need it", computed_twice)

    def group(self) -> list[Group]:
        """Gives every stored value a kernel, shared with others of its shape where that is possible."""
        self.groups: list[Group] = []
        self.home: dict[Var, Group] = {}
        self.maps: dict[Hashable, list[KernelGroup]] = defaultdict(list)
        self.last_effect = 0  # the depth of the last equation with effects
        placed: set[Cluster] = set()
        for eqn in self.eqns:
            lowering, cluster = self.lowerings[eqn], self.cluster.get(eqn)
            if isinstance(lowering, (rules.OnHost, LoopGroup)):
                self._place_eqn(eqn, lowering)
            elif isinstance(lowering, rules.InOrder):
                needed = backward_slice(eqn.outvars, self.producer, self.stored, self.lowerings)
                read, eqns = list(needed.inputs), list(needed.eqns)
                updated = eqn.invars[0] if isinstance(lowering, rules.Update) else None
                self._place(KernelGroup(eqn.outvars, read, eqns, in_order=eqn, updated=updated))
            elif cluster is None:
                for v in eqn.outvars:
                    if v in self.stored:
                        self._place_value(v)
            elif cluster not in placed:
                placed.add(cluster)
                self._place_cluster(cluster)
        return self.groups

    def _place_eqn(self, eqn: JaxprEqn, lowering: Any) -> None:
        """Makes a group of one equation; those with effects keep their order."""
        group: Group = lowering
        if isinstance(lowering, rules.OnHost):
            group = host_group(eqn, lowering.reason, lowering.kind)
        self._place(group)
        if has_effects(eqn):
            group.depth = self.last_effect = max(group.depth, self.last_effect)

    def _place(self, group: Group) -> None:
        depths = [self.home[v].depth for v in group.inputs if v in self.home]
        group.depth = 1 + max(depths, default=0)
        self.groups.append(group)
        self.home.update(dict.fromkeys(group.outputs, group))

    def _place_value(self, v: Var) -> None:
        """The kernel of a value: one of its shape that runs late enough, or a new one."""
        needed = backward_slice([v], self.producer, self.stored, self.lowerings)
        product = next(
            (e for e in needed.eqns if isinstance(self.lowerings[e], rules.Product)), None
        )
        alike = self.maps[v.aval.shape, product]
        self.refusals[v] = []
        for group in alike[-cost_model.MAX_TRIED :]:
            why_not = self._why_not_join(v, needed, group)
            if not why_not:
                group.join(v, needed)
                self.home[v] = group
                return
            self.refusals[v].append((group, why_not))
        alike.append(KernelGroup([v], list(needed.inputs), list(needed.eqns), product=product))
        self._place(alike[-1])

    def _place_cluster(self, cluster: Cluster) -> None:
        """The kernel of a reduction, and of what belongs to it."""
        members = sorted(cluster.eqns, key=self.number.__getitem__)
        made_here = {v for eqn in members for v in eqn.outvars}
        outputs = [v for eqn in members for v in eqn.outvars if v in self.stored]
        stored = self.stored.keys() - made_here
        needed = backward_slice(outputs, self.producer, stored, self.lowerings)
        eqns = sorted(needed.eqns, key=self.number.__getitem__)
        read = dict.fromkeys(w for eqn in reversed(eqns) for w in variables(eqn))
        inputs = [w for w in read if w in needed.inputs]
        self._place(KernelGroup(outputs, inputs, eqns, kind=cluster.form.kind, form=cluster.form))

    def _why_not_join(self, v: Var, needed: BackwardSlice, group: KernelGroup) -> str:
        """Why the kernel of a group can't also store `v`, which has its shape and reads `needed.inputs`;
        empty if it can. It may have MAX_BUFFERS arrays, and MAX_EQUATIONS_IN_ALL."""
        if reason := self._why_not_read(needed.inputs, group):
            return reason
        if len({*group.inputs, *group.outputs, v, *needed.inputs}) > cost_model.MAX_BUFFERS:
            return "it would have too many arrays"
        if len({*group.eqns, *needed.eqns}) > cost_model.MAX_EQUATIONS_IN_ALL:
            return "it would have too many equations"
        return ""

    def _why_not_read(self, inputs: Mapping[Var, bool], group: KernelGroup) -> str:
        """Why the work-items of a group's kernel can't read all of these values; empty if they can.

        A value that the group itself makes can only be read at the element's own place: it is True in
        `inputs`. The group that makes any other value must have a smaller depth. `home` maps a value to the
        group that makes it; other values are arguments."""
        for u, same_place in inputs.items():
            maker = self.home.get(u)
            if maker is group and not same_place:
                return "this reads other elements of what it makes"
            if maker is not None and maker is not group and maker.depth >= group.depth:
                return "what this reads may be made after it"
        return ""
