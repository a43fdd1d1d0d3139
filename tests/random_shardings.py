"""Random programs for jit with shardings: what they compute does not depend on where arrays are.

A program is text, which any library with JAX's names runs: `say(value, spec)` is with_sharding_constraint,
`put(value, spec)` device_put, `inner(f, spec, spec)` a jit with in_shardings and out_shardings, and `parts(f,
spec)` a shard_map. Without a mesh these do nothing: that is the unsharded program."""

from __future__ import annotations

import functools
import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cpu_devices import cpu_devices

import tinyjax

MESHES = ({"x": 2}, {"x": 4}, {"x": 8}, {"x": 2, "y": 2}, {"x": 4, "y": 2}, {"x": 2, "y": 4})
SIZES = (1, 2, 4, 8, 16)
MOST_ELEMENTS = 1024
Spec = tuple[Any, ...]


@dataclass
class Program:
    seed: int
    mesh: dict[str, int]
    shapes: list[tuple[int, ...]] = field(default_factory=list)  # of all values, arguments first
    arguments: list[Spec | None] = field(default_factory=list)  # where they were put
    in_specs: list[Spec | None] | None = None
    lines: list[str] = field(default_factory=list)
    asked: dict[int, Spec] = field(default_factory=dict)  # value -> where the program says it is
    hints: set[int] = field(
        default_factory=set
    )  # of these, those that JAX on a CPU leaves where they are
    results: list[int] = field(default_factory=list)
    out_specs: list[Spec | None] | None = None

    @property
    def steps(self) -> list[str]:
        """What they do, by name."""
        texts = [line.split(" = ", 1)[1] for line in self.lines]
        return [re.sub(r"\bv\d+", "v", text).split("(")[0] for text in texts]

    @property
    def source(self) -> str:
        names = ", ".join(f"v{i}" for i in range(len(self.arguments)))
        results = "".join(f"v{i}, " for i in self.results)
        return "\n    ".join([f"def program({names}):", *self.lines, f"return {results}"])

    def __str__(self) -> str:
        named = zip(self.shapes, self.arguments)
        arguments = ", ".join(f"v{i} {shape} {spec}" for i, (shape, spec) in enumerate(named))
        said = f"in_shardings {self.in_specs}, out_shardings {self.out_specs}"
        return f"seed {self.seed}: mesh {self.mesh}; {arguments}; {said}\n{self.source}"


# ---- running ----


def disagreement(program: Program, jax: Any = None) -> str | None:
    """A description of what is wrong, or None; with the real `jax`, also of results with a requested sharding
    that are elsewhere than JAX's."""
    args = _arguments(program)
    want = [np.asarray(x) for x in _function(program, tinyjax, None)(*args)]
    mesh = _mesh(program, tinyjax)
    eager, jitted = _function(program, tinyjax, mesh), _jitted(program, tinyjax, mesh)
    placed = _placed(program, args, tinyjax, mesh)
    called = jitted(*placed)
    runs = {"eagerly": eager(*placed), "jitted": called, "called again": jitted(*placed)}
    if program.seed % 4 == 0:
        runs["compiled ahead"] = jitted.lower(*placed).compile()(*placed)
    for how, outs in runs.items():
        for i, (out, right) in enumerate(zip(outs, want)):
            if out.shape != right.shape or not np.allclose(out, right, rtol=1e-3, atol=1e-4):
                return f"result {i} differs {how}: {out}, and unsharded {right}"
            out.sharding.shard_shape(out.shape)  # raises, if it can't be split so
            if how != "eagerly" and out.sharding != called[i].sharding:
                return f"result {i} is at {out.sharding} {how}, first at {called[i].sharding}"
    asked = _asked(program)
    for i, spec in asked.items():
        place = _sharding(tinyjax, mesh, spec)
        if not called[i].sharding.is_equivalent_to(place, called[i].ndim):
            return f"result {i} is at {called[i].sharding}, asked for is {spec}"
    return None if jax is None else _differs_from(jax, program, args, called, asked)


def _differs_from(jax: Any, program: Program, args: Any, ours: Any, asked: Any) -> str | None:
    mesh = _mesh(program, jax)
    placed = _placed(program, [np.asarray(x) for x in args], jax, mesh)
    theirs = jax.block_until_ready(_jitted(program, jax, mesh)(*placed))
    out_specs = program.out_specs or [None] * len(ours)
    for i, (our, their) in enumerate(zip(ours, theirs)):
        if not np.allclose(our, their, rtol=1e-3, atol=1e-4):
            return f"result {i} is {our}, in JAX {their}"
        is_hint = program.results[i] in program.hints and out_specs[i] is None
        if i in asked and not is_hint and _parts(our) != _parts(their):
            return f"result {i} is at {our.sharding}, in JAX {their.sharding}"
    return None


def _parts(x: Any) -> list[Any]:
    """The elements that each device has, as ranges."""
    places = x.sharding.devices_indices_map(x.shape).values()
    return [[part.indices(size) for part, size in zip(place, x.shape)] for place in places]


