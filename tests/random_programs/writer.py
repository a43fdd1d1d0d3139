"""The writer of one function: what is in scope, what may come next, and what type it has.

A statement is typed by tinyjax's own eval_shape as soon as it is written; one that is refused is
left out, and kept in `refused`, so that JAX can be asked whether it should have been.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

import tinyjax as jax
from random_programs.program import POINTS, Function, Statement, Variable

KINDS = {
    "f": {"float16", "bfloat16", "float32", "float64"},
    "i": {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"},
    "p": {"bool"},
    "z": {"complex64", "complex128"},
    "k": {"key<fry>"},
}
KINDS["n"] = KINDS["f"] | KINDS["i"]  # ordered numbers
KINDS["x"] = KINDS["n"] | KINDS["p"] | KINDS["z"]  # all but keys


def kind_of(dtype: str) -> str:
    """One of KINDS; an empty text for others, such as float0."""
    return next((kind for kind, names in KINDS.items() if dtype in names), "")


@dataclass
class Limits:
    """What holds for a whole program."""

    rng: Random
    sizes: list[int]
    max_size: int
    x64: bool
    budget: int  # of statements
    #: Writers of statements besides those of all programs, and how often each is to write.
    writers: list[tuple[Callable[[Writer], list[Variable]], int]] = field(default_factory=list)
    names: int = 0
    arguments: list[tuple[Variable, str]] = field(default_factory=list)  # more of them, with values
    with_idioms: bool = False
    idioms: list[str] = field(default_factory=list)  # the kinds of those that were written
    refused: list[tuple[Exception, Statement, list[Variable]]] = field(default_factory=list)


class Writer:
    """Writes the statements of one function, whose parameters and closure are in `scope`."""

    def __init__(self, limits: Limits, scope: Sequence[Variable], outer: Writer | None = None):
        self.limits, self.rng = limits, limits.rng
        self.scope, self.statements = list(scope), []  # type: list[Variable], list[Statement]
        self.depth: int = outer.depth + 1 if outer else 0
        self.trips: int = outer.trips if outer else 1
        self.jvp: bool = outer.jvp if outer else False  # only what has derivatives
        self.reverse: bool = outer.reverse if outer else False  # only what has reverse mode
        self.outer = outer

    def inner(self, params: Sequence[Variable]) -> Writer:
        return Writer(self.limits, [*self.scope, *params], self)

    # ---- names ----

    def new_name(self, letter: str = "v") -> str:
        self.limits.names += 1
        return f"{letter}{self.limits.names}"

    @property
    def dtypes(self) -> dict[str, list[str]]:
        """Dtypes by kind; the usual ones more often."""
        floats, ints = ["float32"] * 6 + ["float16", "bfloat16"], ["int32"] * 4
        ints += ["int8", "uint8", "int16", "uint16", "uint32", "uint32"]
        complexes = ["complex64"]
        if self.limits.x64:
            floats, ints = floats + ["float64"] * 6, ints + ["int64"] * 4 + ["uint64"]
            complexes = ["complex128", "complex64"]
        return {"f": floats, "i": ints, "p": ["bool"], "z": complexes, "k": ["key<fry>"]}

    def shape(self, max_rank: int = 4) -> tuple[int, ...]:
        rank = self.rng.choice([r for r in (0, 1, 1, 2, 2, 2, 3, 4) if r <= max_rank])
        shape = tuple(self.rng.choice(self.limits.sizes) for _ in range(rank))
        return shape if np.prod(shape) <= self.limits.max_size else shape[:1]

    # ---- operands ----

    def find(self, accept: Callable[[Variable], bool]) -> Variable | None:
        """A variable that is accepted: the newer, the likelier."""
        found = [v for v in self.scope if accept(v)]
        return found[-1 - int(len(found) * self.rng.random() ** 1.6)] if found else None

    def pick(self, kind: str = "x", like: tuple[int, ...] | None = None) -> Variable | None:
        """A variable of that kind, that broadcasts with an array of shape `like` to that shape."""
        names = KINDS[kind]
        return self.find(lambda v: v.dtype in names and (like is None or fits(v.shape, like)))

    def operand(self, kind: str, like: tuple[int, ...] | None = None) -> str | None:
        """The text of an operand; one that is computed, where scope has no fitting variable."""
        found = self.pick(kind, like)
        if found is not None and (found.shape or self.rng.random() < 0.8):
            return found.name
        if like is None:
            return None
        other = self.pick(kind)
        if kind == "k":
            return None
        if other is None or self.rng.random() < 0.3:
            return self.scalar(kind)
        return f"jnp.{'any' if kind == 'p' else 'sum'}({other})"

    def scalar(self, kind: str) -> str:
        if kind in "fnx":
            return self.rng.choice(["0.5", "2", "-1.5", "0.25", "1"])
        if kind == "i":
            return str(self.rng.choice([0, 1, 2, 3, -1, 5, 7]))
        return {"p": self.rng.choice(["True", "False"]), "z": "(0.5 + 1j)"}[kind]

    def constant(self, kind: str, shape: tuple[int, ...]) -> str:
        """The text of a constant array."""
        dtype = self.rng.choice(self.dtypes[kind])
        if kind == "k":
            return f"jax.random.key({self.rng.randrange(9)})"
        size = int(np.prod(shape))
        if kind == "p":
            return f"(jnp.arange({size}).reshape({shape}) % {self.rng.choice([2, 3])} == 0)"
        value = self.rng.choice(
            {"i": "0 1 3 100", "z": "0.5 1j"}.get(kind, "0.5 -0.0 2 jnp.inf -1.25 jnp.nan").split()
        )
        forms = [f"jnp.full({shape}, {value}, {dtype!r})"]
        if size > 1:
            quarters = "" if kind == "i" else " / 4 - 1"
            forms.append(f"(jnp.arange({size}, dtype={dtype!r}){quarters}).reshape({shape})")
        if 0 < size <= 8:
            values = ", ".join(str(self.rng.choice([1, 0, 2, 3])) for _ in range(size))
            forms.append(f"jnp.asarray(np.array([{values}], {dtype!r}).reshape({shape}))")
        return self.rng.choice(forms)

    def own(self) -> list[Variable]:
        """What the function's parameters and statements hold, without keys."""
        start = len(self.outer.scope) if self.outer else 0
        return [v for v in self.scope[start:] if v.dtype in KINDS["x"]]

    # ---- statements ----

    def add(
        self,
        text: str,
        functions: Sequence[Function] = (),
        after: Sequence[str] = (),
        simpler: Sequence[str] = (),
        count: int = 1,
        letter: str = "v",
    ) -> list[Variable]:
        """Appends `names = text`, and gives the new variables; none if the text is refused."""
        targets = [Variable(self.new_name(letter), (), "") for _ in range(count)]
        statement = Statement(targets, text, list(functions), list(after), list(simpler))
        try:
            statement.targets = self.typed(statement)
        except Refused as error:
            self.limits.refused.append((error.cause, statement, list(self.scope)))
            return []
        if any(target.size > self.limits.max_size for target in statement.targets):
            return []
        self.statements.append(statement)
        self.scope.extend(statement.targets)
        return statement.targets

    def typed(self, statement: Statement) -> list[Variable]:
        """The statement's targets with their types, by tracing it."""
        try:
            types = types_of(statement, self.scope, jax)
        except Exception as error:
            raise Refused(error) from error
        pairs = zip(statement.targets, types, strict=True)
        is_key = lambda t: jax.dtypes.issubdtype(t.dtype, jax.dtypes.prng_key)  # noqa: E731
        dtypes = ["key<fry>" if is_key(t) else str(t.dtype) for t in types]
        return [Variable(v.name, t.shape, d, t.weak_type) for (v, t), d in zip(pairs, dtypes)]

    # ---- fitting a value to a type ----

    def fitted(self, like: Variable) -> str:
        """The text of a value of the type of `like`, made of what the function holds."""
        kind = kind_of(like.dtype)
        if kind == "k" and not like.shape:
            return f"jax.random.split({like})[1]"
        same = [v for v in self.own() if kind_of(v.dtype) == kind and v.name != like.name]
        exact = [v for v in same if v.shape == like.shape]
        if exact and self.rng.random() < 0.7:
            return converted(self.rng.choice(exact), like)
        if same:
            return reshaped(self.rng.choice(same), like, self.rng)
        return like.name


