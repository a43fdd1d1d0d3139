"""Which equations share a kernel with a reduction: its siblings, what follows, what it reads.

A reduction's kernel has one of three forms:

- *rows*: the elements along the last axes are combined. A work-item, or a GPU's work-group, takes whole rows,
  and sweeps over each as often as there are reductions that depend on each other; everything that needs only
  the same row belongs to the kernel: softmax, layer norm, log_softmax and their derivatives.
- *columns*: other axes are combined. The last ones stay, and with them vectors of contiguous elements.
- *split*: few results of very many elements: each work-item combines a part of these.

The other two forms include the reduction's siblings, and everything computed elementwise from the results. A
group must not depend on itself through another kernel: each equation has a *stage*, the number of reduction
kernels before it, and all equations of a group have the same stage.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

from tinyjax.compile.fusion import cost_model
from tinyjax.compile.kernel import rules
from tinyjax.compile.target import Target
from tinyjax.core.jaxpr import Atom, JaxprEqn, Var, has_effects


@dataclass(frozen=True)
class Form:
    """How a kernel combines: `outer` x `combined` x `inner` elements along the middle of three axes.

    `kind` is 'rows', 'columns' or 'split'; `inner` is 1 for rows."""

    kind: str
    outer: int
    reduction_size: int
    inner: int = 1

    @property
    def results(self) -> int:
        return self.outer * self.inner


@dataclass(eq=False)
class Cluster:
    """Equations that one kernel computes, because of the reductions among them."""

    form: Form
    stage: int
    number: int
    eqns: dict[JaxprEqn, str] = field(default_factory=dict)  # and why each is here
    operands: set[Var] = field(default_factory=set)  # operands made elsewhere

    def has_room(self, eqn: JaxprEqn, made: Sequence[Var] = ()) -> bool:
        """Whether another equation can join; `made` are its operands that this cluster computes."""
        operands = self.operands | set(variables(eqn)).difference(made)
        return (
            len(operands) <= cost_model.MAX_OPERANDS
            and len(self.eqns) < cost_model.MAX_REDUCTION_EQUATIONS
        )


def form_of(eqn: JaxprEqn, lowering: Any, target: Target) -> Form | None:
    """The form of a reduction's kernel. None for others, and for sums of few rows, which are elementwise."""
    if not isinstance(lowering, rules.Reduction) or lowering.term is not rules.element_along_axes:
        return None
    results, combined = eqn.outvars[0].aval.size, math.prod(rules.axes_sizes(eqn))
    if results == 0 or combined <= 1:
        return None
    axes, shape = eqn.params["axes"], eqn.invars[0].aval.shape
    # The kinds of the axes, k(ept) or c(ombined), each run of them as one letter
    kinds = [("c" if axis in axes else "k", size) for axis, size in enumerate(shape) if size > 1]
    letters = "".join(letter for letter, _ in groupby(kinds, key=itemgetter(0)))
    columns = math.prod(shape[max(axis for axis in axes if shape[axis] > 1) + 1 :])
    in_vectors, in_groups = target.accumulators > 1, target.group > 1
    has_columns = letters in ("ck", "kck") and (in_vectors or columns >= cost_model.MIN_COLUMNS)
    if has_columns and combined <= cost_model.FEW_TERMS:
        return None
    by_columns = Form("columns", results // columns, combined, columns)
    if has_columns and in_vectors:
        return by_columns
    few, is_contiguous = results * 4 <= target.reduction_items, letters in ("c", "kc")
    if few and combined >= 4 * target.reduction_grain:
        return Form("split", *((results, combined) if is_contiguous else (1, combined, results)))
    if has_columns and in_groups and combined >= cost_model.MIN_ROWS:
        return by_columns
    return Form("rows", results, combined) if is_contiguous and (in_vectors or in_groups) else None


# ---- staying in a row ----


def leading_axes(shape: Sequence[int], rows: int) -> int | None:
    """How many axes number the `rows` rows of an array; None if none do."""
    counts = range(len(shape) + 1)
    return next((count for count in counts if math.prod(shape[:count]) == rows), None)


def keeps_row(eqn: JaxprEqn, v: Var, lowering: Any, rows: int) -> bool:
    """Whether each element of the result needs only elements of `v` in the same one of `rows` rows."""
    out, shape = eqn.outvars[0].aval, v.aval.shape
    leading = leading_axes(out.shape, rows)
    if leading is None or leading_axes(shape, rows) is None:
        return False
    if isinstance(lowering, rules.Elementwise):
        return shape == out.shape or shape[:leading] == out.shape[:leading]
    if eqn.primitive.name == "broadcast_in_dim":
        to_axis = dict(zip(eqn.params["broadcast_dimensions"], shape))
        return all(to_axis.get(axis, 1) == out.shape[axis] for axis in range(leading))
    return eqn.primitive.name in ("reshape", "squeeze") or combines_nothing(eqn, lowering)


def combines_nothing(eqn: JaxprEqn, lowering: Any) -> bool:
    """Whether a reduction is along axes of size 1 only."""
    is_reduction = (
        isinstance(lowering, rules.Reduction) and lowering.term is rules.element_along_axes
    )
    return is_reduction and math.prod(rules.axes_sizes(eqn)) == 1


# ---- clusters ----


@dataclass
class Clusters:
    """The clusters of equations; `order` keeps each cluster's equations together."""

    eqns: Sequence[JaxprEqn]
    lowerings: Mapping[JaxprEqn, Any]
    target: Target
    alone: set[JaxprEqn]  # must not be in a cluster
    stored: Mapping[Var, str]  # values that will be in memory
    producer: Mapping[Var, JaxprEqn]
    readers: Mapping[Atom, Sequence[JaxprEqn]]
    of: dict[JaxprEqn, Cluster] = field(default_factory=dict)
    stage: dict[JaxprEqn, int] = field(default_factory=dict)
    open: dict[tuple[int, Form], Cluster] = field(default_factory=dict)

    def __post_init__(self) -> None:
        eqns = self.order = list(self.eqns)
        self.forms = {eqn: form_of(eqn, self.lowerings[eqn], self.target) for eqn in eqns}
        if not any(self.forms.values()):  # nothing begins a cluster
            return
        effects, last_effect = {eqn for eqn in eqns if has_effects(eqn)}, 0
        self.alone = self.alone | effects
        for eqn in eqns:
            cluster, reason = self._cluster_for(eqn)
            if cluster is None:
                self.stage[eqn] = self._stage_after(eqn, None)
            else:
                self._join(eqn, cluster, reason)
            if eqn in effects:
                last_effect = self.stage[eqn] = max(self.stage[eqn], last_effect)
        for eqn in reversed(eqns):
            self._join_readers(eqn)
        number = {eqn: cluster.number for eqn, cluster in self.of.items()}
        self.order = sorted(eqns, key=lambda eqn: (self.stage[eqn], number.get(eqn, -1)))

    def _join(self, eqn: JaxprEqn, cluster: Cluster, reason: str) -> None:
        self.of[eqn], self.stage[eqn], cluster.eqns[eqn] = cluster, cluster.stage, reason
        cluster.operands.update(v for v in variables(eqn) if self._home(v) is not cluster)
        cluster.operands.difference_update(eqn.outvars)

    def _home(self, v: Var) -> Cluster | None:
        return self.of.get(self.producer[v]) if v in self.producer else None

    def _stage_after(self, eqn: JaxprEqn, cluster: Cluster | None) -> int:
        """The first stage at which all operands are available, except those that `cluster` computes."""
        stage = 0
        for v in variables(eqn):
            home = self._home(v)
            if v in self.producer and (home is None or home is not cluster):
                stage = max(stage, self.stage[self.producer[v]] + (home is not None))
        return stage

    def _cluster_for(self, eqn: JaxprEqn) -> tuple[Cluster | None, str]:
        """The cluster that a reduction begins or joins, or that an equation continues, and the reason."""
        lowering = self.lowerings[eqn]
        if eqn in self.alone:
            return None, ""
        form = self.forms[eqn]
        homes = dict.fromkeys(home for v in variables(eqn) if (home := self._home(v)) is not None)
        for home in sorted(homes, key=lambda home: -home.stage):
            if self._continues(eqn, lowering, form, home):
                what = "row" if home.form.kind == "rows" else "result"
                return home, f"of what the kernel makes, it needs the same {what} alone"
        if form is None:
            return None, ""
        key = self._stage_after(eqn, None), form
        cluster = self.open.get(key)
        if cluster is None or not cluster.has_room(eqn):
            cluster = self.open[key] = Cluster(form, key[0], len(self.of))
            return cluster, f"a reduction begins a kernel: {form.kind}"
        return cluster, f"it combines arrays of that form too: {form.kind}"

    def _continues(self, eqn: JaxprEqn, lowering: Any, form: Form | None, home: Cluster) -> bool:
        if self._stage_after(eqn, home) > home.stage:
            return False
        made = [v for v in variables(eqn) if self._home(v) is home]
        if not home.has_room(eqn, made):
            return False
        if form is not None:
            return form == home.form and form.kind == "rows"
        return self._fits(eqn, lowering, home.form) and all(
            keeps_row(eqn, v, lowering, home.form.results) for v in made
        )

    def _fits(self, eqn: JaxprEqn, lowering: Any, form: Form) -> bool:
        """Whether the results are rows of the form's kernel, or have one number for each of its results."""
        is_map = isinstance(lowering, rules.Elementwise | rules.IndexMap)
        if not is_map and not combines_nothing(eqn, lowering):
            return False
        sizes = [form.results]
        if form.kind == "rows":
            sizes.append(form.results * form.reduction_size)
        shapes = [v.aval.shape for v in eqn.outvars]
        return all(math.prod(shape) in sizes for shape in shapes) and all(
            leading_axes(shape, rows) is not None
            for shape in shapes
            for rows in (form.outer, form.results)
        )

    def _join_readers(self, eqn: JaxprEqn) -> None:
        """A value that only one cluster reads is computed there, even if it is read more than once. An index
        map leaves a cluster that doesn't read it: it is computed where it is read."""
        readers = {reader: None for v in eqn.outvars for reader in self.readers[v]}
        clusters, home = {self.of.get(reader) for reader in readers}, self.of.get(eqn)
        if home in clusters or eqn in self.alone or len(clusters) != 1:
            return
        (cluster,) = clusters
        if cluster is None or (home and not self.stored.keys().isdisjoint(eqn.outvars)):
            return
        if home is not None and isinstance(self.lowerings[eqn], rules.IndexMap):
            return self._leave(eqn, home)
        if not isinstance(self.lowerings[eqn], rules.Elementwise):
            return
        form = cluster.form
        if any(v.aval.size != form.results * form.reduction_size for v in eqn.outvars):
            return
        if form.kind != "rows" and not self.stored.keys().isdisjoint(eqn.outvars):
            return  # that kernel stores only values computed from its results
        for reader in (reader for reader in readers if self.forms[reader] is None):
            lowering = self.lowerings[reader]
            keeps = (keeps_row(reader, v, lowering, form.outer) for v in eqn.outvars)
            if form.kind != "rows" or not all(keeps):
                return
        if cluster.has_room(eqn):
            self._leave(eqn, home)
            self._join(eqn, cluster, "only this kernel reads it")

    def _leave(self, eqn: JaxprEqn, home: Cluster | None) -> None:
        """The equation is no longer in its cluster; it comes after it."""
        if home is not None:
            del self.of[eqn], home.eqns[eqn]
            self.stage[eqn] = home.stage + 1


def variables(eqn: JaxprEqn) -> list[Var]:
    """The operands of an equation, without duplicates."""
    return list(dict.fromkeys([v for v in eqn.invars if isinstance(v, Var)]))
