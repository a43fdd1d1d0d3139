"""Operations on arrays: templates, with operands and parameters to fill in.

In operations.txt {f} {g} {h} are floats, {i} {j} ints, {p} {q} bools, {z} {w} complex numbers, {x} {y}
anything, {n} {m} ordered numbers, {k} a key, {cf} {ci} {cp} {cz} constants. The first is any variable,
the others broadcast to its shape. Values stay within a few units where that can be had, so that rounding
stays small.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from random_programs.program import Variable
from random_programs.writer import KINDS, Writer

KIND_OF_LETTER = dict(zip("fghijpqzwxynmk", "fffiippzzxxnnk"))


def families_of(text: str) -> dict[str, tuple[int, list[str]]]:
    """By name: how often one of the family is written, and its templates."""
    families = {}
    for part in re.split("^## ", text, flags=re.MULTILINE)[1:]:
        title, *templates = part.split("\n")
        name, weight = title.rsplit(maxsplit=1)
        families[name] = (int(weight), [template for template in templates if template])
    return families


FAMILIES = families_of((Path(__file__).parent / "operations.txt").read_text())


def write_operation(writer: Writer) -> list[Variable]:
    """Appends one operation; nothing is appended if its operands don't exist."""
    weights, families = zip(*FAMILIES.values())
    for _ in range(3):  # not every operand is there, nor fits
        template = writer.rng.choice(writer.rng.choices(families, weights)[0])
        text = filled(template, writer)
        if text and (made := writer.add(text)):
            return made
    return []


def filled(template: str, writer: Writer) -> str | None:
    letters = re.findall(r"\{([a-z])\}", template)
    fields: dict[str, str] = {}
    first = None
    for letter in dict.fromkeys(letters):
        kind = KIND_OF_LETTER[letter]
        if kind == "k":
            if (key := writer.find(lambda v: v.dtype in KINDS["k"] and not v.shape)) is None:
                return None
            fields[letter] = key.name
        elif first is None or "[" in template:
            found = writer.pick(kind)
            if found is None:
                return None
            first = first or found
            fields[letter] = found.name
        else:
            operand = writer.operand(kind, first.shape)
            if operand is None:
                return None
            fields[letter] = operand
    for name in dict.fromkeys(re.findall(r"\{([a-z_0-9]{2,})\}", template)):
        parameter = PARAMETERS[name](writer, first)
        if parameter is None:
            return None
        fields[name] = parameter
    return template.format(**fields)


def _axis(writer: Writer, v: Variable, full: bool, negative: bool) -> str | None:
    axes = [a for a in range(len(v.shape)) if v.shape[a] or not full]
    if not axes:
        return None
    axis = writer.rng.choice(axes)
    return str(axis - len(v.shape) if negative and writer.rng.random() < 0.3 else axis)


def _axes(writer: Writer, v: Variable) -> str:
    return str(tuple(a for a in range(len(v.shape)) if writer.rng.random() < 0.6))


def _scalar_int(writer: Writer, _: Variable | None) -> str:
    found = writer.find(lambda v: v.shape == () and v.dtype in ("int32", "int8", "uint8", "int64"))
    return found.name if found else writer.rng.choice(["0", "1", "-1", "2"])


def _constant(kind: str, writer: Writer, v: Variable | None) -> str:
    return writer.constant(kind, v.shape if v else writer.shape(2))


PARAMETERS: dict[str, Callable[[Writer, Variable | None], str | None]] = {
    "axis": lambda w, v: v and _axis(w, v, full=False, negative=True),
    "full_axis": lambda w, v: v and _axis(w, v, full=True, negative=True),
    "pos_axis": lambda w, v: v and _axis(w, v, full=False, negative=False),
    "full_pos_axis": lambda w, v: v and _axis(w, v, full=True, negative=False),
    "axes": lambda w, v: v and _axes(w, v),
    "shape": lambda w, v: str(w.shape(2)),
    "i0": _scalar_int,
    **{f"c{kind}": partial(_constant, kind) for kind in "fipz"},
}
