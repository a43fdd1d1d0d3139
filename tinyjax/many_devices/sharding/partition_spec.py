"""PartitionSpec: the mesh axes that each axis of an array is split over.

P("x", None, ("y", "z")): axis 0 of the array is split over the devices along the mesh's axis "x", axis 1 is
replicated, and axis 2 is split over "y", and each part of it over "z". Omitted axes are replicated. A spec
has only names; the mesh has the sizes.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator, Sequence
from typing import Any

from tinyjax.many_devices.placing import OutSharding


class _Unconstrained:
    """In a constraint: this axis of the array may be split in any way."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "UNCONSTRAINED"  # there is one


UNCONSTRAINED = _Unconstrained()


class UnreducedKind(enum.Enum):
    """How the devices' parts combine to the whole array: their sum, maximum or minimum."""

    sum = enum.auto()
    max = enum.auto()
    min = enum.auto()


class PartitionSpec(OutSharding):
    """For each axis of an array, the mesh axis that it is split over: a name, some names, or None.

    `unreduced`: mesh axes along which each device has a part of a pending sum (or of another
    `unreduced_kind`); `reduced`: those along which a cotangent will be such a sum. Also `jax.P`. Raises
    ValueError for an axis that is in two of the three, and for a kind without `unreduced` axes, TypeError for
    names that aren't a set and a kind that isn't an UnreducedKind."""

    __slots__ = ("partitions", "reduced", "unreduced", "unreduced_kind")
    UNCONSTRAINED = UNCONSTRAINED

    def __init__(
        self,
        *partitions: Any,
        unreduced: Any = frozenset(),
        reduced: Any = frozenset(),
        unreduced_kind: UnreducedKind | None = None,
    ):
        self.partitions = tuple(map(_one_form, partitions))
        self.unreduced, self.reduced = _as_set("unreduced", unreduced), _as_set("reduced", reduced)
        self.unreduced_kind = _checked_kind(unreduced_kind, self.unreduced)
        split = set(self.names)
        for what, names in (("unreduced", self.unreduced), ("reduced", self.reduced)):
            if names & split:
                raise ValueError(
                    f"partitions cannot overlap with {what} axes passed to PartitionSpec. Got partitions: "
                    f"{self.partitions} and {what} axes: {names}"
                )
        if self.unreduced & self.reduced:
            raise ValueError(
                "`unreduced` and `reduced` argument to PartitionSpec cannot overlap. Got "
                f"unreduced={self.unreduced} and reduced={self.reduced}"
            )

    @property
    def names(self) -> list[Any]:
        """The mesh axes that axes of the array are split over, in order."""
        return [name for entry in self.partitions for name in names_of(entry)]

    def update(self, **changes: Any) -> PartitionSpec:
        """A copy with other `partitions`, `unreduced`, `reduced` or `unreduced_kind`."""
        kept = ("unreduced", "reduced", "unreduced_kind")
        fields = {name: getattr(self, name) for name in kept} | changes
        return PartitionSpec(*fields.pop("partitions", self.partitions), **fields)

    def _entries(self, count: int) -> tuple:
        return (*self.partitions, *(None,) * (count - len(self)))

    def without_axis(self, axis: int) -> PartitionSpec:
        """The spec of slices along an axis of the array, which isn't split."""
        entries = self._entries(axis + 1)
        return self.update(partitions=(*entries[:axis], *entries[axis + 1 :]))

    def with_axis(self, axis: int, split: Any = None) -> PartitionSpec:
        """The spec of arrays stacked along a new axis, which may be split."""
        entries = self._entries(axis)
        return self.update(partitions=(*entries[:axis], split, *entries[axis:]))

    def with_axes(self, axes: Sequence[int]) -> PartitionSpec:
        """The spec of the array with its axes in this order."""
        entries = self._entries(max(axes, default=-1) + 1)
        return self.update(partitions=tuple(entries[a] for a in axes))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __getitem__(self, index: Any) -> Any:
        return self.partitions[index]

    def index(self, entry: Any) -> int:
        return self.partitions.index(entry)

    def count(self, entry: Any) -> int:
        return self.partitions.count(_one_form(entry))

    def __add__(self, other: Any) -> PartitionSpec:
        if isinstance(other, PartitionSpec):
            if self.unreduced_kind is not other.unreduced_kind:
                raise TypeError(
                    "PartitionSpec can't be added if the unreduced_kind differs in self and other. Got "
                    f"{self=} and {other=}"
                )
            return PartitionSpec(
                *self.partitions,
                *other.partitions,
                unreduced=self.unreduced | other.unreduced,
                reduced=self.reduced | other.reduced,
                unreduced_kind=self.unreduced_kind,
            )
        return (
            self.update(partitions=(*self.partitions, *other))
            if isinstance(other, tuple)
            else NotImplemented
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple:
        return self.partitions, self.unreduced, self.reduced, self.unreduced_kind

    def __reduce__(self) -> tuple:
        return _remade, self._key

    def __repr__(self) -> str:
        parts = repr(self.partitions)[1:-1]
        for what in ("unreduced", "reduced"):
            if names := getattr(self, what):
                in_order = ", ".join(sorted(map(repr, names)))
                parts = f"{parts.rstrip(',')}{', ' if parts else ''}{what}={{{in_order}}}"
        if self.unreduced_kind:
            parts += f", unreduced_kind={self.unreduced_kind.name}"
        return f"P({parts})"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ManualAxisType:
    """The mesh axes in a type within shard_map: along `varying`, devices have different values.

    The others are as in PartitionSpec; tinyjax's types don't have them. Raises TypeError for an argument that
    isn't a set, ValueError for a varying axis that is also in another set."""

    varying: frozenset = frozenset()
    unreduced: frozenset = frozenset()
    reduced: frozenset = frozenset()
    unreduced_kind: UnreducedKind | None = None

    def __post_init__(self) -> None:
        for what in ("varying", "unreduced", "reduced"):
            names = _as_set(what, getattr(self, what), "ManualAxisType")
            object.__setattr__(self, what, names)
            if what != "varying" and names & self.varying:
                raise ValueError(
                    f"varying and {what} cannot have common mesh axes. Got varying={self.varying} and "
                    f"{what}={names}"
                )
        kind = _checked_kind(self.unreduced_kind, self.unreduced)
        object.__setattr__(self, "unreduced_kind", kind)

    def update(self, **changes: Any) -> ManualAxisType:
        """A copy with other axes."""
        return dataclasses.replace(self, **changes)


P = PartitionSpec


def _remade(
    partitions: tuple, unreduced: frozenset, reduced: frozenset, kind: UnreducedKind | None
) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced, unreduced_kind=kind)