def types_of(statement: Statement, scope: Sequence[Variable], jax: Any) -> Sequence[Any]:
    """The types of a statement's targets, by tracing it with `jax`: tinyjax or JAX."""
    used = statement.names()
    visible = [v for v in scope if v.name in used]

    def run(*values: Any) -> tuple[Any, ...]:
        names = {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "np": np}
        names |= dict(zip((v.name for v in visible), values))
        exec("\n".join(statement.lines()), names)
        return tuple(names[target.name] for target in statement.targets)

    return jax.eval_shape(run, *(aval(v, jax) for v in visible))


class Refused(Exception):
    """Tracing the statement raised the error `cause`."""

    def __init__(self, cause: Exception):
        self.cause = cause


def aval(variable: Variable, jax: Any = jax) -> Any:
    """The type of a variable, for eval_shape of tinyjax or JAX."""
    is_key = variable.dtype == "key<fry>"
    dtype = jax.random.key(0).dtype if is_key else np.dtype(variable.dtype)
    return jax.ShapeDtypeStruct(variable.shape, dtype, weak_type=variable.weak)


def fits(shape: tuple[int, ...], like: tuple[int, ...]) -> bool:
    """Does the shape broadcast to `like`?"""
    pairs = zip(shape[::-1], like[::-1])
    return len(shape) <= len(like) and all(a in (1, b) for a, b in pairs)


