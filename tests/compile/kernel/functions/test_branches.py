"""Functions of single numbers compute what is chosen, and nothing else."""

import numpy as np
import pytest

from tinyjax.compile.kernel.functions.branches import branched
from tinyjax.compile.kernel.functions.notation import Definition, polynomial, select
from tinyjax.compile.kernel.functions.table import definitions
from tinyjax.compile.kernel.interpret import callable_of
from tinyjax.compile.kernel.kernel_ir import If

f32 = np.float32


def near_or_far(x):
    near = polynomial(x, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
    return select(x < 1.0, near, 1.0 / x)


def test_what_one_side_needs_stands_in_its_branch():
    body = branched(Definition(near_or_far, "float32").kernel_function).body
    (choice,) = [statement for statement in body if isinstance(statement, If)]
    assert len(choice.body) == 8 and len(choice.otherwise) == 2
    assert [line for s in body for line in ([s.op] if hasattr(s, "op") else [])] == ["lt"]


def test_what_both_sides_need_stands_before_the_branch():
    def f(x):
        z = x * x
        return select(x < 1.0, polynomial(z, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0), z)

    first = branched(Definition(f, "float32").kernel_function).body[0]
    assert first.op == "mul"


def test_a_choice_of_what_is_there_stays_a_select():
    function = definitions["exp"].kernel_function
    assert branched(function).body == function.body


@pytest.mark.parametrize("name", ["tanh", "erf", "pow", "log", "lgamma", "atan2", "acosh"])
def test_branches_change_no_bit(name):
    function = definitions[name].kernel_function
    x = f32([0, -0.0, 0.3, -0.7, 1, 2.5, -3, 1e-40, 1e30, np.inf, -np.inf, np.nan])
    args = [a.ravel() for a in np.meshgrid(*[x] * len(function.parameters))]
    with np.errstate(all="ignore"):
        found = [callable_of(branched(function))(*each) for each in zip(*args)]
        np.testing.assert_array_equal(found, callable_of(function)(*args))
