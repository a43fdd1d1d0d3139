"""A random program for shard_map, as a function in JAX, and on a machine of many devices in NumPy.

It has a mesh, arguments with specs, steps, and results with specs. Each step is written twice: for JAX, as
one device sees it, and for NumPy, as a function of the values of all devices, along a new axis 0."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cpu_devices import cpu_devices

import tinyjax as jax
from tinyjax.sharding import Mesh, PartitionSpec

MESHES = ({"x": 2}, {"x": 4}, {"x": 3}, {"x": 2, "y": 2}, {"x": 4, "y": 2}, {"x": 2, "y": 3})
MOST_ELEMENTS = 200  # of one device's part


@dataclass(frozen=True)
class Kind:
    """What is known of a value: one device's shape, and the axes over which it varies."""

    shape: tuple[int, ...]
    vma: frozenset[str]


@dataclass
class Step:
    """`text`, of values by number; `of_part` is the step in JAX, `of_all` that of the values of all devices,
    which are along a new axis 0."""

    text: str
    operands: list[int]
    of_part: Callable[..., Any]
    of_all: Callable[..., np.ndarray]


@dataclass
class Program:
    seed: int
    mesh: dict[str, int]
    specs: list[tuple] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)  # of whole arguments
    steps: list[Step] = field(default_factory=list)
    kinds: list[Kind] = field(default_factory=list)
    results: list[tuple[int, tuple]] = field(default_factory=list)  # value, spec

    def __str__(self) -> str:
        lines = [f"seed {self.seed}: mesh {self.mesh}"]
        named = zip(self.shapes, self.specs)
        lines += [f"  v{i} = argument of {shape}, {spec}" for i, (shape, spec) in enumerate(named)]
        for i, step in enumerate(self.steps, len(self.specs)):
            of = ", ".join(f"v{n}" for n in step.operands)
            kind = self.kinds[i]
            lines.append(f"  v{i} = {step.text}({of})  # {kind.shape} {sorted(kind.vma)}")
        lines += [f"  return v{value}, {spec}" for value, spec in self.results]
        return "\n".join(lines)


# ---- devices in NumPy ----


def coordinates(mesh: dict[str, int]) -> list[dict[str, int]]:
    """Where each device is, in the mesh's order."""
    places = itertools.product(*map(range, mesh.values()))
    return [dict(zip(mesh, place)) for place in places]


def number(mesh: dict[str, int], at: dict[str, int], names: tuple[str, ...]) -> int:
    """A device's place along several axes as one."""
    place = 0
    for name in names:
        place = place * mesh[name] + at[name]
    return place


def peers(mesh: dict[str, int], at: dict[str, int], names: tuple[str, ...]) -> list[int]:
    """The devices that differ from one along these axes alone, in their order."""
    places = coordinates(mesh)
    found = [i for i, p in enumerate(places) if all(p[n] == at[n] for n in mesh if n not in names)]
    return sorted(found, key=lambda i: number(mesh, places[i], names))


def part(whole: np.ndarray, spec: tuple, mesh: dict[str, int], at: dict[str, int]) -> np.ndarray:
    """One device's part of an array, or a view of where it is in the result."""
    index = []
    for size, names in itertools.zip_longest(whole.shape, spec, fillvalue=()):
        length = size // math.prod(mesh[n] for n in names)
        start = number(mesh, at, names) * length
        index.append(slice(start, start + length))
    return whole[tuple(index)]


def collective(mesh: dict[str, int], names: tuple, fun: Callable) -> Callable:
    """Of all values: what `fun` of each device's peers' values, and its number among them, gives."""

    def of_all(xs: np.ndarray) -> np.ndarray:
        outs = []
        for at in coordinates(mesh):
            outs.append(fun([xs[i] for i in peers(mesh, at, names)], number(mesh, at, names)))
        return np.stack(outs)

    return of_all


def whole_shape(shape: tuple, spec: tuple, mesh: dict[str, int]) -> tuple[int, ...]:
    entries = itertools.zip_longest(shape, spec, fillvalue=())
    return tuple(size * math.prod(mesh[n] for n in names) for size, names in entries)


