from dataclasses import replace

import numpy as np
import pytest
from drawn import draws
from judged import unchanged
from practice.toy_kernel import Add, For, Let, Load, Store, run
from practice.vectors import vectors_and_rest

BODY = [Load("a", "a_in", "i"), Let("b", "mul", ("a", "a")), Store("b_out", "i", "b")]


def stored(loops, size):
    """What loops leave in memory, and how many statements were run."""
    memory = {"a_in": np.arange(float(size)), "k_in": np.arange(5.0), "b_out": np.full(size, -77.0)}
    count = run(loops, memory)
    return memory["b_out"], count


@pytest.mark.parametrize("start, stop", [(0, 100), (0, 96), (0, 16), (3, 40), (5, 37), (9, 40)])
def test_each_iteration_is_run_once_in_vectors_as_far_as_they_are_whole(start, stop):
    loop = For("i", start, stop, BODY)
    found, count = stored(vectors_and_rest(loop, 16), 100)
    np.testing.assert_array_equal(found, stored([loop], 100)[0])
    vectors, rest = divmod(stop - start, 16)
    assert count == 3 * (vectors + rest), f"{vectors} vectors and {rest} single iterations"


def test_the_two_loops():
    loop = For("i", 0, 100, BODY)
    wide = [Load("a", "a_in", "i", 16), BODY[1], Store("b_out", "i", "b", 16)]
    vectors, rest = vectors_and_rest(loop, 16)
    assert vectors == For("i", 0, 96, wide, step=16)
    assert rest == For("i", 96, 100, BODY)
    assert loop.body == BODY, "the loop that was given has changed"


@pytest.mark.parametrize("size, steps", [(96, [16]), (15, [1]), (0, [])])
def test_a_loop_without_iterations_is_left_out(size, steps):
    assert [loop.step for loop in vectors_and_rest(For("i", 0, size, BODY), 16)] == steps


def test_what_is_the_same_in_all_iterations_stays_a_number():
    scale = [Load("k", "k_in", 3), *BODY[:1], Let("b", "mul", ("a", "k")), *BODY[2:]]
    loop = For("i", 0, 40, scale)
    vectors, _ = vectors_and_rest(loop, 8) if 40 % 8 else (*vectors_and_rest(loop, 8), None)
    assert vectors.body[0] == scale[0], "k is one element, whatever i is"
    np.testing.assert_array_equal(stored([vectors], 40)[0], 3 * np.arange(40.0))


def test_a_store_at_another_index_stays_one_too():
    loop = For("j", 0, 32, [Load("k", "k_in", 2), Store("b_out", 7, "k")])
    (vectors,) = vectors_and_rest(loop, 16)
    assert vectors.body == loop.body
    loop = For("j", 0, 32, [Load("k", "k_in", "i"), Store("b_out", "i", "k")])
    (vectors,) = vectors_and_rest(loop, 16)
    assert vectors.body == loop.body, "i is the variable of another loop, around this one"


def test_a_loop_that_adds_up_stays_whole():
    loop = For("i", 0, 40, [*BODY[:1], Add("b_out", 0, "a")])
    assert vectors_and_rest(loop, 16) == [loop]


