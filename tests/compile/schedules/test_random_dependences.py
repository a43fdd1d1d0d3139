"""Random loops: where iterations are called independent, none touches what another one stores."""

from random import Random

import pytest
from loop_nests import F32, axis

from tinyjax.compile.kernel.indices import index, index_value, index_var
from tinyjax.compile.kernel.kernel_ir import Buffer, For, Load, Store, Value, statement_lines
from tinyjax.compile.schedules.dependences import why_dependent

OUT = Buffer("y_out", F32, 10_000, "out")
ONE, FOUR = Value("a", F32), Value("b", F32, 4)


def random_sum(rng, variables):
    """Variables times factors, and a number."""
    total = index(rng.choice([0, 0, 1, 3, 5, 16, 64]))
    for variable in variables:
        total = total + variable * rng.choice([0, 1, 1, 2, 3, 4, 6, 16, -1, -2, -4])
    return total


def random_access(rng, place):
    value, at = rng.choice([ONE, ONE, ONE, FOUR]), place + rng.choice([0, 0, 1, 2, 4, 5, 12])
    end = at + rng.choice([1, 2, 3]) if value is FOUR and rng.random() < 0.3 else None
    return Load(value, OUT, at, end) if rng.random() < 0.3 else Store(OUT, at, value, end)


def random_loop(rng, around, name):
    """A loop of one to four iterations, or less; it may have steps, and begin where those around it are.
    What it accesses is often near to each other."""
    start = random_sum(rng, around) if rng.random() < 0.4 else index(rng.choice([0, 0, 2, 4]))
    stop = start + rng.randint(1, 4)
    if rng.random() < 0.3:
        stop = stop.min(index(max(1, start.hi)))
    variable = index_var(name, start.lo, max(start.lo, stop.hi - 1))
    inner, has_inner = [*around, variable], len(around) < 2 and rng.random() < 0.6
    places = [random_sum(rng, inner) for _ in range(rng.choice([1, 1, 1, 2]))]
    body = [
        random_access(rng, rng.choice(places)) for _ in range(rng.randint(0 if has_inner else 1, 3))
    ]
    if has_inner:
        body.append(random_loop(rng, inner, f"{name}j"))
    return For(variable, start, stop, body, rng.choice([1, 1, 2, 4]))


def accesses(body, places):
    """(element, whether it is stored) of each access."""
    for s in body:
        if isinstance(s, For):
            for i in range(index_value(s.start, places), index_value(s.stop, places), s.step):
                yield from accesses(s.body, places | {s.variable.args[0]: i})
            continue
        width = s.value.width if isinstance(s, Store) else s.target.width
        first = index_value(s.index, places)
        last = first + width if s.end is None else min(first + width, index_value(s.end, places))
        yield from ((element, isinstance(s, Store)) for element in range(first, last))


def meet(loop, places):
    """Whether an iteration touches what another one stores."""
    name, found = loop.variable.args[0], {}
    for i in range(index_value(loop.start, places), index_value(loop.stop, places), loop.step):
        for element, is_store in accesses(loop.body, places | {name: i}):
            found.setdefault(element, set()).add((i, is_store))
    return any(
        len({i for i, _ in those}) > 1 and any(is_store for _, is_store in those)
        for those in found.values()
    )


@pytest.mark.parametrize("first", range(0, 2000, 200))
def test_independent_iterations_do_not_meet(first):
    independent = 0
    for seed in range(first, first + 200):
        loop = random_loop(Random(seed), [axis("around", 3)], "i")
        if not why_dependent(loop):
            independent += 1
            places = ({"around": number} for number in range(3))
            assert not any(meet(loop, at) for at in places), "\n".join(statement_lines(loop))
    assert independent > 20
