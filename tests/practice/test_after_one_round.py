"""What one iteration hands on, on a toy body."""

import functools

from drawn import drawn, shown
from judged import unchanged
from practice.after_one_round import Body, after_one_round

# c = sin a; d = c * b; the next carry is (a, d, k), where k is made of nothing that goes round
BODY = Body(
    takes=("a", "b", "g"),
    lines=(("c", ("a",)), ("d", ("c", "b")), ("k", ())),
    gives=("a", "d", "k"),
)


def told(body, *flags):
    return after_one_round(body, flags)


def test_what_is_made_of_something_that_has_it_has_it():
    assert told(BODY, False, True, False) == (False, True, False), "d is made of b, and a is not"


def test_it_is_handed_on_through_what_stands_between():
    got = told(BODY, True, False, False)
    assert got == (True, True, False), f"a has it, so c, so d, which the carry gives second: {got}"


def test_any_operand_counts_the_last_as_well_as_the_first():
    body = Body(("a", "b"), (("c", ("a", "b")), ("d", ("b", "a"))), ("c", "d"))
    assert told(body, True, False) == (True, True), "both are made of a, whichever place it has"


def test_a_part_that_is_made_of_other_things_has_lost_it():
    got = told(BODY, False, False, True)
    assert got == (False, False, False), f"g is not handed on, and k is made of nothing: {got}"


def test_a_part_may_be_handed_on_to_another_place():
    body = Body(("a", "b"), (), ("b", "a"))
    assert told(body, True, False) == (False, True), "a and b change places, and their flags too"


def test_what_has_it_in_one_line_only_says_nothing_of_the_others():
    body = Body(("a", "b"), (("c", ("a",)), ("d", ("b",))), ("c", "d"))
    assert told(body, True, False) == (True, False), "c is made of a, and d is not"


def test_with_no_flags_there_are_none_afterwards():
    assert told(BODY, False, False, False) == (False, False, False), "nothing had it before"


def test_what_is_given_stays_and_a_second_round_is_of_its_own_flags():
    flags = [True, False, False]
    with unchanged(flags=flags, body=BODY):
        assert after_one_round(BODY, flags) == (True, True, False)
        assert after_one_round(BODY, [False] * 3) == (False, False, False)
    got = after_one_round(BODY, flags)
    assert type(got) is tuple and all(type(flag) is bool for flag in got)


def test_a_body_may_have_many_parts_and_give_one_twice():
    names = "abcdefgh"
    lines = tuple((f"{x}{y}", (y, x, "z")) for x, y in zip(names, names[1:]))
    body = Body((*names, "z"), lines, ("ab", "ab", "gh", "de", "h", "z"))
    assert told(body, *[False] * 7, True, False) == (False, False, True, False, True, False)
    assert told(body, *[False] * 8, True) == (True, True, True, True, False, True)
    assert told(Body((), (("a", ()),), ())) == ()
    lines = tuple((f"v{i + 1}", (*names, f"v{i}")) for i in range(30))
    assert told(Body(("v0",), lines, ("v30",)), True) == (True,), "handed on through thirty lines"


@drawn(60, most=8)
def test_drawn_bodies_hand_on_what_each_value_goes_back_to(rng, most):
    takes = tuple("abcdefgh"[: rng.integers(1, most + 1)])
    names, lines = list(takes), []
    for n in range(rng.integers(0, 2 * most)):
        operands = tuple(names[i] for i in rng.integers(len(names), size=rng.integers(0, most)))
        lines.append(("v" * (n + 1), operands))  # v, vv, vvv, ...
        names.append("v" * (n + 1))
    body = Body(takes, tuple(lines), tuple(rng.choice(names) for _ in takes))
    flags = tuple(bool(flag) for flag in rng.integers(2, size=len(takes)))
    flagged, operands_of = dict(zip(takes, flags)), dict(lines)

    @functools.cache
    def has(name):  # goes back from a result, not forth through the lines
        return flagged[name] if name in flagged else any(map(has, operands_of[name]))

    with shown(body=body, flags=flags):
        got, want = after_one_round(body, flags), tuple(map(has, body.gives))
        assert got == want, f"{want} of the next carry should have it, not {got}"
