"""Which arrays reuse memory that is no longer read. No device is needed for it."""

from types import SimpleNamespace

import numpy as np
import pytest
from drawn import drawn, shown
from lowering import aval

from tinyjax import lax
from tinyjax.compile.memory_plan import _dying, _take_free, with_memory
from tinyjax.compile.plan import MemoryPlan, make_plan
from tinyjax.compile.target import CPU
from tinyjax.core.array import ShapedArray
from tinyjax.core.jaxpr import Var
from tinyjax.core.tracing import make_jaxpr

F32, F16 = np.dtype("float32"), np.dtype("float16")
A, B, C, D, E = (Var(ShapedArray((10,), F32)) for _ in range(5))


def letters(variables):
    names = dict(zip((A, B, C, D, E), "ABCDE"))
    return "".join(names[v] for v in variables)


# ---- which values are no longer live ----


def dying(number, *groups):
    """The letters of the values last read by group `number`; each group is (what it reads, what it makes)."""
    made = [SimpleNamespace(inputs=list(reads), outputs=list(makes)) for reads, makes in groups]
    last = {v: n for n, group in enumerate(made) for v in group.inputs}
    return letters(_dying(SimpleNamespace(groups=made), number, last))


PROGRAM = ([A, B], [C]), ([C, A], [D]), ([C, D], [E])


@pytest.mark.parametrize("number, wanted", [(0, "B"), (1, "A"), (2, "CDE")])
def test_a_value_dies_after_the_group_that_is_the_last_to_read_it(number, wanted):
    assert dying(number, *PROGRAM) == wanted


def test_what_a_group_reads_twice_dies_once():
    assert dying(0, ([B, A, B], [C]), ([C], [D])) == "BA"


def test_what_is_made_and_never_read_dies_at_once_behind_what_was_read():
    assert dying(0, ([A], [B, C]), ([B], [D])) == "AC"


def test_a_value_of_three_readers_lives_until_the_last_and_three_may_die_together():
    program = ([A], [B]), ([A, B], [C]), ([C], [D]), ([D, B, A, C], [E])
    assert [dying(number, *program) for number in range(4)] == ["", "", "", "DBACE"]
    unread = ([A], [B, C, D]), ([C, B], [E])
    assert [dying(number, *unread) for number in range(2)] == ["AD", "CBE"]
    assert dying(0, ([], [A, B, C])) == "ABC"
    more = [Var(ShapedArray((10,), F32)) for _ in range(12)]
    group = SimpleNamespace(inputs=more, outputs=[])
    assert _dying(SimpleNamespace(groups=[group]), 0, dict.fromkeys(more, 0)) == more, "all twelve"
    late = dict.fromkeys(more, int("1000"))  # equal to 1000, and another object
    assert _dying(SimpleNamespace(groups={1000: group}), 1000, late) == more, "in group 1000 too"


# ---- who takes over ----


def taken(outputs, free, has=(), may_take_over=lambda v, u: True):
    """By letters, what outputs take over, and what is free afterwards."""
    memory = MemoryPlan(set(), reuses_buffer_of=dict(has))
    entries = [(v, number) for number, v in enumerate(free)]
    _take_free(memory, outputs, entries, may_take_over)
    return memory.reuses_buffer_of, entries


def test_an_output_takes_over_the_memory_that_has_been_free_for_longest():
    assert taken([C], [A, B, D]) == ({C: A}, [(B, 1), (D, 2)])


def test_memory_is_taken_over_by_one_output():
    found, left = taken([C, D, E], [A, B])
    assert found == {C: A, D: B} and left == [], "nothing is left for E"


def test_of_three_outputs_the_third_may_find_what_the_others_left():
    small = Var(ShapedArray((9,), F32))
    found, left = taken([C, small, D], [A, B, E])
    assert found == {C: A, D: B} and left == [(E, 2)]
    outputs = [C, D, E]
    assert taken(outputs, [small, A, B], has=[(C, A)])[0] == {C: A, D: A, E: B}
    assert outputs == [C, D, E]


def test_an_output_that_works_in_place_needs_no_other_memory():
    found, left = taken([C, D], [A], has=[(C, B)])
    assert found == {C: B, D: A} and left == []


def test_memory_of_fewer_or_more_bytes_is_not_taken():
    small, large = (Var(ShapedArray((n,), F32)) for n in (9, 11))
    assert taken([C], [small, large, A]) == ({C: A}, [(small, 0), (large, 1)])
    nine, ten = (Var(ShapedArray((n,), np.dtype("int8"))) for n in (9, 10))
    assert taken([ten], [nine]) == ({}, [(nine, 0)]), "a byte is missing"


