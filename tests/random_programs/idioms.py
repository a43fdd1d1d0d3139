"""Programs as people write them: recurrent networks, solvers, updates, stencils, ... of odd sizes.

idioms.txt has a line for each. In braces, a letter is an axis, drawn once for the line: {n} is its size.
{f:n,3} is an operand of that shape. Its letter says the dtype: f a float, h a small float, z complex, p bool,
i and j ints, b, u and w small ones. {i:m<n} are numbers below n, some of which may be beside that.
{x=f:n} is the same again where {x} stands.

An operand is an argument, or made of what is in scope. A line may be wrapped in grad, vmap, jit, or a loop.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import tinyjax as jax
from random_programs.operations import families_of
from random_programs.program import Statement, Variable
from random_programs.writer import KINDS, Writer, argument_values, kind_of, types_of

IDIOMS = families_of((Path(__file__).parent / "idioms.txt").read_text())
FIELD = re.compile(r"\{(?:(\w+)=)?([fhzpijbuwk]):([^}<]*)(?:<([^}]*))?\}")
SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 17, 33, 64, 257]
WEIGHTS = [1, 4, 5, 6, 3, 5, 4, 1, 3, 1.5, 0.3, 0.1]
TOTAL = (
    "(lambda l: sum((jnp.sum(jnp.sin(jnp.real(x).astype('float32'))) for x in l"
    " if jnp.issubdtype(x.dtype, jnp.inexact)), jnp.float32(0)))(jax.tree.leaves({}))"
)


def write_idiom(writer: Writer) -> list[Variable]:
    """Appends one of IDIOMS, perhaps transformed; nothing if it is refused for all sizes that are tried."""
    weights, families = zip(*IDIOMS.values())
    template = writer.rng.choice(writer.rng.choices(families, weights)[0])
    for _ in range(3):
        draft = _Draft(writer)
        text = draft.transformed(draft.filled(template))
        if any(v.size > writer.limits.max_size for v in draft.new):
            continue
        leaves = Statement([Variable("leaves1", (), "")], f"jax.tree.leaves({text})")
        variables = [*writer.scope, *draft.new]
        try:
            count = len(types_of(leaves, variables, jax)[0])
        except Exception as error:
            writer.limits.refused.append((error, leaves, variables))
            continue
        draft.keep_arguments()
        if count and (
            made := writer.add(f"jax.tree.leaves({text}){'' if count > 1 else '[0]'}", count=count)
        ):
            writer.limits.idioms.append(kind_named(template))
            return made
    return []


def kind_named(template: str) -> str:
    """The kind of an idiom."""
    return next(kind for kind, (_, templates) in IDIOMS.items() if template in templates)


@dataclass
class _Draft:
    """An idiom that is being filled in."""

    writer: Writer
    sizes: dict[str, int] = field(default_factory=dict)
    operands: dict[str, Variable] = field(default_factory=dict)  # by their text
    named: dict[str, str] = field(default_factory=dict)
    new: list[Variable] = field(default_factory=list)  # arguments that the program doesn't have yet
    values: dict[str, str] = field(default_factory=dict)  # theirs

    def __post_init__(self) -> None:
        rng = self.writer.rng
        dtypes = self.writer.dtypes
        small = ["float16", "bfloat16"]
        self.dtypes = {kind: rng.choice(dtypes[kind]) for kind in "fizp"}
        self.dtypes |= {"j": rng.choice(dtypes["i"]), "h": rng.choice(small), "k": "key<fry>"}
        self.dtypes |= {"b": "int8", "u": "uint8", "w": rng.choice(["int16", "uint16"])}
        if rng.random() < 0.7:
            self.dtypes["f"] = "float64" if self.writer.limits.x64 else "float32"

    def size(self, letter: str) -> int:
        if letter.isdigit():
            return int(letter)
        if letter not in self.sizes:
            rng = self.writer.rng
            known = [n for v in self.writer.scope for n in v.shape if n < 300]
            most = len(SIZES) if self.writer.trips == 1 else SIZES.index(7)
            drawn = rng.choices(SIZES[:most], WEIGHTS[:most])[0]
            self.sizes[letter] = rng.choice(known) if known and rng.random() < 0.4 else drawn
        return self.sizes[letter]

    def filled(self, template: str) -> str:
        text = FIELD.sub(self._operand, template)
        for name, operand in self.named.items():
            text = text.replace(f"{{{name}}}", operand)
        return re.sub(r"\{([a-z])\}", lambda match: str(self.size(match[1])), text)

    def _operand(self, match: re.Match[str]) -> str:
        name, kind, axes, below = match.groups()
        shape = tuple(self.size(axis) for axis in axes.split(",") if axis)
        text = self.operand(kind, shape, self.size(below) if below else None)
        if name:
            self.named[name] = text
        return text

    def operand(self, kind: str, shape: tuple[int, ...], below: int | None) -> str:
        rng, scope, dtype = self.writer.rng, self.writer.scope, self.dtypes[kind]
        if kind == "k":
            keys = [v.name for v in scope if v.dtype == dtype and not v.shape]
            return rng.choice([*keys, f"jax.random.key({rng.randrange(99)})"])
        same = [v for v in scope if v.shape == shape and v.dtype == dtype]
        like = [v for v in scope if v.size and kind_of(v.dtype) == kind_of(dtype)]
        chance = rng.random()
        if same and chance < 0.5 and below is None:
            found = rng.choice(same)
            self.operands[found.name] = found
            return found.name
        if like and chance < 0.7 and below is None:
            source = rng.choice(like)
            return f"jnp.resize({source}, {shape}).astype({dtype!r})"
        variable = Variable(self.writer.new_name("a"), shape, dtype)
        self.values[variable.name] = argument_values(variable, rng.randrange(1000))
        if below is not None:
            bounds = (0, max(below, 1)) if rng.random() < 0.8 else (-below - 2, below + 3)
            bounds = bounds if "u" not in dtype else (0, bounds[1])
            self.values[variable.name] = argument_values(variable, rng.randrange(1000), bounds)
        self.new.append(variable)
        self.operands[variable.name] = variable
        return variable.name

    def keep_arguments(self) -> None:
        """The program gets the new arguments, and every function around sees them."""
        writer: Writer | None = self.writer
        while writer is not None:
            writer.scope = [*self.new, *writer.scope]
            writer = writer.outer
        self.writer.limits.arguments += [(v, self.values[v.name]) for v in self.new]

    def transformed(self, text: str) -> str:
        """The text, or a transformation of what it computes of one operand."""
        rng, chance = self.writer.rng, self.writer.rng.random()
        floats = [v for v in self.operands.values() if v.dtype in KINDS["f"] and v.name in text]
        if not floats or chance < 0.5:
            return text
        operand = rng.choice(floats)
        one = "lambda w0: " + re.sub(rf"\b{operand}\b", "w0", text)
        if chance < 0.68:
            return f"jax.grad(lambda w0: {TOTAL.format(f'({one})(w0)')})({operand})"
        if chance < 0.84:
            axes = rng.choice(["", "", ", out_axes=-1"])
            return f"jax.vmap({one}{axes})(jnp.stack([{operand}, {operand} * 0.5, -{operand}]))"
        if chance < 0.92:
            factors = rng.choice(["jnp.array([1, -0.5])", "jnp.arange(3) / 2"])
            return (
                f"lax.map(lambda k0: ({one})((k0 * {operand}).astype({operand}.dtype)), {factors})"
            )
        return f"jax.jvp({one}, ({operand},), (jnp.ones_like({operand}),))"
