"""The toy of lesson 6 that writes down what is bound."""

import numpy as np
import pytest
from judged import each_error, error_passes, raises, unchanged
from practice.note_trace import Note, NoteTrace, take_notes

from tinyjax.core import Primitive, abstract_eval_rules, get_aval
from tinyjax.core.primitives import broadcast_in_dim, cos, mul, mul_p, reduce_sum, sin, sin_p


def written(fun, *args):
    """The equations as (result, primitive, operands)."""
    return [(e.result, e.primitive, e.operands) for e in take_notes(fun, *args).equations]


def test_each_operation_is_noted_with_a_new_name_for_its_result():
    assert written(lambda x: mul(sin(x), x), 3.0) == [
        ("b", sin_p, ("a",)),
        ("c", mul_p, ("b", "a")),
    ]


def test_an_operand_that_is_no_note_stands_as_it_is():
    for number, x in ((2.0, 3.0), (2, 3), (np.float32(2), 3.0)):
        ((_, _, operands),) = written(lambda x: mul(number, x), x)  # noqa: B023
        assert operands[0] is number and operands[1] == "a"


def test_what_comes_back_is_a_note_of_the_results_name_and_aval():
    trace = NoteTrace()
    x = trace.new_note(get_aval(np.ones((2, 3), np.float32)))
    out = trace.process_primitive(sin_p, [x], {})
    assert isinstance(out, Note), f"expected a Note, got {out!r}"
    assert (out._trace, out.name, out.aval) == (trace, "b", x.aval)


@pytest.mark.parametrize(
    "fun, shape",
    [
        (lambda x: reduce_sum(x, (0,)), (3,)),
        (lambda x: broadcast_in_dim(x, (4, 2, 3), (1, 2)), (4, 2, 3)),
        (lambda x: mul(2.0, x), (2, 3)),
    ],
    ids=["sum", "broadcast", "product"],
)
def test_the_aval_of_a_result_is_what_the_primitives_rule_says(fun, shape):
    (equation,) = take_notes(fun, np.ones((2, 3), np.float32)).equations
    assert equation.aval.shape == shape


def test_the_rule_is_asked_once_for_each_operation(monkeypatch):
    asked, rule = [], abstract_eval_rules[sin_p]
    monkeypatch.setitem(
        abstract_eval_rules, sin_p, lambda *avals: asked.append(avals) or rule(*avals)
    )
    take_notes(lambda x: cos(sin(x)), 3.0)
    assert asked == [(get_aval(3.0),)]


def test_an_equation_has_the_parameters():
    (equation,) = take_notes(lambda x: reduce_sum(x, (1,)), np.ones((2, 3))).equations
    assert equation.params == {"axes": (1,)}


def test_equal_operations_are_noted_each_time_also_those_that_nobody_uses():
    assert written(lambda x: mul(sin(x), sin(x)), 3.0)[:2] == [
        ("b", sin_p, ("a",)),
        ("c", sin_p, ("a",)),
    ]
    assert written(lambda x: [sin(x), cos(x)] and x, 3.0)[0] == ("b", sin_p, ("a",))


def test_an_operation_may_have_three_operands_or_none_and_they_are_left_as_they_are():
    p, trace = Primitive("p"), NoteTrace()
    p.def_abstract_eval(lambda *avals, **params: get_aval(np.ones(len(avals), np.float16)))
    args, params = [trace.new_note(get_aval(1.0)), 0.0, np.ones(2)], {"scale": [1]}
    with unchanged(params=params, args=args):
        note = trace.process_primitive(p, args, params)
        assert trace.process_primitive(p, (), {}).name == "c"
    operands = trace.equations[0].operands
    assert operands[0] == "a" and operands[1] == 0.0 and operands[2] is args[2]
    assert (note.name, note.aval.dtype, note.aval.shape) == ("b", np.float16, (3,))
    assert trace.equations[0].params == params and trace.equations[1].operands == ()
    notes = [trace.new_note(get_aval(x)) for x in (1.0, 2, 3.0, 4.0, 5.0)]
    params = {"axes": None, "flag": False, "shape": ()}
    trace.process_primitive(p, [*notes, notes[0]], params)
    operands, found = trace.equations[-1].operands, trace.equations[-1].params
    assert operands == tuple(note.name for note in [*notes, notes[0]]), "all notes stand by name"
    assert found == params, "parameters may be None, False or empty"
    p.def_abstract_eval(lambda x, **_: x)
    for x in (1.0, 2, True, np.float16(1), np.ones(3, np.int8)):
        note = trace.process_primitive(p, [trace.new_note(get_aval(x))], {})
        assert note.aval == get_aval(x), "the rule is asked each time, and keeps weak types"


@each_error
def test_an_error_of_an_abstract_eval_rule_goes_on(error):
    p, trace = Primitive("p"), NoteTrace()
    with error_passes(error()) as raised:
        p.def_abstract_eval(raises(raised))
        trace.process_primitive(p, [1.0], {})
    assert trace.equations == [], "of what is refused there is no equation"
