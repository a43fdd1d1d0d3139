"""Printing: how documents break into lines, and how a jaxpr becomes a document."""

import itertools

import numpy as np

from tinyjax.core.array import ShapedArray
from tinyjax.core.jaxpr import Jaxpr, Var
from tinyjax.core.pretty_printer import Break, Group, Nest, _alphabetic_names, render
from tinyjax.core.primitives import mul, sin
from tinyjax.core.tracing import make_jaxpr
from tinyjax.transform.jit.api import jit


def test_a_group_that_fits_stays_on_one_line():
    assert render(Group(["a", Break(), "b"])) == "a b"


def test_a_group_that_does_not_fit_breaks_at_all_its_breaks():
    assert render(Group(Nest(["a", Break(), "b", Break(), "c"])), width=4) == "a\n  b\n  c"


def test_an_inner_group_may_fit_where_the_outer_one_does_not():
    inner = Group(["b", Break(), "c"])
    assert render(Group(["a", Break(), inner]), width=4) == "a\nb c"


def test_what_follows_a_group_does_not_count_for_whether_it_fits():
    assert render([Group(["a", Break(), "b"]), "c" * 3], width=5) == "a bccc"


def test_a_short_jaxpr_is_one_line():
    text = str(make_jaxpr(lambda x: mul(sin(x), x))(3.0))
    assert text == "{ lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = mul b a in (c,) }"


def test_names_are_numbers_with_letters_as_digits():
    names = list(itertools.islice(_alphabetic_names(), 26 * 26 + 2))
    assert names[:3] == ["a", "b", "c"]
    assert names[25:28] == ["z", "ba", "bb"]
    assert names[26 * 26 - 1 :] == ["zz", "baa", "bab"]


def test_the_27th_variable_is_called_ba():
    variables = [Var(ShapedArray((), np.dtype("float32"))) for _ in range(27)]
    assert "z:f32[] ba:f32[]" in " ".join(str(Jaxpr([], variables, [], [])).split())


def test_a_result_that_is_not_used_is_an_underscore():
    def f(x):
        sin(x)
        return x

    assert "_:f32[] = sin a" in str(make_jaxpr(f)(1.0))


def test_variables_of_a_nested_jaxpr_are_called_like_the_operands():
    assert str(make_jaxpr(jit(sin))(1.0)) == (
        "{ lambda ; a:f32[]. let\n"
        "    b:f32[] = jit[\n"
        "      name=sin\n"
        "      jaxpr={ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }\n"
        "    ] a\n"
        "  in (b,) }"
    )


def test_a_jaxpr_used_twice_is_printed_once_before_the_others():
    g = jit(sin)
    text = str(make_jaxpr(lambda x: g(g(x)))(1.0))
    assert text.startswith("let sin = { lambda ; a:f32[]. let b:f32[] = sin a in (b,) } in\n")
    assert text.count("jit[name=sin jaxpr=sin]") == 2


def test_functions_that_double_each_other_are_printed_once_each():
    f = jit(sin)
    for _ in range(40):
        f = jit(lambda x, f=f: f(f(x)))
    assert str(make_jaxpr(f)(1.0)).count("let ") < 100
