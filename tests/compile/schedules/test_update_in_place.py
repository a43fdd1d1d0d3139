import numpy as np
import pytest
from loop_nests import assert_computes_the_same

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.compile.codegen.codegen import CPU
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.plan import make_plan
from tinyjax.compile.schedules.update_in_place import UpdateInPlace, next_values
from tinyjax.core.tracing import make_jaxpr

X = np.arange(12, dtype=np.float32)
ROWS = X.reshape(4, 3)


def nest_of(body, *carry, count=9):
    """The naive nest of a loop whose iteration i makes body(i, *carry) of the carry."""

    def f(*carry):
        return lax.fori_loop(-2, count, lambda i, carry: body(i, *carry), carry)

    plan = make_plan(simplify(make_jaxpr(f)(*carry)), CPU)
    (kernel,) = plan.kernels.values()
    return kernel.naive


def in_place(naive):
    """The nest with all of its arrays updated in place."""
    for name in next_values(naive):
        naive = UpdateInPlace(name).apply(naive)
    return naive


def why_not(naive):
    (name,) = next_values(naive)
    return UpdateInPlace(name).why_not(naive)


def assert_in_place(body, *carry):
    naive = nest_of(body, *carry)
    assert next_values(naive)
    kernel = in_place(naive)
    assert not next_values(kernel) and "new_" not in str(kernel)
    assert_computes_the_same(kernel, naive)
    return str(kernel)


def test_only_the_element_that_is_set_is_stored():
    text = assert_in_place(lambda i, x: (x.at[i].set(x[i - 1] * 2),), X)
    _, loop = text.split("for i2 in")
    assert "for" not in loop.split("out0")[0]


@pytest.mark.parametrize(
    "body",
    [
        lambda i, x: (x.at[i].add(3),),
        lambda i, x: (x.at[i].set(x[i + 1]).at[i + 1].set(x[i]),),
        lambda i, x: (x.at[i].set(1).at[i].add(x[3]),),
        lambda i, x: (x.at[3].set(x[i]),),
        lambda i, x: (x.at[i].set(5, mode="clip"),),
        lambda i, x: (x.at[lax.convert_element_type(x[i], "int32")].add(1),),
        lambda i, x: (lax.dynamic_update_slice(x, lax.dynamic_slice(x, (i,), (5,)) * 2, (i + 2,)),),
        lambda i, x: (lax.dynamic_update_slice(x, lax.rev(x, (0,))[:7], (i,)),),
    ],
)
def test_a_window_may_be_computed_from_what_it_is_stored_over(body):
    assert_in_place(body, X)


@pytest.mark.parametrize(
    "body",
    [
        lambda i, x: (x.at[i].set(x[i - 1] + 1),),
        lambda i, x: (x.at[:, i].set(x[:, i - 1] + 1),),
        lambda i, x: (x.at[i, i].set(x[1, 2] + 1),),
        lambda i, x: (lax.dynamic_update_slice(x, x[1:3, 1:] * 2, (i, i - 1)),),
    ],
)
def test_rows_columns_and_blocks(body):
    assert_in_place(body, ROWS)


def test_the_iteration_may_read_the_old_array_or_the_new_one():
    assert_in_place(lambda i, x, s: (x.at[i].set(s), s + x[i - 1]), X, np.float32(1))
    assert_in_place(lambda i, x, s: (x := x.at[i].set(s), s + jnp.sum(x)), X, np.float32(1))
    both = nest_of(
        lambda i, x, s: (y := x.at[i].set(s), s + y[i] - jnp.sum(x * y)), X, np.float32(1)
    )
    assert "are read after it is made" in why_not(both)


def test_two_arrays_may_be_made_by_one_loop():
    assert_in_place(lambda i, x, y: (x.at[i].set(y[i - 1]), y.at[i + 1].set(x[i])), X, X * 2)
    naive = nest_of(lambda i, x, y: (x.at[i].set(y[i - 1]), lax.rev(y, (0,)) + x), X, X * 2)
    first, second = next_values(naive)
    assert "is not carry" in UpdateInPlace(second).why_not(naive)
    assert_computes_the_same(UpdateInPlace(first).apply(naive), naive)


def test_what_changes_everywhere_is_not_in_place():
    assert "is not carry_1 but for a window" in why_not(
        nest_of(lambda i, x: (lax.rev(x, (0,)),), X)
    )
    chosen = nest_of(lambda i, x: (jnp.where(x > i, lax.rev(x, (0,)), x),), X)
    assert "not said by a window" in why_not(chosen)
    assert UpdateInPlace("x").why_not(chosen) == "it has no private array 'x'"
