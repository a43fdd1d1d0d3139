"""Random inputs and programs for tests that compare an answer with a second way to its result.

Small ones come first, and the same test draws the same ones each time. With a generator of NumPy, in a loop
or as a decorator:

    for rng, size in cases(40):
        x = drawn_array(rng, drawn_shape(rng, size))

    @drawn(20, most=6)
    def test_drawn_loops(rng, most):
        body = draw_body(rng, takes=most, gives=2)
        with shown(body=body):
            ...

With a generator of Python, for programs of many parts:

    for draw in draws(40):
        program, args = draw.program(), draw.args(program)
        equal(answer(program, *args), program.in_numpy(*args), program=program, args=args)
"""

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tinyjax.numpy as jnp
from tinyjax.core import get_aval, primitives

# What goes wrong first: zeros of both signs, what is no number, and what float32 or int32 can't hold.
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, 2.0**31, -3e9, 16777217.0)


# ---- cases ----


def sizes(count: int, least: int, most: int) -> Iterator[tuple[int, int]]:
    """The numbers from 0 to count - 1, each with a size that grows from `least` to `most`."""
    for n in range(count):
        yield n, least + n * (most - least + 1) // count


def cases(count: int, seed: int = 0) -> Iterator[tuple[np.random.Generator, int]]:
    """Generators of random numbers, each with a size from 0 to 4."""
    for n, size in sizes(count, 0, 4):
        yield np.random.default_rng([seed, n]), size


def drawn(count: int, most: int = 6) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Makes a test of a function of (rng, most), which is called `count` times: with a generator of random
    numbers and the largest size of its case, from 1 to `most`."""

    def test_of(check: Callable[..., None]) -> Callable[[], None]:
        def test() -> None:
            for n, size in sizes(count, 1, most):
                check(np.random.default_rng([n, len(check.__name__)]), size)

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return test_of


# ---- numbers, shapes and arrays ----


def one_of(rng: np.random.Generator, things: Sequence[Any]) -> Any:
    """One of the things, itself."""
    return things[int(rng.integers(len(things)))]


def drawn_number(rng: np.random.Generator) -> float:
    """A Python float: one in three is special, one a half of a small int, the others are small or large."""
    kind = rng.integers(3)
    if kind == 0:
        return one_of(rng, SPECIAL)
    if kind == 1:
        return float(rng.integers(-9, 10)) / 2
    return float(rng.normal() * 10.0 ** rng.integers(-3, 6))


def drawn_shape(
    rng: np.random.Generator, size: int, most: int = 6, least: int = 0
) -> tuple[int, ...]:
    """A shape of `least` to `most` axes, of few axes for a small size; axes of 1 and of 0 are among them."""
    ndim = int(rng.integers(least, min(most, least + 2 * size) + 1))
    return tuple(
        int(one_of(rng, (1, 2, 3, 2, 1, 0) if size > 1 else (2, 3, 1))) for _ in range(ndim)
    )


def shape_of_rank(rng: np.random.Generator, rank: int, most: int = 3) -> tuple[int, ...]:
    """A shape of this many axes, none of them empty."""
    return tuple(map(int, rng.integers(1, most + 1, rank)))


def drawn_array(
    rng: np.random.Generator, shape: Sequence[int], special: bool = False
) -> np.ndarray:
    """An array of float32 of moderate numbers, or with `special` ones among them."""
    x = rng.normal(size=shape).astype(np.float32)
    if special and x.size:
        with np.errstate(all="ignore"):
            x.flat[int(rng.integers(x.size))] = np.float32(one_of(rng, SPECIAL))
    return x


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """An array of float32 from -1 to 1."""
    return rng.uniform(-1, 1, shape).astype(np.float32)


# ---- comparisons ----


def is_exactly(got: Any, expected: Any) -> bool:
    """Whether two NumPy values have one shape, dtype and elements: nan is nan, and 0.0 is not -0.0."""
    x, y = np.asarray(got), np.asarray(expected)
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    if x.dtype.kind not in "fc":
        return bool(((x == y) | ((x != x) & (y != y))).all())
    is_equal = np.array_equal(x, y, equal_nan=True)
    signs = x.dtype.kind == "c" or (np.signbit(x) == np.signbit(y))[~np.isnan(y)].all()
    return bool(is_equal and signs)


def is_about(got: Any, expected: Any, rtol: float = 1e-4) -> bool:
    """Whether two NumPy values have one shape, and elements that are equal up to rounding."""
    x, y = np.asarray(got), np.asarray(expected)
    with np.errstate(all="ignore"):
        return x.shape == y.shape and np.allclose(x, y, rtol=rtol, atol=rtol, equal_nan=True)


def same(got: Any, want: Any, what: str, rtol: float = 1e-5) -> None:
    """Expects an array of this shape, of this dtype and with these elements."""
    got, want = np.asarray(got), np.asarray(want)
    kinds = [f"{x.dtype}{list(x.shape)}" for x in (got, want)]
    assert kinds[0] == kinds[1], f"{what} should be a {kinds[1]}, and is a {kinds[0]}"
    rtol = 0 if want.dtype.kind in "biu" else rtol
    assert is_about(got, want, rtol), f"{what} should be\n{want}\nand is\n{got}"


def equal(found: Any, expected: Any, rtol: float = 0, dtype: Any = None, **given: Any) -> None:
    """Expects an array, or a list of them, with these shapes and values, and with this dtype if one is given.
    `given` is what it is of, for the message."""
    if isinstance(expected, list):
        about = f"{len(found)} results, not {len(expected)}, of {listed(given)}"
        assert len(found) == len(expected), about
        for i, (x, y) in enumerate(zip(found, expected)):
            equal(x, y, rtol, dtype, **given, place=i)
        return
    x, y = np.asarray(found), np.asarray(expected)
    assert is_about(x, y, rtol), f"of {listed(given)}\nexpected {y!r},\n   found {x!r}"
    if dtype is not None:
        is_of = found.dtype if isinstance(found, np.ndarray | np.generic) else get_aval(found).dtype
        about = f"of {listed(given)}: expected a {np.dtype(dtype)}, found {is_of}"
        assert is_of == dtype, about


def listed(given: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in given.items())


@contextlib.contextmanager
def shown(**case: Any) -> Iterator[None]:
    """Errors raised within name the case. Those of exercises that are not written yet stay as they are."""
    try:
        yield
    except NotImplementedError:
        raise
    except Exception as error:
        kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
        given = "\n".join(f"    {name} = {value}" for name, value in case.items())
        raise AssertionError(f"{kind}{error}\nfor\n{given}") from error


# ---- programs ----

OPERATIONS = {
    "neg": primitives.neg,
    "add": primitives.add,
    "mul": primitives.mul,
    "sin": jnp.sin,
    "mean": lambda a, b: (a + b) / 2,
    "product": lambda a, b: a * jnp.cos(b),
    "half": lambda a: jnp.full_like(a, 0.5),  # depends on no value
}


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
            values.append(OPERATIONS[name](*[values[i] for i in operands]))
        return [values[i] for i in self.results]

    def in_numpy(self, *args: Any) -> list[Any]:
        """The results, in float64."""
        return self.with_tangents(args, args)[0]

    def moving_results(self, moves: Sequence[bool]) -> list[bool]:
        """Which results depend on the arguments that move."""
        depends = [*moves, *[False for _ in self.constants]]
        for name, operands in self.steps:
            depends.append(name != "half" and any(depends[i] for i in operands))
        return [depends[i] for i in self.results]

    def with_tangents(self, args: Sequence[Any], tangents: Sequence[Any]) -> tuple[list, list]:
        """The results and their tangents, by pairs of NumPy's arrays; of neg, add and mul."""
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
        kinds = ["{}", "x{}", "a_{}", "long{}name", "Z{}'", "{} dot", "a" * (number + 1)]
        return self.choice(kinds).format(f"v{number}")

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
    """Draws, with sizes from 1 to `largest`."""
    for number, size in sizes(count, 1, largest):
        yield Draw(number, size)


