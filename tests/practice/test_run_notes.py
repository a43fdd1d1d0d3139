"""The toy of lesson 6 that runs what was written down."""

import numpy as np
from judged import each_error, error_passes, raises, unchanged
from practice.note_trace import Equation, take_notes
from practice.run_notes import run_notes

import tinyjax as jax
from tinyjax.core import Primitive, get_aval
from tinyjax.core.primitives import mul_p, reduce_sum, sin_p


def eq(result, primitive, *operands, **params):
    return Equation(result, get_aval(1.0), primitive, operands, params)


f_notes = [eq("b", sin_p, "a"), eq("c", mul_p, "b", "a")]


def test_each_name_has_its_value():
    values = run_notes(f_notes, {"a": 3.0})
    assert sorted(values) == ["a", "b", "c"]
    assert values["a"] == 3.0
    np.testing.assert_allclose(values["b"], np.sin(3.0), rtol=1e-5)
    np.testing.assert_allclose(values["c"], np.sin(3.0) * 3.0, rtol=1e-5)


def test_an_operand_that_is_no_name_is_a_value():
    values = run_notes([eq("b", mul_p, 2.0, "a"), eq("c", mul_p, np.float32(5.0), "b")], {"a": 3.0})
    assert (float(values["b"]), float(values["c"])) == (6.0, 30.0)


def test_an_equation_runs_with_its_parameters():
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    notes = take_notes(lambda x: reduce_sum(x, (1,)), rows)
    assert run_notes(notes.equations, {"a": rows})["b"].tolist() == [3.0, 12.0]


def test_the_given_dict_is_left_as_it_is():
    given = {"a": 3.0}
    run_notes(f_notes, given)
    assert given == {"a": 3.0}, f"the dict that was given is now {given}"
    nothing = {}
    run_notes([eq("a", sin_p, 2.0)], nothing)
    assert nothing == {}, f"the empty dict that was given is now {nothing}"


def test_the_equations_are_bound_so_that_notes_can_be_transformed():
    run = lambda x: run_notes(f_notes, {"a": x})["c"]  # noqa: E731
    _, slope = jax.jvp(run, (3.0,), (1.0,))
    np.testing.assert_allclose(slope, np.cos(3.0) * 3.0 + np.sin(3.0), rtol=1e-5)
    again = take_notes(run, 3.0).equations
    assert [(e.result, e.primitive, e.operands) for e in again] == [
        ("b", sin_p, ("a",)),
        ("c", mul_p, ("b", "a")),
    ]


def test_each_equation_runs_once_in_order_also_one_that_equals_another():
    p, calls = Primitive("p"), []
    p.def_impl(lambda *xs, step: calls.append((*map(float, xs), step)) or float(len(calls)))
    notes = [
        eq("b", p, "a", 5.0, step=1),
        eq("c", p, "a", 5.0, step=1),
        eq("d", p, "c", "b", "a", step=2),
    ]
    given = {"a": 0.0, "z": None}
    for run in (0, 3):
        calls.append("run")
        with unchanged(notes=notes, given=given):
            values = run_notes(notes, given)
        assert values == {
            "a": 0.0,
            "z": None,
            "b": run + run // 3 + 2,
            "c": run + run // 3 + 3,
            "d": run + run // 3 + 4,
        }
    assert calls[:4] == ["run", (0, 5, 1), (0, 5, 1), (3, 2, 0, 2)]
    assert run_notes([], given) == given and run_notes([], given) is not given
    again = run_notes([eq("a", p, "a", step=1)], {"a": 0.5})["a"]
    assert again == len(calls), "an equation runs also where its result has a value already"


@each_error
def test_an_error_of_an_operation_goes_on(error):
    p = Primitive("p")
    with error_passes(error()) as raised:
        p.def_impl(raises(raised))
        run_notes([eq("b", p, "a")], {"a": 1.0})