@pytest.mark.parametrize("width", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("start, stop", [(0, 1), (7, 64), (5, 5), (2, 67)])
def test_of_any_width_each_iteration_is_run_once_and_the_loop_stays_as_it_is(start, stop, width):
    body = [
        Load("a", "a_in", "j"),
        Load("k", "k_in", 4),
        Let("b", "mul", ("a", "k")),
        Let("c", "add", ("b", "a")),
        Store("b_out", "j", "c"),
    ]
    loop = For("j", start, stop, body)
    with unchanged(loop=loop):
        loops = vectors_and_rest(loop, width)
    np.testing.assert_array_equal(stored(loops, 70)[0], stored([loop], 70)[0])
    assert all(part.start < part.stop for part in loops) and {part.variable for part in loops} <= {
        "j"
    }


def test_several_loads_and_stores_are_wide_each_where_it_is_at_the_loops_variable():
    body = [
        Load("a", "a_in", "i"),
        Load("k", "k_in", 1),
        Load("d", "a_in", "i"),
        Let("b", "minimum", ("a", "d")),
        Store("b_out", "i", "b"),
        Store("b_out", 99, 5.0),
    ]
    vectors, rest = vectors_and_rest(For("i", 0, 20, body), 16)
    assert [s.width for s in vectors.body if not isinstance(s, Let)] == [16, 1, 16, 16, 1]
    assert rest.body == body and vectors.body[-1] == Store("b_out", 99, 5.0)
    numbers = [Store("b_out", "i", 5.0), Load("k", "k_in", "i2")]
    (vectors,) = vectors_and_rest(For("i", 0, 256, numbers), 128)
    assert [s.width for s in vectors.body] == [128, 1], (
        "128 numbers are stored; i2 is another variable"
    )
    for start, stop, width, parts in [
        (-3, 30, 16, [(-3, 29, 16), (29, 30, 1)]),
        (0, 64, 64, [(0, 64, 64)]),
    ]:
        loops = vectors_and_rest(For("i", start, stop, BODY), width)
        assert [(loop.start, loop.stop, loop.step) for loop in loops] == parts


def test_wherever_it_adds_up_and_whatever_was_before_a_loop_that_does_stays_whole():
    for start, stop in [(0, 40), (3, 20)]:
        loop = For("i", start, stop, [*BODY, Add("b_out", 0, "a")])
        assert vectors_and_rest(loop, 16) == [loop]
    assert vectors_and_rest(For("i", 0, 16, BODY), 16) != [loop]
    for at in range(len(BODY) + 1):
        loop = For("i", 0, 40, [*BODY[:at], Add("b_out", 0, "a"), *BODY[at:]])
        assert vectors_and_rest(loop, 16) == [loop], f"it adds up in its statement {at}"


def test_of_any_loop_each_iteration_is_run_once_and_what_is_at_its_variable_is_wide():
    for draw in draws(60):
        name, width = draw.choice(["i", "j", "row"]), draw.choice([1, 2, 3, 4, 8, 16])
        start, body = draw.randint(0, 9), []
        stop = start + draw.choice([0, 1, draw.randint(0, 40), width, 2 * width])
        for k in range(draw.randint(1, 5)):
            kind, at = draw.choice(["load", "load", "let", "store"]), draw.choice([name, name, 3])
            named = [s.target for s in body if isinstance(s, Load | Let)]
            if kind == "load" or not named:
                body.append(Load(f"v{k}", draw.choice(["a_in", "k_in"]) if at == 3 else "a_in", at))
            elif kind == "let":
                op = draw.choice(["add", "mul"])
                body.append(Let(f"v{k}", op, (draw.choice(named), draw.choice(named))))
            else:
                body.append(Store("b_out", name, draw.choice([*named, 0.5])))
        adds = draw.random() < 0.2 and any(isinstance(s, Load) for s in body)
        if adds:
            target = next(s.target for s in body if isinstance(s, Load))
            body.insert(draw.randint(1, len(body)), Add("b_out", draw.choice([0, name]), target))
            body.sort(key=lambda s: isinstance(s, Add | Store))
        loop = For("".join([*name]), start, stop, body)  # an equal name, not the same object
        with unchanged(loop=loop):
            found = vectors_and_rest(loop, width)
        about = f"of {loop} in vectors of {width}: found {found}"
        if adds:
            assert list(found) == [loop], f"{about}\na loop that adds up stays whole"
            continue
        middle = stop - (stop - start) % width
        widths = [width if getattr(s, "index", None) == name else 1 for s in body]
        wide = [replace(s, width=w) if hasattr(s, "width") else s for s, w in zip(body, widths)]
        expected = []
        if start < middle:
            expected.append(For(name, start, middle, wide, width))
        if middle < stop:
            expected.append(For(name, middle, stop, body))
        assert list(found) == expected, f"{about}\nexpected {expected}"
        np.testing.assert_array_equal(stored(found, 60)[0], stored([loop], 60)[0], about)