def _asked(program: Program) -> dict[int, Spec]:
    """Of the results that somebody asked for a place: where."""
    found = {i: program.asked[v] for i, v in enumerate(program.results) if v in program.asked}
    said = enumerate(program.out_specs or ())
    return found | {i: spec for i, spec in said if spec is not None}


def _arguments(program: Program) -> list[Any]:
    rng = np.random.default_rng(program.seed)
    shapes = program.shapes[: len(program.arguments)]
    return [tinyjax.numpy.asarray(rng.standard_normal(shape, np.float32)) for shape in shapes]


def _mesh(program: Program, jax: Any) -> Any:
    sizes = list(program.mesh.values())
    count = math.prod(sizes)
    devices = cpu_devices(count) if jax is tinyjax else jax.devices()[:count]
    return jax.sharding.Mesh(np.array(devices, object).reshape(sizes), tuple(program.mesh))


def _sharding(jax: Any, mesh: Any, spec: Spec | None) -> Any:
    return None if spec is None else jax.NamedSharding(mesh, jax.P(*spec))


def _placed(program: Program, args: list[Any], jax: Any, mesh: Any) -> list[Any]:
    places = [_sharding(jax, mesh, spec) for spec in program.arguments]
    return [
        jax.numpy.asarray(x) if p is None else jax.device_put(x, p) for x, p in zip(args, places)
    ]


def _jitted(program: Program, jax: Any, mesh: Any) -> Callable:
    options = {}
    for name, specs in (("in_shardings", program.in_specs), ("out_shardings", program.out_specs)):
        if specs is not None:
            options[name] = tuple(_sharding(jax, mesh, spec) for spec in specs)
    return jax.jit(_function(program, jax, mesh), **options)


def _function(program: Program, jax: Any, mesh: Any) -> Callable:
    place = functools.partial(_sharding, jax, mesh)
    if mesh is None:
        names: dict[str, Any] = {"say": lambda x, spec: x, "put": lambda x, spec: x}
        names |= {"inner": lambda f, *specs: f, "parts": lambda f, spec: f}
    else:
        names = {
            "say": lambda x, spec: jax.lax.with_sharding_constraint(x, place(spec)),
            "put": lambda x, spec: jax.device_put(x, place(spec)),
            "inner": lambda f, i, o: jax.jit(f, in_shardings=place(i), out_shardings=place(o)),
            "parts": lambda f, spec: jax.shard_map(
                f, mesh=mesh, in_specs=jax.P(*spec), out_specs=jax.P(*spec)
            ),
        }
    names |= {"jax": jax, "jnp": jax.numpy, "lax": jax.lax}
    exec(program.source, names)
    return names["program"]


# ---- drawing ----

# Each of a value v of any shape; {a} is an axis of it.
ANY = (
    "jnp.sin({v})",
    "jnp.tanh({v} * 0.5 + 1)",
    "jnp.where({v} > 0.1, jnp.cos({v}), -{v})",
    "jax.jit(jnp.arctan)({v})",
    "jax.checkpoint(lambda t: jnp.sin(jnp.cos(t)))({v})",
    "jax.grad(lambda t: (jnp.sin(t) * t).sum())({v})",
    "jax.jvp(jnp.sin, ({v},), (jnp.cos({v}),))[1]",
    "lax.fori_loop(0, 3, lambda i, t: jnp.sin(t) + i, {v})",
    "lax.cond({v}.sum() > 0, jnp.sin, lambda t: t * 0.5, {v})",
)
ALONG = (
    "{v} - {v}.mean({a}, keepdims=True)",
    "jnp.cumsum({v}, {a}) / 8",
    "jnp.sort({v}, {a})",
    "jnp.flip({v}, {a})",
    "jnp.roll({v}, 1, {a})",
    "jax.nn.softmax({v}, axis={a})",
    "lax.scan(lambda c, t: (c * 0.5 + t, jnp.sin(c)), {v}[0] * 0, {v})[1]",
    "jax.vmap(lambda t: t / (1 + (t * t).sum()), {a}, {a})({v})",
    # By maxima, which are not rounded: columns of a softmax have the sum 1.0, give or take a bit.
    "jnp.take({v}, jnp.argsort({v}.max(tuple(i for i in range({v}.ndim) if i != {a}))), {a})",
    "{v}.at[0].set(0.5)",
    "{v}.at[-1].add({v}[0])",
)
REDUCING = (
    "{v}.sum({a}) / 4",
    "{v}.max({a})",
    "jnp.linalg.norm({v}, axis={a})",
    "{v}[(slice(None),) * {a} + (0,)]",
)