# ---- bodies of loops and branches ----

OF_BODIES = ["sin", "mean", "product", "half", "mean", "product"]


def draw_body(rng: np.random.Generator, takes: int, gives: int, lines: int = 6) -> Program:
    """A function of arrays of one shape."""
    steps = []
    for n in range(rng.integers(1, lines + 1)):
        name, operands = one_of(rng, OF_BODIES), map(int, rng.integers(takes + n, size=2))
        steps.append((name, tuple(operands)[: 1 if name in ("sin", "half") else 2]))
    results = map(int, rng.integers(takes + len(steps), size=gives))
    return Program(((),) * takes, (), tuple(steps), tuple(results))


def reached_in_loop(
    body: Program, consts: Sequence[bool], carry: Sequence[bool], xs: Sequence[bool]
) -> list[bool]:
    """Which results of a loop of this body (its carry, then its ys) ever depend on flagged operands."""
    flags = list(carry)
    for _ in range(len(flags) + 1):
        after = body.moving_results([*consts, *flags, *xs])
        flags = [a or b for a, b in zip(flags, after)]
    return [*flags, *body.moving_results([*consts, *flags, *xs])[len(flags) :]]


def looped(
    body: Program,
    consts: Sequence[Any],
    carry: Sequence[Any],
    xs: Sequence[Any],
    length: int,
    reverse: bool,
) -> list[Any]:
    """The loop, written out in Python: the last carry, and the ys of each step."""
    carry, ys = list(carry), [[] for _ in body.results[len(carry) :]]
    for i in reversed(range(length)) if reverse else range(length):
        outs = body(*consts, *carry, *[x[i] for x in xs])
        carry = outs[: len(carry)]
        for kept, y in zip(ys, outs[len(carry) :]):
            kept.append(y)
    return [*carry, *[jnp.stack(y[::-1] if reverse else y) for y in ys]]
