"""The search for a schedule, with a timer that is not one."""

import itertools

import numpy as np
import pytest
from drawn import draws

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.compile.schedules.parallelize import Parallelize
from tinyjax.compile.schedules.partition import Partition
from tinyjax.compile.schedules.vectorize import Vectorize
from tinyjax.studio.tune import beam_search, moves, seconds_of, tune

X, ROW = np.ones((12, 50), np.float32), np.ones(50, np.float32)


@jax.jit
def scaled(x, row):
    return x * row + 1


def short_text(lowered, *args):
    """Takes as long as the kernel's work-items have lines."""
    (kernel,) = lowered.compiler_ir("kernel")
    return len(str(kernel)) / kernel.items


def test_the_search_finds_what_the_timer_likes_and_prints_what_it_tried(capsys):
    ((name, schedule),) = tune(scaled, X, ROW, timer=short_text, beam=2).items()
    assert any(isinstance(directive, Parallelize) for directive in schedule)
    assert {directive.why for directive in schedule} >= {"found by tune"}
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{name}:" and "us  the compiler's: " in lines[1]
    assert lines[-1].endswith(f" as fast as the compiler's: [{', '.join(map(str, schedule))}]")
    assert any("us  the naive nest" in line for line in lines)
    assert any(", ".join(map(str, schedule)) in line for line in lines)


def test_what_was_found_can_be_kept():
    ((name, schedule),) = tune(scaled, X, ROW, timer=short_text, beam=2).items()
    own = scaled.lower(X, ROW).with_schedule(name, schedule)
    np.testing.assert_array_equal(own.compile()(X, ROW), scaled(X, ROW))


def test_where_nothing_is_faster_the_compiler_keeps_its_schedule():
    assert tune(scaled, X, ROW, timer=lambda lowered, *args: 1.0, beam=1) == {}


def test_of_schedules_that_are_about_as_fast_the_shortest_is_the_result():
    def timer(lowered, *args):
        directives = lowered.compiler_ir("schedule of k0")
        if any(isinstance(directive, Partition) for directive in directives):  # the compiler's
            return 5.0
        return {0: 3.0, 1: 1.0}.get(len(directives), 0.99)

    ((directive,),) = tune(scaled, X, ROW, timer=timer).values()
    assert directive == Vectorize("i2", 16)


def test_a_slow_first_call_makes_no_other_schedule_faster():
    seconds = itertools.chain([10.0], itertools.repeat(1.0))
    assert tune(scaled, X, ROW, timer=lambda lowered, *args: next(seconds)) == {}


def test_no_time_is_enough_for_one_try(capsys):
    assert list(tune(scaled, X, ROW, timer=short_text, seconds=0).values()) == [
        []
    ]  # the naive nest
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_vectors_are_tried_on_inner_loops_first():
    (nest,) = scaled.lower(X, ROW).compiler_ir("loop nests")
    assert next(iter(moves(nest))) == [Vectorize("i2", 16)]


def test_a_function_that_is_not_jitted_is_refused():
    with pytest.raises(TypeError, match=r"jitted function: call tune\(jax.jit\(f\)"):
        tune(lambda x: x + 1, X)


def test_a_program_without_kernels_says_so(capsys):
    assert tune(jax.jit(lambda x: x), X) == {}
    assert capsys.readouterr().out.startswith("no kernel has a schedule")


def test_a_call_can_be_measured():
    assert 0 < seconds_of(jax.jit(jnp.sum).lower(X), X) < 10


def test_its_older_name_is_imported_too():
    from tinyjax.compile import tune as older

    assert older.tune is tune


# ---- the search alone: schedules are words, and `longer` adds a letter ----


def searched(times, beam=2, begin=("",), letters="psv", calls=100):
    """What the search tries, in order, and its result. `times` has the schedules that can be used; there is
    time for so many calls of `measure`."""
    tried = []

    def measure(schedule):
        tried.append(schedule)
        return times.get(schedule, np.inf)

    def longer(schedule):
        assert schedule in times, f"{schedule!r} can't be used, and so not extended"
        yield from (schedule + letter for letter in letters)

    found = beam_search(begin, longer, measure, beam, lambda: len(tried) < calls)
    assert found == {schedule: times.get(schedule, np.inf) for schedule in tried}
    return tried, found