class Drawing:
    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.program = Program(seed, self.rng.choice(MESHES))

    def spec(self, shape: tuple[int, ...]) -> Spec:
        """A spec by which an array of this shape can be split."""
        free = self.rng.sample(sorted(self.program.mesh), len(self.program.mesh))
        entries: list[tuple[str, ...]] = []
        for size in shape:
            names: tuple[str, ...] = ()
            while free and self.rng.random() < 0.6:
                parts = math.prod(self.program.mesh[n] for n in (*names, free[-1]))
                if size % parts:
                    break
                names = (*names, free.pop())
            entries.append(names)
        return tuple(None if not e else e[0] if len(e) == 1 else e for e in entries)

    def maybe_spec(self, shape: tuple[int, ...]) -> Spec | None:
        return self.spec(shape) if self.rng.random() < 0.6 else None

    def argument(self) -> None:
        shape = tuple(self.rng.choice(SIZES) for _ in range(self.rng.choice((1, 2, 2, 2, 3))))
        self.program.shapes.append(shape)
        self.program.arguments.append(self.maybe_spec(shape))

    def add(self, text: str, shape: tuple[int, ...], spec: Spec | None = None) -> None:
        number = len(self.program.shapes)
        self.program.lines.append(f"v{number} = {text}")
        self.program.shapes.append(shape)
        if spec is not None:
            self.program.asked[number] = spec

    def step(self) -> None:
        number = self.rng.randrange(len(self.program.shapes))
        shape, v = self.program.shapes[number], f"v{number}"
        kind = self.rng.choice((self.placing, self.placing, self.same, self.same, self.other))
        kind(v, shape)

    def placing(self, v: str, shape: tuple[int, ...]) -> None:
        spec = self.spec(shape)
        kind = self.rng.choice(("say", "say", "put", "inner", "parts"))
        if kind in ("say", "put"):
            self.add(f"{kind}({v}, {spec})", shape, spec)
            if kind == "put":
                self.program.hints.add(len(self.program.shapes) - 1)
        elif kind == "inner":
            read = self.maybe_spec(shape)
            operand = v if read is None else f"say({v}, {read})"
            self.add(f"inner(jnp.sin, {read}, {spec})({operand})", shape, spec)
        else:
            self.add(f"parts(jnp.sin, {spec})({v})", shape, spec)

    def same(self, v: str, shape: tuple[int, ...]) -> None:
        """A step that keeps the shape."""
        axis = self.rng.randrange(len(shape)) if shape else 0
        alike = [f"v{i}" for i, other in enumerate(self.program.shapes) if other == shape]
        two = (f"{v} + jnp.sin({self.rng.choice(alike)})", f"{v} * {self.rng.choice(alike)} / 2")
        text = self.rng.choice((*ANY, *two, *(ALONG if shape else ())))
        self.add(text.format(v=v, a=axis), shape)

    def other(self, v: str, shape: tuple[int, ...]) -> None:
        """A step that has another shape."""
        if not shape:
            self.add(f"jnp.broadcast_to({v}, (8, 4))", (8, 4))
            return
        rank, axis = len(shape), self.rng.randrange(len(shape))
        order = self.rng.sample(range(rank), rank)
        shapes = [
            (f"{v}.transpose({order})", tuple(shape[i] for i in order)),
            (f"{v}.reshape(-1)", (math.prod(shape),)),
            (f"{v}[..., None]", (*shape, 1)),
            (f"jnp.concatenate([{v}, jnp.cos({v})], {axis})", _with(shape, axis, shape[axis] * 2)),
            (f"jnp.repeat({v}, 2, {axis})", _with(shape, axis, shape[axis] * 2)),
            (f"jnp.stack([{v}, {v} * 2], {axis})", (*shape[:axis], 2, *shape[axis:])),
            (self.rng.choice(REDUCING).format(v=v, a=axis), (*shape[:axis], *shape[axis + 1 :])),
        ]
        if shape[0] % 2 == 0:
            shapes.append((f"{v}[: {shape[0] // 2}]", (shape[0] // 2, *shape[1:])))
            shapes.append((f"{v}.reshape(2, -1, *{shape[1:]})", (2, shape[0] // 2, *shape[1:])))
        if rank == 2:
            shapes.append((f"jnp.tanh({v} @ {v}.T)", (shape[0], shape[0])))
            shapes.append((f"jnp.tanh(jnp.einsum('ij,ik->jk', {v}, {v}))", (shape[1], shape[1])))
        text, new = self.rng.choice([s for s in shapes if math.prod(s[1]) <= MOST_ELEMENTS])
        self.add(text, new)


def _with(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis + 1 :])


def draw(seed: int) -> Program:
    drawing = Drawing(seed)
    rng, program = drawing.rng, drawing.program
    for _ in range(rng.choice((1, 2, 2, 3))):
        drawing.argument()
    if rng.random() < 0.5:
        shapes = program.shapes[: len(program.arguments)]
        program.in_specs = [drawing.maybe_spec(shape) for shape in shapes]
        for i, said in enumerate(program.in_specs):
            if said is not None:  # what was put elsewhere is an error
                program.arguments[i] = said if rng.random() < 0.5 else None
    for _ in range(rng.randint(2, 7)):
        drawing.step()
    made = range(len(program.arguments), len(program.shapes))
    program.results = rng.sample(made, min(len(made), rng.choice((1, 2, 3))))
    if rng.random() < 0.5:
        program.out_specs = [drawing.maybe_spec(program.shapes[i]) for i in program.results]
    return program
