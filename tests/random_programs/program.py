"""A program as a tree: functions of statements. It is printed as source text, run, and cut down.

The text is written in jax, jnp, lax and np alone, so that it runs on tinyjax and on JAX.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

#: How many values there are of each argument.
POINTS = 3

INDENT = "    "
NAME = re.compile(r"\b[a-z]+\d+\b")


class Variable(NamedTuple):
    name: str
    shape: tuple[int, ...]
    dtype: str
    weak: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))


@dataclass
class Statement:
    """`targets = text`, after the definitions of the functions that the text calls.

    `simpler` has other texts that give a value of the same type."""

    targets: list[Variable]
    text: str
    functions: list[Function] = field(default_factory=list)
    after: list[str] = field(default_factory=list)  # between definitions and text: f.defjvp(...)
    simpler: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        definitions = [line for function in self.functions for line in function.lines()]
        names = ", ".join(target.name for target in self.targets)
        return [*definitions, *self.after, f"{names} = {self.text}"]

    def names(self) -> set[str]:
        """What the statement reads, its functions included."""
        texts = [self.text, *self.after, *(f.result for f in self.functions)]
        inner = [s.names() for f in self.functions for s in f.statements]
        return set(NAME.findall(" ".join(texts))).union(*inner)


@dataclass
class Function:
    name: str
    params: list[str]  # as they are written: 'c0', or '(c0, c1)'
    statements: list[Statement]
    result: str
    decorator: str = ""

    def lines(self) -> list[str]:
        params = ", ".join(p if NAME.fullmatch(p) else f"p{i}" for i, p in enumerate(self.params))
        unpacked = [f"{p} = p{i}" for i, p in enumerate(self.params) if not NAME.fullmatch(p)]
        body = [*unpacked, *(line for s in self.statements for line in s.lines())]
        body.append(f"return {self.result}")
        head = [self.decorator] if self.decorator else []
        return [*head, f"def {self.name}({params}):", *(INDENT + line for line in body)]

    def without_dead_statements(self) -> Function:
        """The same, without statements whose results nothing reads."""
        used, kept = set(NAME.findall(self.result)), []
        for statement in reversed(self.statements):
            if any(target.name in used for target in statement.targets):
                functions = [f.without_dead_statements() for f in statement.functions]
                statement = _replace(statement, functions=functions)
                used |= statement.names()
                kept.append(statement)
        return _replace(self, statements=kept[::-1])

    def all_statements(self) -> Iterator[Statement]:
        for statement in self.statements:
            yield statement
            for function in statement.functions:
                yield from function.all_statements()


def _replace(node: Any, **changes: Any) -> Any:
    return type(node)(**{**vars(node), **changes})


class Argument(NamedTuple):
    """An argument of a program, with values for all points: the first axis of `values`."""

    name: str
    values: str  # an expression of NumPy
    batched: bool  # or vmap gives the value of the first point to all
    weak: str = ""  # "scalar": a Python number; "before x64": an Array of one, made with x64 off

    def at(self, values: np.ndarray, point: int, jax: Any) -> Any:
        """The argument at a point, of its `values` at all points."""
        value = values[point if self.batched else 0]
        return self._weak(value.item(), jax) if self.weak else value

    def whole(self, values: np.ndarray, jax: Any) -> Any:
        """The argument at all points, along a new first axis."""
        if not self.weak:
            return jax.numpy.asarray(values)
        return jax.numpy.stack([self._weak(value, jax) for value in values.tolist()])

    def _weak(self, value: Any, jax: Any) -> Any:
        if self.weak == "scalar":
            return value
        with jax.enable_x64(False):
            return jax.numpy.asarray(value)

    def text(self) -> str:
        """The values at all points, as a script makes them."""
        if self.weak == "scalar":
            return f"{self.values}.tolist()"
        if self.weak:
            return f"[jnp.asarray(x) for x in {self.values}.tolist()]"
        return f"jnp.asarray({self.values})"


@dataclass
class Program:
    seed: int
    args: list[Argument]
    main: Function
    outputs: list[str]
    x64: bool
    #: Statements that tinyjax refused as this was drawn: error, statement, what was in scope.
    refused: list[tuple[Exception, Statement, list[Variable]]] = field(default_factory=list)
    idioms: list[str] = field(default_factory=list)  # the kinds of those that were written

    def with_outputs(self, outputs: list[str]) -> Program:
        main = _replace(self.main, result=f"[{', '.join(outputs)}]").without_dead_statements()
        return _replace(self, main=main, outputs=outputs).without_dead_args()

    def without_dead_args(self) -> Program:
        used = set().union(
            NAME.findall(self.main.result), *(s.names() for s in self.main.statements)
        )
        args = [arg for arg in self.args if arg.name in used] or self.args[:1]
        return _replace(self, args=args, main=_replace(self.main, params=[a.name for a in args]))

    def source(self) -> str:
        return "\n".join(self.main.lines())

    def function(self, jax: Any) -> Any:
        """The program as a function of its arguments, written with `jax`: tinyjax or JAX."""
        scope = {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "np": np}
        exec(self.source(), scope)  # the text above is ours
        return scope[self.main.name]

    def values(self) -> list[np.ndarray]:
        return [eval(arg.values, {"np": np}) for arg in self.args]

    @property
    def max_size(self) -> int:
        """The number of elements of the largest array that a statement makes."""
        targets = [v for s in self.main.all_statements() for v in s.targets]
        return max([v.size for v in targets] + [v[0].size for v in self.values()])

    @property
    def has_control_flow(self) -> bool:
        names = r"lax\.(scan|while_loop|fori_loop|cond|switch|map|associative_scan)\("
        return bool(re.search(names, self.source()))

    def snippet(self, how: str) -> str:
        """A script that prints what eager and compiled evaluation give."""
        head = ["import ml_dtypes, numpy as np", "import tinyjax as jax"]
        head += ["import tinyjax.numpy as jnp", "from tinyjax import lax", ""]
        old = [arg for arg in self.args if arg.weak == "before x64"]
        head += [f"{arg.name} = {arg.text()}" for arg in old]
        if self.x64:
            head.append('jax.config.update("jax_enable_x64", True)')
        head += [f"{arg.name} = {arg.text()}" for arg in self.args if arg not in old]
        calls = [f"program({self._at('0')})", f"jax.jit(program)({self._at('0')})"]
        if "vmap" in how:
            axes = tuple(0 if arg.batched else None for arg in self.args)
            stacked = [f"jnp.stack({a.name})" if a.weak else a.name for a in self.args]
            whole = ", ".join(
                text if arg.batched else f"{arg.name}[0]" for text, arg in zip(stacked, self.args)
            )
            batched = f"jax.vmap(program, {axes})"
            batched = f"jax.jit({batched})" if "jit" in how else batched
            calls = [f"[program({self._at('p')}) for p in range({POINTS})]", f"{batched}({whole})"]
        return "\n".join([*head, "", *self.main.lines(), "", *(f"print({c})" for c in calls)])

    def _at(self, point: str) -> str:
        """The text of the arguments at a point."""
        return ", ".join(f"{arg.name}[{point if arg.batched else 0}]" for arg in self.args)