def converted(v: Variable, like: Variable) -> str:
    return v.name if v.dtype == like.dtype else f"{v.name}.astype({like.dtype!r})"


def reshaped(v: Variable, like: Variable, rng: Random) -> str:
    """The text of `v` made to have the shape and dtype of `like`, in a way that people write."""
    kind, name = kind_of(like.dtype), v.name
    total = {"p": "any"}.get(kind, rng.choice(["sum", "sum", "mean" if kind in "fz" else "sum"]))
    if v.size == 0:
        total = "any" if kind == "p" else "sum"
    if v.size == like.size and v.shape != like.shape:
        text = f"{name}.reshape({like.shape})"
    elif fits(v.shape, like.shape):
        text = f"jnp.broadcast_to({name}, {like.shape})"
    elif rng.random() < 0.2:
        text = f"jnp.resize({name}, {like.shape})"
    elif like.shape == v.shape[1:]:
        text = f"jnp.{total}({name}, 0)"
    elif like.shape == v.shape[:-1]:
        text = f"jnp.{total}({name}, -1)"
    elif like.shape == ():
        text = f"jnp.{total}({name})"
    else:
        text = f"jnp.broadcast_to(jnp.{total}({name}), {like.shape})"
    return f"({text}).astype({like.dtype!r})"


def argument_values(v: Variable, seed: int, bounds: tuple[int, int] = (-3, 9)) -> str:
    """An expression of NumPy for values of an argument at all points: small ones, ints within bounds."""
    draws, size = f"np.random.default_rng({seed})", (POINTS, *v.shape)
    return {
        "f": f"{draws}.normal(size={size}).astype({v.dtype!r})",
        "z": f"({draws}.normal(size={(*size, 2)}) @ [1, 1j]).astype({v.dtype!r})",
        "i": f"{draws}.integers({bounds[0]}, {bounds[1]}, {size}).astype({v.dtype!r})",
        "p": f"{draws}.integers(0, 2, {size}).astype(bool)",
    }[kind_of(v.dtype)]
