"""Products are fast by their schedule alone: each directive can be left out, and the results are equal."""

from dataclasses import replace

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.fusion.fuse import fuse
from tinyjax.compile.kernel.interpret import interpret_kernel
from tinyjax.compile.kernel.product_nest import product_nest
from tinyjax.compile.passes.pipeline import run_passes
from tinyjax.compile.schedules import product_schedule as numbers
from tinyjax.compile.schedules.directive import Directive
from tinyjax.compile.schedules.product_schedule import product_schedule
from tinyjax.compile.schedules.schedule import ScheduleBuilder, scheduled
from tinyjax.compile.schedules.unroll_and_jam import UnrollAndJam
from tinyjax.compile.schedules.vectorize import Vectorize
from tinyjax.compile.target import CPU
from tinyjax.core.pretty_printer import variable_names
from tinyjax.core.structs import ShapeDtypeStruct
from tinyjax.core.tracing import make_jaxpr


def naive(f, *shapes):
    """The naive nest of a function that is one product, and what follows."""
    closed = run_passes(make_jaxpr(f)(*(ShapeDtypeStruct(s, np.dtype("float32")) for s in shapes)))
    (group,) = fuse(closed.jaxpr, CPU)
    return product_nest(group, "k0", variable_names(closed.jaxpr), CPU)


def results(kernel):
    rng = np.random.default_rng(0)
    memory = [rng.standard_normal(b.size).astype(b.dtype) for b in kernel.buffers]
    interpret_kernel(kernel, memory)
    return memory[-1]


def directives(kernel):
    return [step for step in kernel.schedule if isinstance(step, Directive)]


def layer(x, w, b):
    return jnp.maximum(x @ w + b, 0)


