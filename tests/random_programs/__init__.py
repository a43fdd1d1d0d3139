"""Random programs as people write them: drawn by a seed, compared, and cut down where they differ.

`draw(seed)` writes a program over jax, jnp, lax and np, as text; `disagreements(programs)` says what
is not the same eagerly, with vmap, jitted, and jitted with vmap; `shrunk(...)` makes what differs
small. tools/check_random_programs.py checks as many as you have patience for, with JAX too.
`draw(seed, with_idioms=True)` writes networks, solvers, stencils and so on: lines of idioms.txt.
"""

from __future__ import annotations

import warnings
from random import Random

import tinyjax
from random_programs import control, transformations
from random_programs.bodies import WITH_BODIES, write_statements
from random_programs.derivatives import DERIVATIVES
from random_programs.derivatives import WRITERS as WITHIN_DERIVATIVES
from random_programs.program import Argument, Function, Program, Variable
from random_programs.writer import KINDS, Limits, Writer, argument_values

WITH_BODIES += [*control.WRITERS, *transformations.WRITERS]


def draw(seed: int, with_idioms: bool = False) -> Program:
    """The program of that seed. Every fourth has x64 on: of a thousand seeds, the last 250. `with_idioms`,
    half of its statements are of idioms.py."""
    rng = Random(seed)
    x64 = seed % 1000 >= 750
    sizes = rng.choices([0, 1, 2, 3, 4, 5, 17, 33, 1023], [1, 2, 4, 8, 4, 4, 2, 1, 0.5], k=3)
    max_size = 4000
    if rng.random() < 0.004:
        sizes, max_size = [1_000_000], 3_000_000
    limits = Limits(rng, sizes, max_size, x64, budget=rng.randint(4, 14))
    with tinyjax.enable_x64(x64), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer = Writer(limits, [])
        args = [_argument(writer) for _ in range(rng.randint(1, 3))]
        params = list(writer.scope)
        if rng.random() < 0.35:
            key = f"jax.random.key({rng.randrange(99)})"
            count = min(rng.choice(sizes), 9)
            writer.add(rng.choice([key, f"jax.random.split({key}, {count})"]))
        if with_idioms:
            limits.with_idioms = True
            write_statements(writer, 1, 3)
        else:
            write_statements(writer, 3, 6)
    args += [Argument(v.name, values, rng.random() < 0.75) for v, values in limits.arguments]
    params += [v for v, _ in limits.arguments]
    made = [v for v in writer.scope if v not in params and v.dtype in KINDS["x"]]
    outputs = [v.name for v in made] or [params[0].name]
    main = Function("program", [v.name for v in params], writer.statements, "")
    program = Program(seed, args, main, outputs, x64)
    program.refused, program.idioms = limits.refused, limits.idioms
    return program.with_outputs(outputs)


def draw_derivatives(seed: int) -> Program:
    """A program of small arrays that asks for derivatives. Every fourth has x64 on, as above."""
    rng = Random(seed)
    x64 = seed % 1000 >= 750
    sizes = rng.choices([0, 1, 2, 3, 4, 5], [0.3, 2, 6, 8, 4, 2], k=2)
    limits = Limits(rng, sizes, 120, x64, rng.randint(6, 16), WITHIN_DERIVATIVES)
    with tinyjax.enable_x64(x64), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer = Writer(limits, [])
        args = [_argument(writer, "f"), *(_argument(writer) for _ in range(rng.randint(0, 3)))]
        params = list(writer.scope)
        write_statements(writer, 0, 1)
        writers, weights = zip(*DERIVATIVES)
        written, wanted = 0, rng.choice([1, 1, 2])
        for write in rng.choices(writers, weights, k=6):
            written += written < wanted and bool(write(writer))
    made = [v.name for v in writer.scope if v not in params and v.dtype in KINDS["x"]]
    outputs = made or [params[0].name]
    main = Function("program", [v.name for v in params], writer.statements, "")
    return Program(seed, args, main, outputs, x64, limits.refused).with_outputs(outputs)


def _argument(writer: Writer, kinds: str = "fffffiiipz") -> Argument:
    """Adds an argument to the scope; the values are small, and the usual dtypes come more often."""
    rng = writer.rng
    weak = _weak_dtype(writer) if kinds != "f" and rng.random() < 0.2 else None
    how, dtype = weak or ("", rng.choice(writer.dtypes[rng.choice(kinds)]))
    shape = () if weak else writer.shape()
    variable = Variable(writer.new_name("a"), shape, dtype, weak=bool(weak) and dtype != "bool")
    writer.scope.append(variable)
    values = argument_values(variable, rng.randrange(1000))
    return Argument(variable.name, values, rng.random() < 0.75, how)


def _weak_dtype(writer: Writer) -> tuple[str, str]:
    """How a Python number becomes an argument, and its dtype then."""
    rng, x64 = writer.rng, writer.limits.x64
    how = rng.choice(["scalar", "before x64"])
    wide = x64 and how == "scalar"
    dtypes = "bool int64 float64 complex128" if wide else "bool int32 float32 complex64"
    return how, rng.choice(dtypes.split())
