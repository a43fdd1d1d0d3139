import numpy as np
import pytest
from drawn import draws
from practice.schedules import cycles, own_schedule, scaled_rows

from tinyjax.compile.kernel.interpret import interpret_kernel
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.plan import make_plan
from tinyjax.compile.schedules.directive import Directive
from tinyjax.compile.schedules.schedule import scheduled
from tinyjax.compile.target import CPU
from tinyjax.core.tracing import ShapeDtypeStruct, make_jaxpr

F32 = np.dtype("float32")


def naive(rows, columns):
    avals = ShapeDtypeStruct((rows, columns), F32), ShapeDtypeStruct((rows,), F32)
    (kernel,) = make_plan(simplify(make_jaxpr(scaled_rows)(*avals)), CPU).all_kernels()
    return kernel.naive


def result(kernel):
    rng = np.random.default_rng(0)
    memory = [rng.standard_normal(b.size).astype(b.dtype) for b in kernel.buffers]
    interpret_kernel(kernel, memory)
    return memory[-1]


def test_an_iteration_takes_a_cycle_and_one_for_each_statement():
    assert cycles(naive(2, 3)) == 2 * (1 + 3 * (1 + 5))


@pytest.mark.parametrize("shape", [(60, 100), (8, 16), (9, 130), (64, 64)])
def test_the_kernel_computes_the_same(shape):
    kernel = naive(*shape)
    np.testing.assert_array_equal(result(scheduled(kernel, own_schedule())), result(kernel))


def test_it_takes_a_fortieth_of_the_cycles():
    kernel = naive(60, 100)
    before, after = cycles(kernel), cycles(scheduled(kernel, own_schedule()))
    assert 40 * after <= before, (
        f"{before:,} cycles are now {after:,}: {before / after:.1f} times less"
    )


def test_each_directive_has_its_reason():
    for directive in own_schedule():
        assert isinstance(directive, Directive)
        assert directive.why.strip(), f"{directive} says no why="


def test_of_any_rows_the_kernel_computes_the_same_in_fewer_cycles():
    for draw in draws(4):
        rows, columns = draw.randint(8, 8 + 5 * draw.size), 16 + draw.randint(0, 12 * draw.size)
        kernel = naive(rows, columns)
        made = scheduled(kernel, own_schedule())
        about = f"{rows} rows of {columns}"
        np.testing.assert_array_equal(result(made), result(kernel), about)
        assert 10 * cycles(made) <= cycles(kernel), f"{about}: {cycles(made)} of {cycles(kernel)}"