def test_rows_that_are_looked_up_are_not_looked_up_in_a_panel():
    places = np.array([3, 0, 2, 1] * 5)
    nest = naive(lambda x, y: x[places].T @ y, (4, 20), (20, 40))
    kernel = product_schedule(nest, CPU).finished()
    np.testing.assert_allclose(results(kernel), results(nest), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("panel", [16, 256])
@pytest.mark.parametrize(
    "f", [lambda x: x @ jnp.full((21, 18), 0.5), lambda x: jnp.full((18, 13), 0.5) @ x]
)
def test_an_operand_of_equal_numbers_needs_no_panel(f, panel, monkeypatch):
    monkeypatch.setattr(numbers, "PANEL", panel)
    nest = naive(f, (13, 21))
    np.testing.assert_array_equal(results(product_schedule(nest, CPU).finished()), results(nest))


def test_each_directive_has_a_reason():
    kernel = product_schedule(naive(layer, (20, 30), (30, 40), (40,)), CPU).finished()
    assert all(step.why for step in directives(kernel))
    names = [type(step).__name__ for step in directives(kernel)]
    assert names[:4] == ["Split", "Split", "Reorder", "Split"] and names[-1] == "Fuse"
    assert {"Reorder", "Hoist", "Vectorize", "UnrollAndJam"} < set(names)


@pytest.mark.parametrize("shapes", [((13, 9), (9, 21)), ((2, 70), (70, 16)), ((29, 30), (30, 3))])
@pytest.mark.parametrize("panel", [16, 256])
def test_a_schedule_changes_no_bit_of_a_product(shapes, panel, monkeypatch):
    monkeypatch.setattr(numbers, "PANEL", panel)
    nest = naive(layer, *shapes, shapes[1][1:])
    kernel = product_schedule(nest, CPU).finished()
    np.testing.assert_array_equal(results(kernel), results(nest))


@pytest.mark.parametrize("panel", [16, 256])
def test_a_schedule_without_one_directive_computes_the_same(panel, monkeypatch):
    monkeypatch.setattr(numbers, "PANEL", panel)
    assert_each_can_be_left_out(naive(layer, (12, 20), (20, 18), (18,)))


@pytest.mark.parametrize("panel", [4, 16, 256])
def test_so_does_a_convolution(panel, monkeypatch):
    monkeypatch.setattr(numbers, "PANEL", panel)

    def f(x, w):
        layout = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(
            x, w, (2, 1), "VALID", dimension_numbers=layout, feature_group_count=2
        )

    assert_each_can_be_left_out(naive(f, (2, 5, 4, 6), (3, 2, 3, 38)))


def assert_each_can_be_left_out(nest):
    whole, expected = product_schedule(nest, CPU).finished(), results(nest)
    for left_out in directives(whole):
        builder = ScheduleBuilder(nest)
        for directive in directives(whole):
            # Vectors load whole what other vectors stored whole, or one row after the other.
            without = (Vectorize, UnrollAndJam) if isinstance(left_out, Vectorize) else ()
            if directive is not left_out and not isinstance(directive, without):
                builder.apply_if_possible(directive)
        np.testing.assert_array_equal(results(builder.finished()), expected, str(left_out))


def test_a_wrong_directive_is_refused():
    with pytest.raises(ValueError, match="may store the same elements"):
        scheduled(naive(layer, (14, 20), (20, 18), (18,)), [UnrollAndJam("k", 2)])


def test_columns_that_are_apart_in_memory_are_packed_one_by_one():
    kernel = product_schedule(naive(lambda x, y: x @ y.T, (20, 30), (40, 30)), CPU).finished()
    assert Vectorize("column_inner2", 16, gather=True) in directives(kernel)
    assert "b1:f32 x16 = vector " in str(kernel)


def test_a_panel_is_known_to_be_packed_before_it_is_read_whatever_is_left_of_the_depth():
    columns_apart = lambda x, y: jnp.matmul(x, y.T)  # noqa: E731
    builder = product_schedule(naive(columns_apart, (63, 257), (65, 257)), CPU)
    assert builder.finished()  # raises KernelError for what is not known


def test_results_of_small_integers_are_stored_in_vectors():
    f = lambda x, y: (x @ y).astype(jnp.int8)  # noqa: E731
    nest = naive(f, (20, 30), (30, 40))
    kernel = product_schedule(nest, CPU).finished()
    assert all(isinstance(step, Directive) for step in kernel.schedule)
    np.testing.assert_array_equal(results(kernel), results(nest))


def test_the_schedule_of_a_kernel_can_be_read():
    x, y = np.ones((20, 30), np.float32), np.ones((30, 40), np.float32)
    text = jax.jit(jnp.matmul).lower(x, y).as_text("schedule of k0")
    assert "Hoist('row_outer_inner', inner=('k', 'column_inner'))  # the panel is read" in text


def test_more_registers_hold_two_vectors_of_each_row():
    nest = naive(layer, (13, 20), (20, 64), (64,))
    kernel = product_schedule(nest, replace(CPU, rows=12)).finished()
    assert UnrollAndJam("column_inner_outer", 2) in directives(kernel)
    np.testing.assert_array_equal(results(kernel), results(nest))


def test_columns_around_the_axis_that_is_summed_are_packed_as_vectors():
    nest = naive(lambda x, y: jnp.einsum("ik,jkl->ijl", x, y), (20, 30), (3, 30, 32))
    kernel = product_schedule(nest, CPU).finished()
    assert Vectorize("column_inner2", 16, gather=True) in directives(kernel)
    assert "= vector " not in str(kernel)
    np.testing.assert_array_equal(results(kernel), results(nest))


def test_columns_that_are_looked_up_by_a_test_are_vectors():
    def f(x, y):
        return jnp.einsum("ik,jkl->ijl", x, jnp.where(jnp.arange(3)[:, None, None] > 1, y, 0))

    x, y = np.ones((20, 30), np.float32), np.ones((3, 30, 32), np.float32)
    np.testing.assert_array_equal(jax.jit(f)(x, y), f(x, y))


def test_axes_that_are_summed_and_no_neighbours_are_loops_of_their_own():
    nest = naive(lambda x, y: jnp.einsum("aibj,ajbk->ik", x, y), (3, 20, 4, 5), (3, 5, 4, 32))
    assert "% 5" not in str(nest)
    kernel = product_schedule(nest, CPU).finished()
    np.testing.assert_array_equal(results(kernel), results(nest))


def test_columns_that_read_at_places_from_data_are_no_vectors():
    def f(x):
        part = jax.grad(lambda x: jnp.sum(x.at[1:].set(0)))(x)
        return part @ part.T

    x = jnp.arange(3 * 33 * 33.0).reshape(3, 33, 33)
    np.testing.assert_allclose(jax.jit(jax.vmap(f))(x), jax.vmap(f)(x), rtol=1e-5)
