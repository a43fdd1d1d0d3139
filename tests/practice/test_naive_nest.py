import numpy as np
from drawn import draws
from judged import unchanged
from practice.naive_nest import naive_nest
from practice.toy_kernel import Add, For, Let, Load, Store, run

MUL_ADD = [("mul", ("a", "b"), "d"), ("add", ("d", "c"), "e")]
ARGS = {f"{name}_in": np.arange(6.0) + n for n, name in enumerate("abc")}


def stored(nest, *outs, size=6):
    """What the nest stores, in memory that has rubbish before."""
    memory = ARGS | {out: np.full(size, -77.0) for out in outs}
    run(nest, memory)
    return [memory[out] for out in outs]


def only_loop(nest):
    (loop,) = nest
    assert isinstance(loop, For), f"the nest is one loop, and not {loop}"
    return loop


def test_each_element_is_loaded_computed_and_stored():
    loop = only_loop(naive_nest(MUL_ADD, "e", 6))
    assert (loop.variable, loop.start, loop.stop, loop.step) == ("i", 0, 6, 1)
    a, b, c = (ARGS[f"{name}_in"] for name in "abc")
    (found,) = stored([loop], "e_out")
    np.testing.assert_array_equal(found, a * b + c)


def test_a_sum_begins_at_zero_and_is_added_to_in_the_loop():
    nest = naive_nest(MUL_ADD, "e", 6, total=True)
    assert nest[0] == Store("e_out", 0, 0.0), "the sum is set to 0.0 before the loop"
    a, b, c = (ARGS[f"{name}_in"] for name in "abc")
    (found,) = stored(nest, "e_out", size=1)
    np.testing.assert_array_equal(found, [np.sum(a * b + c)])


def test_each_value_is_loaded_or_computed_once():
    eqns = [("mul", ("a", "a"), "b"), ("add", ("b", "a"), "c"), ("mul", ("c", "b"), "d")]
    body = only_loop(naive_nest(eqns, "d", 6)).body
    assert [s.target for s in body if isinstance(s, Load)] == ["a"]
    assert [s.target for s in body if isinstance(s, Let)] == ["b", "c", "d"]
    (found,) = stored(naive_nest(eqns, "d", 6), "d_out")
    a = ARGS["a_in"]
    np.testing.assert_array_equal(found, (a * a + a) * (a * a))


def test_what_the_result_does_not_need_is_neither_loaded_nor_computed():
    body = only_loop(naive_nest(MUL_ADD, "d", 6)).body
    assert {s.target for s in body if isinstance(s, Load | Let)} == {"a", "b", "d"}


def test_equations_need_not_be_in_order():
    (found,) = stored(naive_nest(MUL_ADD[::-1], "e", 6), "e_out")
    (wanted,) = stored(naive_nest(MUL_ADD, "e", 6), "e_out")
    np.testing.assert_array_equal(found, wanted)


def test_an_argument_itself_can_be_the_result():
    (copied,) = stored(naive_nest([], "a", 6), "a_out")
    np.testing.assert_array_equal(copied, ARGS["a_in"])
    (total,) = stored(naive_nest([], "a", 6, total=True), "a_out", size=1)
    assert total == ARGS["a_in"].sum()


def test_operands_stand_in_their_order():
    (found,) = stored(naive_nest([("sub", ("b", "a"), "c")], "c", 6), "c_out")
    np.testing.assert_array_equal(found, np.ones(6))