def names_of(entry: Any) -> tuple:
    """The mesh axes that an entry of a spec names."""
    if entry is None or entry is UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


def names_at(spec: PartitionSpec, axis: int) -> tuple:
    """The mesh axes that an axis of the array is split over; a spec may leave out the last axes."""
    return names_of(spec[axis]) if axis < len(spec) else ()


def entry_of(names: tuple) -> Any:
    """The entry of a spec for these axes: the inverse of `names_of`."""
    return _one_form(tuple(names))


def _one_form(entry: Any) -> Any:
    """The normal form of an entry: None for no axis, also written as (), 0 or ""; a name for one axis; a
    tuple for several."""
    if not entry:
        return None
    if isinstance(entry, (list, tuple)):
        return entry[0] if len(entry) == 1 else tuple(entry)
    return entry


def _as_set(what: str, names: Any, of: str = "PartitionSpec") -> frozenset:
    """The names in an argument. Raises TypeError unless it is a set."""
    if not isinstance(names, (set, frozenset)):
        raise TypeError(
            f"{what} argument of {of} should be `frozenset` or `set`. Got type {type(names)}"
        )
    return frozenset(names)


def _checked_kind(kind: Any, unreduced: frozenset) -> UnreducedKind | None:
    """The kind of reduction; a sum by default, None without unreduced axes."""
    if kind is not None and not isinstance(kind, UnreducedKind):
        raise TypeError(
            "Expected unreduced_kind to be of type `jax.sharding.UnreducedKind` but got "
            f"{type(kind)}"
        )
    if kind is not None and not unreduced:
        raise ValueError(
            "`unreduced_kind` should be `None` when `unreduced` is an empty set. Got "
            f"unreduced_kind={kind}"
        )
    return UnreducedKind.sum if unreduced and kind is None else kind