def test_bytes_count_whatever_shape_and_dtype_are():
    halves = Var(ShapedArray((4, 5), F16))
    assert taken([C], [halves]) == ({C: halves}, [])
    more = [Var(ShapedArray((10,), F32)) for _ in range(4)]
    assert taken(more, [A, B, C, D, E])[0] == dict(zip(more, [A, B, C, D])), "each takes the first"
    large, wide = Var(ShapedArray((1000,), F32)), Var(ShapedArray((20, 100), F16))
    assert taken([large], [wide]) == ({large: wide}, [])


def test_who_must_not_take_over_something_takes_the_next():
    def may_take_over(v, u):
        assert v is C, "may_take_over(v, u) asks whether the output v may take over u"
        return u is not A

    assert taken([C], [A, B], may_take_over=may_take_over) == ({C: B}, [(A, 0)])
    found, _ = taken([C], [A, B, D, E], may_take_over=lambda v, u: u is E)
    assert found == {C: E}, "the fourth that is free is the first that may be taken over"


# ---- whole programs ----


def stored(x):
    """A value that is read at two places, and so has memory, by a kernel that can't work in place."""
    y = lax.sin(x)
    return lax.add(y, lax.rev(y, (0,)))


def planned(count, keep=False):
    def f(x):
        first = y = stored(x)
        for _ in range(count):
            y = stored(y)
        return lax.add(y, lax.rev(first, (0,))) if keep else y

    return with_memory(make_plan(make_jaxpr(f)(aval(100)), CPU))


def test_values_that_are_never_live_together_take_turns_in_two_buffers():
    plan = planned(6)
    assert len(plan.kernels) - len(plan.memory.reuses_buffer_of) == 2
    assert max(plan.memory.live) == 3 * 400, "the argument, and two buffers"


def test_what_is_read_later_keeps_its_memory():
    assert max(planned(6, keep=True).memory.live) == 4 * 400


# ---- programs that are drawn ----


@drawn(40, most=9)
def test_of_drawn_programs_values_die_with_their_last_reader(rng, most):
    values, groups = [0], []  # numbers of values
    for _ in range(most):
        made = list(range(len(values), len(values) + rng.integers(1, 4)))
        groups.append((rng.choice(values, rng.integers(0, most)).tolist(), made))
        values += made
    variables = [Var(ShapedArray((10,), F32)) for _ in values]
    plan = SimpleNamespace(
        groups=[
            SimpleNamespace(
                inputs=[variables[v] for v in reads], outputs=[variables[v] for v in makes]
            )
            for reads, makes in groups
        ]
    )
    last = {variables[v]: n for n, (reads, _) in enumerate(groups) for v in reads}
    number = int(rng.integers(most))
    with shown(reads_and_makes=groups, group=number):
        reads, makes = groups[number]
        later = {v for reads, _ in groups[number + 1 :] for v in reads}
        ever = {v for reads, _ in groups for v in reads}
        want = [v for i, v in enumerate(reads) if v not in later and v not in reads[:i]]
        want += [v for v in makes if v not in ever]
        got = [variables.index(v) for v in _dying(plan, number, last)]
        assert got == want, f"after the group {want} are dead, and not {got}"


@drawn(40, most=20)
def test_drawn_outputs_take_the_first_memory_that_fits(rng, most):
    dtypes = ["float32", "int8", "float16"]

    def draw_value():
        return Var(ShapedArray((int(rng.integers(1, 4)), 2), np.dtype(rng.choice(dtypes))))

    outputs, free = ([draw_value() for _ in range(rng.integers(1, most + 1))] for _ in range(2))
    has = {v: free[0] for v in outputs if rng.random() < 0.2}
    refused = {(v, u) for v in outputs for u in free if rng.random() < 0.2}
    sizes = [[v.aval.size * v.aval.dtype.itemsize for v in part] for part in (outputs, free)]
    with shown(bytes_of_outputs=sizes[0], bytes_that_are_free=sizes[1]):
        found, left = taken(outputs, free, has, lambda v, u: (v, u) not in refused)
        want, rest = dict(has), dict(enumerate(free))
        for v, size in zip(outputs, sizes[0]):
            fits = [n for n, u in rest.items() if sizes[1][n] == size and (v, u) not in refused]
            if v not in has and fits:
                want[v] = rest.pop(fits[0])
        taken_from = {outputs.index(v): free.index(u) for v, u in found.items()}
        wanted = {outputs.index(v): free.index(u) for v, u in want.items()}
        assert taken_from == wanted, f"outputs should take {wanted}, and take {taken_from}"
        assert left == [(u, n) for n, u in rest.items()], "what is taken is no longer free"
