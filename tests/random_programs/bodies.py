"""Functions as bodies of statements, and the choice of what is written next.

A body sees all variables outside of it, outer carries included, and its results may be such.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from random_programs.idioms import write_idiom
from random_programs.operations import write_operation
from random_programs.program import Function, Variable
from random_programs.writer import KINDS, Writer, kind_of

#: Writers of statements that have bodies, and how often each is to write.
WITH_BODIES: list[tuple[Callable[[Writer], list[Variable]], int]] = []

MAX_DEPTH = 3


def write_statement(writer: Writer) -> list[Variable]:
    """Appends a statement with a body, or one operation."""
    writer.limits.budget -= 1
    if writer.limits.with_idioms and writer.rng.random() < (0.7 if writer.outer is None else 0.35):
        return write_idiom(writer)
    deep = writer.depth >= MAX_DEPTH or writer.limits.budget < 2
    if not deep and writer.rng.random() < (0.6 if writer.depth == 1 else 0.5):
        kinds, weights = zip(*WITH_BODIES, *writer.limits.writers)
        return writer.rng.choices(kinds, weights)[0](writer)
    return write_operation(writer)


def write_statements(writer: Writer, least: int, most: int) -> None:
    for _ in range(writer.rng.randint(least, most)):
        write_statement(writer)


def body_of(
    writer: Writer,
    params: Sequence[str],
    variables: Sequence[Variable],
    result: Callable[[Writer], str],
    trips: int = 1,
    least: int = 1,
    **flags: bool,
) -> Function:
    """A function of `params`, whose names are `variables`, mostly with that many statements or more."""
    inner = writer.inner(variables)
    inner.trips *= max(trips, 1)
    for name, value in flags.items():
        setattr(inner, name, value)
    write_statements(inner, 0 if writer.rng.random() < 0.1 else least, 3)
    text = result(inner)
    return Function(writer.new_name("f"), list(params), inner.statements, text)


def fresh(
    writer: Writer, letter: str, like: Variable, shape: tuple[int, ...] | None = None
) -> Variable:
    shape = like.shape if shape is None else shape
    return Variable(writer.new_name(letter), shape, like.dtype, like.weak)


def packed(names: Sequence[object]) -> str:
    names = list(map(str, names))
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def some(writer: Writer, least: int, most: int, kinds: str = "fffixpzk") -> list[Variable]:
    found = [writer.pick(writer.rng.choice(kinds)) for _ in range(writer.rng.randint(least, most))]
    return list(dict.fromkeys(v for v in found if v))


def next_carry(inner: Writer, carry: Variable) -> str:
    """What a carry becomes: of its type, and bounded."""
    text = inner.fitted(carry)
    if kind_of(carry.dtype) == "f" and text != carry.name:
        forms = [
            "jnp.tanh({})",
            "jnp.sin({} + {c})",
            "({} + {c}) / 2",
            "{}",
            "{c} * 0.5 + 0.1 * {}",
        ]
        text = inner.rng.choice(forms).format(text, c=carry.name)
    if kind_of(carry.dtype) == "i" and inner.rng.random() < 0.4:
        text = f"{text} + {carry.name}"
    return text


def output_of(inner: Writer) -> str:
    """A result of a body: something new, or something of outside, perhaps an outer carry's sum."""
    if inner.outer and inner.rng.random() < 0.35:
        is_matrix = lambda v: len(v.shape) > 1 and v.dtype in KINDS["n"]  # noqa: E731
        found = inner.outer.find(is_matrix) or inner.outer.pick("n")
        other = inner.pick("f", found.shape) if found else None
        if found and found.shape:
            product = f"{found} * {other}" if other and inner.rng.random() < 0.7 else str(found)
            return inner.rng.choice(
                [f"jnp.sum({product}, 0)"] * 3 + [f"jnp.sum({product})", product]
            )
    if (own := inner.own()) and inner.rng.random() < 0.7:
        return str(inner.rng.choice(own))
    found = inner.pick(inner.rng.choice("fffix")) or inner.pick()
    return str(found) if found else "jnp.float32(1)"