TIMES = {"": 9, "p": 7, "s": 6, "v": 5, "vp": 3, "vs": 8, "sp": 4, "pv": 1, "vpp": 2}


def test_each_round_extends_the_fastest_that_were_found_before_it():
    tried, found = searched(TIMES)
    assert tried[:4] == ["", "p", "s", "v"]
    assert tried[4:10] == ["vp", "vs", "vv", "sp", "ss", "sv"], (
        "v and s are the fastest two, p is not"
    )
    assert tried[10:16] == ["vpp", "vps", "vpv", "spp", "sps", "spv"], "then vp and sp"
    assert tried[16:] == ["vppp", "vpps", "vppv"], "then vpp, and vp again, which has nothing new"
    assert min(found, key=found.get) == "vpp"


def test_a_wider_beam_finds_what_a_narrow_one_leaves_out():
    assert [min(searched(TIMES, beam)[1].values()) for beam in (1, 2, 3)] == [2, 2, 1]


def test_each_schedule_is_measured_once_also_one_that_cannot_be_used():
    times = {"": 9, "a": 8, "b": 7, "bb": 6}
    tried, _ = searched(times, 9, begin=("", "a", ""), letters=["a", "b", "a"])
    assert len(tried) == len(set(tried))


def test_what_a_round_finds_is_extended_in_the_next_one():
    tried, _ = searched({"": 9, "a": 1, "b": 2, "ab": 3}, 2, letters="ab")
    assert tried == ["", "a", "b", "aa", "ab", "ba", "bb"]


def test_a_round_that_finds_nothing_faster_is_the_last():
    assert searched({"": 1, "a": 1, "aa": 0}, 3, letters="a")[0] == ["", "a"]
    assert searched({"": 1, "a": 2, "aa": 0}, 3, letters="a")[0] == ["", "a"]
    longest = {"a" * n: 99 - n for n in range(40)}
    assert min(searched(longest, 1, letters="a")[1].values()) == 60


def test_another_that_is_faster_goes_on_though_the_fastest_has_none():
    assert "bb" in searched({"": 5, "a": 2, "b": 3, "ba": 1, "bab": 9, "bb": 8}, letters="ab")[0]


@pytest.mark.parametrize("calls", [2, 3, 4, 7, 10, 15])
def test_when_the_time_is_over_nothing_more_is_tried(calls):
    everything, _ = searched(TIMES, begin=("", "s"))
    assert searched(TIMES, begin=("", "s"), calls=calls)[0] == everything[:calls]


def test_those_to_begin_with_are_tried_without_time():
    assert searched(TIMES, begin=("", "v", "s"), calls=0)[0] == ["", "v", "s"]


def test_of_many_schedules_only_those_are_drawn_that_there_is_time_for():
    drawn = []

    def longer(_):
        for schedule in range(1, 100):
            drawn.append(schedule)
            yield schedule

    found = beam_search((0,), longer, float, 1, iter([True] * 5 + [False]).__next__)
    assert list(found) == [0, 1, 2, 3, 4, 5]
    assert len(drawn) <= 6


def test_whatever_the_times_each_round_extends_the_fastest_so_far():
    for draw in draws(20):
        words = ["".join(word) for n in range(5) for word in itertools.product("abc", repeat=n)]
        times = {word: draw.random() for word in words if not word or draw.random() < 0.7}
        beam = draw.randint(1, 3)
        known, before = {"": times[""]}, np.inf
        while min(known.values()) < before:
            before = min(known.values())
            fast = [w for w in sorted(times, key=times.get) if w in known][:beam]
            known |= {w + x: times.get(w + x, np.inf) for w in fast for x in "abc"}
        assert searched(times, beam, letters="abc")[1] == known
