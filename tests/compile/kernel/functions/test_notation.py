"""Definitions become statements, of numbers or of vectors."""

import numpy as np

from tinyjax.compile.kernel.functions import notation
from tinyjax.compile.kernel.functions.kernel_function import widened
from tinyjax.compile.kernel.functions.notation import (
    Definition,
    Number,
    mul_add,
    polynomial,
    select,
    where_any,
)
from tinyjax.compile.kernel.interpret import callable_of

f32 = np.float32


def traced(function):
    return Definition(function, "float32").kernel_function


def lines(function):
    return [line.strip() for line in str(function).splitlines()]


def test_values_have_the_names_of_the_variables_that_hold_them():
    def f(x):
        y = x * 2.0
        y = y - 1.0
        return y / (x * x)

    assert lines(traced(f)) == [
        "function f(x: f32):",
        "y:f32 = mul x 2.0",
        "y_2:f32 = sub y 1.0",
        "t_3:f32 = mul x x",
        "result:f32 = div y_2 t_3",
        "return result",
    ]


def test_numbers_of_python_have_the_dtype_of_the_other_operand():
    function = traced(lambda x: select(x < 1, notation.as_int(x) & 3, 4))
    assert [let.args[-1].dtype for let in function.body[::2]] == [f32, "int32"]


def test_a_polynomial_is_computed_by_horners_scheme():
    f = callable_of(traced(lambda x: polynomial(x, 2.0, 3.0, 5.0)))
    assert f(f32(10)) == 235


def test_a_widened_function_computes_all_elements_at_once():
    function = widened(traced(lambda x: mul_add(x, x, 1.0)), 4)
    assert {let.target.width for let in function.body} == {4} and function.name.endswith("_4")


def with_a_rare_case(x: Number) -> Number:
    is_large = x > 100.0
    (y,) = where_any(is_large, lambda: [x * 0.0], [x + 1.0])
    return y


def test_what_is_rare_is_computed_for_those_that_need_it():
    f = callable_of(traced(with_a_rare_case))
    np.testing.assert_array_equal(f(np.array([1, 1000, 3, 4], f32)), [2, 0, 4, 5])
    assert f(f32(1)) == 2 and f(f32(1000)) == 0


def test_whether_any_element_is_of_the_rare_case_is_one_bool_of_a_vector():
    function = widened(traced(with_a_rare_case), 8)
    (condition,) = [s.condition for s in function.body if hasattr(s, "condition")]
    assert condition.width == 1


def test_a_function_that_is_called_is_one_statement():
    square = Definition(lambda x: x * x, "float32")
    assert [let.op for let in traced(lambda x: square(x) + 1.0).body] == ["<lambda>", "add"]
