"""Inputs drawn at random, small ones first, for tests that compare an answer with another way to its result.

    for draw in draws(40):
        program, args = draw.program(), draw.args(program)
        same(answer(program, *args), program.in_numpy(*args), program=program, args=args)

A draw is known by its number: the same test draws the same inputs each time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyjax.core import get_aval, primitives


@dataclass(frozen=True)
class Program:
    """A function of numbers and arrays. A step is an operation and its operands, each by its place among the
    arguments, the constants and the results of the steps before. Results may be any of these."""

    shapes: tuple[tuple[int, ...], ...]  # of the arguments
    constants: tuple[float, ...]
    steps: tuple[tuple[str, tuple[int, ...]], ...]
    results: tuple[int, ...]

    def __call__(self, *args: Any) -> list[Any]:
        values = [*args, *self.constants]
        for name, operands in self.steps:
            values.append(getattr(primitives, name)(*[values[i] for i in operands]))
        return [values[i] for i in self.results]

    def in_numpy(self, *args: Any) -> list[Any]:
        """The results, in float64."""
        return self.with_tangents(args, args)[0]

    def moving_results(self, moves: Sequence[bool]) -> list[bool]:
        """Which results depend on the arguments that move."""
        depends = [*moves, *[False for _ in self.constants]]
        for _, operands in self.steps:
            depends.append(any(depends[i] for i in operands))
        return [depends[i] for i in self.results]

    def with_tangents(self, args: Sequence[Any], tangents: Sequence[Any]) -> tuple[list, list]:
        """The results and their tangents, by pairs of NumPy's arrays."""
        primals = [wide(x) for x in [*args, *self.constants]]
        moves = [wide(t) for t in tangents]
        moves += [np.zeros(())] * len(self.constants)
        for name, operands in self.steps:
            x, y = primals[operands[0]], primals[operands[-1]]
            dx, dy = moves[operands[0]], moves[operands[-1]]
            pairs = {"neg": (-x, -dx), "add": (x + y, dx + dy), "mul": (x * y, dx * y + x * dy)}
            for column, value in zip((primals, moves), pairs[name]):
                column.append(np.broadcast_to(value, np.shape(pairs[name][0])))
        return [primals[i] for i in self.results], [
            np.broadcast_to(moves[i], primals[i].shape) for i in self.results
        ]


def wide(x: Any) -> np.ndarray:
    return np.asarray(x, np.result_type(x, np.float64))


class Draw(random.Random):
    """A source of random inputs, none larger than `size` says."""

    def __init__(self, number: int, size: int):
        super().__init__(number)
        self.number, self.size = number, size

    def count(self, least: int = 0) -> int:
        return self.randint(least, max(least, self.size))

    def flags(self, n: int, chance: float = 0.5) -> list[bool]:
        return [self.random() < chance for _ in range(n)]

    def name(self, number: int) -> str:
        """A name that no other number has."""
        return self.choice(["{}", "x{}", "a_{}", "long{}name", "Z{}'", "{} dot"]).format(
            f"v{number}"
        )

    def shape(self, most: int = 4, sizes: Sequence[int] = (1, 2, 3, 0)) -> tuple[int, ...]:
        rank = self.randint(0, min(most, self.size))
        return tuple(self.choice(sizes[: 1 + self.size]) for _ in range(rank))

    def whole(self, shape: Sequence[int] = (), dtype: Any = np.float32, most: int = 2) -> Any:
        """Small whole numbers: few operations on them are exact in any dtype."""
        n = int(np.prod(shape))
        values = [self.randint(0 if dtype is bool else -most, most) for _ in range(n)]
        numbers = np.array(values, np.float64)
        if np.dtype(dtype).kind == "c":
            numbers = numbers + 1j * self.whole((n,))
        return numbers.astype(dtype).reshape(tuple(shape))

    def program(self, scalars: bool = False, constants: bool = True) -> Program:
        """A program of a few arguments, sums, products and signs, and results."""
        args = self.randint(1, min(7, 1 + self.size))
        shapes = tuple((2,) if not scalars and self.random() < 0.4 else () for _ in range(args))
        numbers = (2.0, -1.0)[: self.randint(0, 2) if constants else 0]
        names = [self.choice(["add", "mul", "neg"]) for _ in range(self.count())]
        while names.count("mul") > 3:
            names.remove("mul")
        steps, n = [], args + len(numbers)
        for name in names:
            steps.append((name, tuple(self.randrange(n) for _ in range(2 - (name == "neg")))))
            n += 1
        results = [self.randrange(n) for _ in range(self.randint(1, 6))]
        return Program(shapes, numbers, tuple(steps), (*results[:-1], n - 1))

    def args(self, program: Program, dtype: Any = np.float32) -> list[Any]:
        return [self.whole(shape, dtype) for shape in program.shapes]


def draws(count: int, largest: int = 8) -> Iterator[Draw]:
    """Draws, their inputs growing up to a size."""
    for number in range(count):
        yield Draw(number, 1 + largest * number // count)


def same(found: Any, expected: Any, rtol: float = 0, dtype: Any = None, **given: Any) -> None:
    """Expects an array, or a list of them, with these shapes and values. `given` is what it is of, for the
    message."""
    if isinstance(expected, list):
        about = f"{len(found)} results, not {len(expected)}, of {shown(given)}"
        assert len(found) == len(expected), about
        for i, (x, y) in enumerate(zip(found, expected)):
            same(x, y, rtol, dtype, **given, place=i)
        return
    x, y = np.asarray(found), np.asarray(expected)
    agree = x.shape == y.shape and (
        np.allclose(x, y, rtol, rtol, equal_nan=True)
        if rtol
        else np.array_equal(x, y, equal_nan="f" in (x.dtype.kind, y.dtype.kind))
    )
    assert agree, f"of {shown(given)}\nexpected {y!r},\n   found {x!r}"
    if dtype is not None:
        is_of = found.dtype if isinstance(found, np.ndarray | np.generic) else get_aval(found).dtype
        assert is_of == dtype, f"of {shown(given)}: expected a {np.dtype(dtype)}, found {is_of}"


def shown(given: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in given.items())
