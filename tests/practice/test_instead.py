"""A trace that answers some operations in another way. No value is computed: a trace answers in words."""

import pytest
from judged import Thrown, each_error, error_passes, every_error_passes, raises, unchanged
from practice.instead import instead

from tinyjax.core.bind import Primitive, Trace, context, set_current_trace
from tinyjax.core.primitives import cos_p, mul_p, neg_p, reduce_sum_p, sin_p


class Words(Trace):
    """Answers with a text: "mul(x, y)"."""

    def process_primitive(self, primitive, args, params):
        words = [*map(str, args), *(f"{key}={value}" for key, value in params.items())]
        return f"{primitive}({', '.join(words)})"


def in_words(fun):
    with set_current_trace(Words()):
        return fun("x")


def f(x):
    return mul_p.bind(sin_p.bind(x), x)


def test_the_answer_that_was_given_stands_in_for_the_primitives_own():
    answers = {sin_p: lambda x: f"half of {x}"}
    assert in_words(instead(answers, f)) == "mul(half of x, x)"


def test_the_answer_is_given_all_operands_and_parameters():
    product = {mul_p: lambda x, y: f"{x} times {y}"}
    assert in_words(instead(product, f)) == "sin(x) times x"
    total = {reduce_sum_p: lambda x, axes: f"total of {x} over {axes}"}
    assert in_words(instead(total, lambda x: reduce_sum_p.bind(x, axes=(0,)))) == (
        "total of x over (0,)"
    )
    ours, other = Primitive("ours"), Primitive("ours")
    given = ("x", "y", "y", 2.0, None, ..., *range(9))
    seen = {ours: lambda *xs, **params: (xs, params)}
    want = (given, params := {"a": None, "b": [], "name": "i", "sharding": 0})
    assert in_words(instead(seen, lambda _: ours.bind(*given, **params))) == want
    assert in_words(instead(seen, other.bind)) == "ours(x)", "another primitive has the same name"


def test_every_other_primitive_goes_to_the_parent_with_operands_and_parameters():
    assert in_words(instead({}, f)) == "mul(sin(x), x)"
    total = instead({}, lambda x: reduce_sum_p.bind(x, axes=(0,)))
    assert in_words(total) == "reduce_sum(x, axes=(0,))"


def test_what_the_answer_binds_is_not_answered_again():
    answers = {sin_p: cos_p.bind, cos_p: neg_p.bind}
    assert in_words(instead(answers, sin_p.bind)) == "cos(x)", (
        "the function for sin binds cos, which goes to the parent: not to the function for cos"
    )
    assert in_words(instead(answers, cos_p.bind)) == "neg(x)"


def test_around_an_instead_another_answers_what_the_inner_one_leaves():
    inner = instead({sin_p: cos_p.bind}, f)
    assert in_words(instead({cos_p: neg_p.bind}, inner)) == "mul(neg(x), x)", (
        "the inner trace makes cos of sin, and its parent, the outer one, neg of cos"
    )


def test_the_trace_before_is_current_again_when_the_function_has_run():
    words = Words()
    with set_current_trace(words):
        instead({sin_p: cos_p.bind}, f)("x")
        assert context.trace is words


def test_the_new_function_takes_the_arguments_of_the_old_one():
    with set_current_trace(Words()):
        assert instead({}, mul_p.bind)("x", "y") == "mul(x, y)"


def test_the_trace_before_is_current_again_after_an_error_of_the_function():
    with set_current_trace(Words()), error_passes(Thrown()) as error:
        instead({sin_p: cos_p.bind}, raises(error))("x")


@each_error
def test_an_error_of_an_answer_goes_on(error):
    with set_current_trace(Words()), error_passes(error()) as raised:
        instead({sin_p: raises(raised)}, f)("x")


def test_after_an_error_of_an_answer_the_function_goes_on_under_the_same_trace():
    def careful(x):
        with pytest.raises(Thrown):
            sin_p.bind(x)
        return cos_p.bind(x)

    answers = {sin_p: raises(Thrown()), cos_p: lambda x: f"answer to {x}"}
    assert in_words(instead(answers, careful)) == "answer to x"


def test_an_answer_is_called_once_and_may_be_none():
    asked = []
    assert in_words(instead({sin_p: lambda x: asked.append(x)}, sin_p.bind)) is None
    assert asked == ["x"]
    for answer in (0.0, [], [1], (), {}, False):
        got = in_words(instead({sin_p: lambda _, answer=answer: answer}, sin_p.bind))
        assert got is answer, "answer and result are given as they are"
        assert in_words(instead({}, lambda _, answer=answer: answer)) is answer
    three = {p: lambda x, k=k: f"{k}{x}" for k, p in enumerate((sin_p, cos_p, neg_p, reduce_sum_p))}
    assert in_words(instead(three, lambda x: [p.bind(x) for p in three])) == [
        "0x",
        "1x",
        "2x",
        "3x",
    ]


def test_each_call_has_its_own_parent_and_arguments_and_leaves_the_answers():
    answers = {sin_p: lambda x: f"half of {x}"}
    fun = instead(answers, lambda *xs: [f(x) for x in xs])
    with unchanged(answers=answers):
        assert in_words(fun) == ["mul(half of x, x)"]
        with set_current_trace(Words()):
            assert in_words(instead({mul_p: lambda x, y: f"({x})({y})"}, fun)) == ["(half of x)(x)"]
            assert fun("y", "z") == ["mul(half of y, y)", "mul(half of z, z)"]
            assert fun() == []


def test_an_error_of_the_parent_goes_on():
    every_error_passes(lambda: instead({}, f)("x"), lambda: instead({sin_p: cos_p.bind}, f)("x"))
