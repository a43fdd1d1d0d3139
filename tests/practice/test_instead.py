"""A trace that answers some operations in another way. No value is computed: a trace answers in words."""

from practice.instead import instead

from tinyjax.core.bind import Trace, context, set_current_trace
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
