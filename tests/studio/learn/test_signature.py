"""A function has the parameters that the exercise gives it."""

import pytest

from tinyjax.studio.learn.exercises import Exercise, in_clone
from tinyjax.studio.learn.functions import function_text, functions_of, with_function
from tinyjax.studio.learn.in_process import judge_text
from tinyjax.studio.learn.signature import changed_signatures, differences

FILE = "practice/dual.py"


def said(wanted, yours):
    """The first line on two signatures, such as "f(x, *, n=2)", or "" if they are as good as the same."""
    nodes = [functions_of(f"{text}: return x")["f"] for text in (wanted, yours)]
    return next(iter(differences(*nodes)), "")


@pytest.mark.parametrize(
    "wanted, yours, expected",
    [
        ("f(size)", "f(n)", "your `f` has the parameter `n`, the exercise's is `size`"),
        ("f(x, n)", "f(x)", "your `f` lacks the parameter `n`"),
        ("f(x)", "f(x, n)", "your `f` has the parameter `n`, which the exercise's lacks"),
        ("f(x)", "f(x, n=1)", "your `f` has the parameter `n`, which the exercise's lacks"),
        ("f(x)", "f(x, _n)", "your `f` has the parameter `_n`, which the exercise's lacks"),
        ("f(x)", "f(*args)", "your `f` has the parameter `*args`, the exercise's is `x`"),
        ("f(x, **params)", "f(x)", "your `f` lacks the parameter `**kwargs`"),
        ("f(x, y)", "f(y, x)", "the parameters of your `f` are in another order"),
        ("f(x, *rest)", "f(x, _n=1, *rest)", "the parameters of your `f` are in another order"),
        (
            "f(x, *, n)",
            "f(x, n)",
            "`n` of your `f` is given by position or name, in the exercise's by name only",
        ),
        (
            "f(x, n=1)",
            "f(x, n=2)",
            "`n` of your `f` has the default 2, the exercise's has the default 1",
        ),
        (
            "f(x, n=1)",
            "f(x, n)",
            "`n` of your `f` has no default, the exercise's has the default 1",
        ),
        (
            "f(x, n)",
            "f(x, n=1)",
            "`n` of your `f` has the default 1, the exercise's has no default",
        ),
    ],
)
def test_a_changed_parameter_is_named(wanted, yours, expected):
    assert said(f"def {wanted}", f"def {yours}") == expected
    assert said(f"def {wanted}", f"def {wanted}") == ""


def test_types_order_of_names_and_parameters_of_ones_own_are_free():
    assert said("def f(x: int, n=1e-3) -> int", "def f(x, n: float = 0.001)") == ""
    assert said("def f(*, a, b=1, **c)", "def f(*, b=1, a, **others)") == ""
    assert said("def f(x, *rest, n=1)", "def f(x, *others, n=1, _seen=())") == ""
    assert said("def f(x)", "def f(x, _seen=None)") == ""


def test_a_generator_or_a_coroutine_is_no_function():
    plain, lazy = (functions_of(f"def f(x): {body} x")["f"] for body in ("return", "yield"))
    assert "is a generator" in differences(plain, lazy)[0]
    assert differences(lazy, plain) == []
    within = functions_of("def f(x):\n    def g(): yield x\n    return [*g()]")["f"]
    assert differences(plain, within) == []
    waiting = functions_of("async def f(x): return x")["f"]
    assert "is `async`" in differences(plain, waiting)[0]


def test_the_signature_is_shown_as_it_was_handed_out():
    wanted = functions_of("def f(x: int, *, n: int = 2) -> int: ...")["f"]
    yours = functions_of("def f(x, m): ...")["f"]
    assert differences(wanted, yours)[-1] == "the exercise's is f(x, *, n=2)"


def test_only_functions_that_were_asked_for_are_compared(tmp_path):
    (tmp_path / FILE).parent.mkdir()
    source = in_clone(FILE).read_text(encoding="utf-8")
    for name in ("Dual.__mul__", "Dual.__truediv__"):
        text = function_text(source, name).replace("other", "y")
        source = with_function(source, name, text)
    (tmp_path / FILE).write_text(source, encoding="utf-8")
    exercise = Exercise(2, "product", 1, ("practice.dual:Dual.__mul__",), "", (), (), "02.1")
    assert changed_signatures(tmp_path, [exercise]) == {
        "product": [
            "your `__mul__` has the parameter `y`, the exercise's is `other`",
            "the exercise's is __mul__(self, other)",
        ]
    }


@pytest.mark.slow
def test_a_right_answer_under_another_signature_does_not_pass():
    function = "story:Primitive.bind"
    text = function_text(in_clone("story.py").read_text(encoding="utf-8"), "Primitive.bind")
    found = judge_text("00.1", {function: text.replace("self", "this")})
    assert found["state"] == "failed" and found["passed"] == found["of"]
    assert found["lines"][0] == "your `bind` has the parameter `this`, the exercise's is `self`"