def reference(program: Program, args: list[np.ndarray]) -> list[np.ndarray]:
    """The results, by NumPy in the arguments' dtype."""
    places = coordinates(program.mesh)
    values = [
        np.stack([part(x, spec, program.mesh, at) for at in places])
        for x, spec in zip(args, program.specs)
    ]
    for step in program.steps:
        values.append(np.asarray(step.of_all(*[values[i] for i in step.operands])))
    results = []
    for value, spec in program.results:
        shape = whole_shape(values[value].shape[1:], spec, program.mesh)
        whole = np.empty(shape, values[value].dtype)
        for i, at in reversed(list(enumerate(places))):  # of equal ones, the first
            part(whole, spec, program.mesh, at)[...] = values[value][i]
        results.append(whole)
    return results


# ---- the program in JAX ----


@functools.cache
def mesh_of(axes: tuple[tuple[str, int], ...]) -> Mesh:
    sizes = [size for _, size in axes]
    devices = np.array(cpu_devices(math.prod(sizes)), object).reshape(sizes)
    return Mesh(devices, [name for name, _ in axes])


def mapped(program: Program, check_vma: bool = True) -> Callable:
    def of_parts(*parts: Any) -> tuple:
        values = list(parts)
        for step in program.steps:
            values.append(step.of_part(*[values[i] for i in step.operands]))
        return tuple(values[i] for i, _ in program.results)

    return jax.shard_map(
        of_parts,
        mesh=mesh_of(tuple(program.mesh.items())),
        in_specs=tuple(PartitionSpec(*spec) for spec in program.specs),
        out_specs=tuple(PartitionSpec(*spec) for _, spec in program.results),
        check_vma=check_vma,
    )


# ---- drawing ----


class Drawing:
    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.program = Program(seed, self.rng.choice(MESHES))
        self.mesh = self.program.mesh
        self.places = coordinates(self.mesh)

    def names(self, among: Any, least: int = 1) -> tuple[str, ...]:
        """Some of these axes, in any order."""
        among = sorted(among)
        return tuple(self.rng.sample(among, self.rng.randint(least, len(among))))

    def spec(self, names: Any, ndim: int) -> tuple:
        """A spec that has these names, at some of the axes."""
        entries: list[list[str]] = [[] for _ in range(ndim)]
        for name in self.rng.sample(sorted(names), len(names)):
            self.rng.choice(entries).append(name)
        return tuple(map(tuple, entries))

    def argument(self) -> None:
        shape = tuple(
            self.rng.choice((1, 2, 3, 4)) for _ in range(self.rng.choice((1, 1, 2, 2, 3)))
        )
        spec = self.spec(self.names(self.mesh, least=0), len(shape))
        self.program.specs.append(spec)
        self.program.shapes.append(whole_shape(shape, spec, self.mesh))
        self.program.kinds.append(Kind(shape, frozenset(n for names in spec for n in names)))

    def step(self, makers: Sequence[Callable]) -> None:
        """Draws until a step fits."""
        while True:
            value = self.rng.randrange(len(self.program.kinds))
            made = self.rng.choice(makers)(self, value, self.program.kinds[value])
            if made and math.prod(made[0].shape) <= MOST_ELEMENTS:
                self.program.kinds.append(made[0])
                self.program.steps.append(made[1])
                return

    def result(self, value: int) -> None:
        kind = self.program.kinds[value]
        if not kind.shape:
            self.program.kinds.append(Kind((1,), kind.vma))
            value_of = lambda x: x.reshape(*x.shape, 1)  # noqa: E731
            step = Step("reshape", [value], lambda x: x.reshape(1), value_of)
            self.program.steps.append(step)
            value, kind = len(self.program.kinds) - 1, self.program.kinds[-1]
        more = self.names(set(self.mesh) - kind.vma, least=0) if self.rng.random() < 0.2 else ()
        spec = self.spec({*kind.vma, *more}, len(kind.shape))
        self.program.results.append((value, spec))
