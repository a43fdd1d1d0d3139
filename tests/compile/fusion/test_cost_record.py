"""What an equation takes: elements, arithmetic, bytes and work."""

from lowering import aval, total

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.fusion.cost_record import Cost, eqn_cost, jaxpr_cost, reduction_size
from tinyjax.compile.kernel.rules import lowering_of
from tinyjax.compile.target import CPU
from tinyjax.core.primitives import add, sin, transpose
from tinyjax.core.tracing import make_jaxpr


def combined_for(f, *avals):
    """How many elements are combined for one element of an equation's result."""
    (eqn,) = make_jaxpr(f)(*avals).eqns
    return reduction_size(eqn, lowering_of(eqn, CPU))


def test_an_element_of_a_sum_is_made_of_all_elements_along_the_axes():
    assert combined_for(lambda x: total(x, (0, 2)), aval(3, 4, 5)) == 15


def test_an_element_of_a_product_is_made_of_a_row_and_a_column():
    assert combined_for(lambda x, y: x @ y, jnp.ones((3, 4)), jnp.ones((4, 5))) == 4


def test_an_element_of_all_else_is_made_of_one():
    assert combined_for(sin, aval(3)) == 1
    assert combined_for(lambda x: transpose(x, (1, 0)), aval(3, 4)) == 1


def cost_of(f, *avals):
    return jaxpr_cost(make_jaxpr(f)(*avals).jaxpr)


def test_an_equation_has_arithmetic_bytes_and_work():
    assert cost_of(add, aval(10), aval(10)) == Cost(flops=10, bytes=120, work=10)


def test_the_work_of_a_function_is_that_of_many_operations():
    cost = cost_of(sin, aval(10))
    assert cost.transcendentals == 10 and cost.work > 10


def test_costs_are_added():
    assert cost_of(lambda x: sin(sin(x)), aval(10)) == cost_of(sin, aval(10)) + cost_of(
        sin, aval(10)
    )


def test_a_loop_works_in_all_iterations_and_counts_the_arithmetic_of_one():
    one, ten = (
        cost_of(lambda x: lax.scan(lambda c, _: (c * x, None), x, length=n)[0], aval(5))  # noqa: B023
        for n in (1, 10)
    )
    assert ten.flops == one.flops == 5 and ten.work == 10 * one.work


def test_of_branches_the_dearest_counts():
    (eqn,) = (
        e
        for e in make_jaxpr(lambda x: lax.cond(True, sin, lambda x: x + 1, x))(aval(5)).eqns
        if e.primitive.name == "cond"
    )
    assert eqn_cost(eqn).work == cost_of(sin, aval(5)).work