def test_what_is_given_stays_and_an_operation_may_have_one_operand_or_three():
    eqns = [
        ("minimum", ("f", "a"), "g"),
        ("sin", ("c",), "f"),
        ("clip", ("b", "a", "c"), "h"),
        ("add", ("h", "g"), "k"),
    ]
    with unchanged(eqns=eqns):
        for size in (6, 1, 0):
            nest = naive_nest(eqns, "k", size)
            loop = only_loop(nest)
            assert loop.stop == size
    a, b, c = (ARGS[f"{name}_in"] for name in "abc")
    (found,) = stored(naive_nest(eqns, "k", 6), "k_out")
    np.testing.assert_array_equal(found, np.clip(b, a, c) + np.minimum(np.sin(c), a))
    names = [s.target for s in loop.body if isinstance(s, Load | Let)]
    assert sorted(names) == sorted(set(names)) == list("abcfghk")
    assert [type(s) for s in naive_nest(eqns, "k", 1, total=True)[1].body[-1:]] == [Add]
    for size in (0, 1, 2):
        start, loop = naive_nest(eqns, "k", size, total=True)
        assert start == Store("k_out", 0, 0.0) and loop.body[-1] == Add("k_out", 0, "k")
        assert loop.stop == size, f"of {size} elements too there is a loop"


class Operands(tuple):
    """Counts how often they are gone through."""

    visits = 0

    def __iter__(self):
        Operands.visits += 1
        return super().__iter__()


def test_the_work_grows_with_the_number_of_equations_and_not_with_that_of_paths():
    eqns = [("mul", Operands((f"v{i}", f"v{i}")), f"v{i + 1}") for i in range(10)]
    before = Operands.visits
    (loop,) = naive_nest(eqns, "v10", 6)
    visits = Operands.visits - before
    assert len(loop.body) == 12 and visits < 100, (
        f"v10 is made of v0 by 10 squarings, whose operands were looked at {visits} times"
    )


def test_names_may_begin_alike_and_need_not_be_one_object():
    eqns = [("add", ("aa", "a"), "ab"), ("mul", ("ab", "aab"), "abc"), ("sin", ("abc",), "a_")]
    again = [(op, tuple("".join(v) for v in operands), "".join(out)) for op, operands, out in eqns]
    for size in (1, 6):
        body = only_loop(naive_nest(again[::-1], "".join("a_"), size)).body
        loads = sorted(s.target for s in body if isinstance(s, Load))
        lets = [s.target for s in body if isinstance(s, Let)]
        assert loads == ["a", "aa", "aab"] and lets == ["ab", "abc", "a_"], f"found {body}"


def test_of_any_equations_in_any_order_what_is_needed_runs_once_for_each_element():
    for draw in draws(60, 12):
        arguments = [f"a{i}" for i in range(draw.count(1))]
        eqns, values = [], list(arguments)
        for i in range(draw.count()):
            op = draw.choice(["add", "sub", "mul", "maximum", "negative", "clip"])
            operands = [draw.choice(values) for _ in range({"negative": 1, "clip": 3}.get(op, 2))]
            eqns.append((op, tuple(operands), f"v{i}"))
            values.append(f"v{i}")
        result, size, total = draw.choice(values), draw.randint(0, 5), draw.random() < 0.4
        memory = {f"{v}_in": draw.whole((size,), np.float64) for v in arguments}
        env = {v: memory[f"{v}_in"] for v in arguments}
        names = {"sub": "subtract", "mul": "multiply"}
        for op, operands, out in eqns:
            env[out] = getattr(np, names.get(op, op))(*[env[v] for v in operands])
        needed = {result}
        for _, operands, out in reversed(eqns):
            needed |= set(operands) if out in needed else set()
        shuffled = draw.sample(eqns, len(eqns))
        about = f"of {shuffled}, result {result}, size {size}, total {total}"
        with unchanged(eqns=shuffled):
            body = naive_nest(shuffled, result, size, total)
        memory[f"{result}_out"] = np.full(1 if total else size, -77.0)
        count = run(body, memory)
        expected = [env[result].sum()] if total else env[result]
        found = memory[f"{result}_out"]
        assert np.array_equal(found, expected), f"{about}: expected {expected}, found {found}"
        most = size * (len(needed) + 1) + total
        assert count == most, f"{about}: {count} statements run, and {most} are needed: {body}"
