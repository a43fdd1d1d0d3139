"""The carries of loops, iteration by iteration."""

import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax, viz
from tinyjax.core.bind import impl_rules
from tinyjax.lax.control_flow import scan as scan_module
from tinyjax.studio.viz.carries.recorded import MAX_FRAMES
from tinyjax.transform.jit.primitive import jit_p


def summed(x):
    return lax.scan(lambda total, x: (total + x, total), 0.0, x)


def numbers(loop, carry=0):
    return {n: float(x[carry].array) for n, x in loop.all_frames().items()}


def test_a_scan_has_its_carry_before_the_first_iteration_and_after_each():
    (loop,) = viz.iterations(summed, jnp.array([1.0, 2.0, 3.0])).loops
    assert (loop.kind, loop.count) == ("scan", 3)
    assert numbers(loop) == {0: 0.0, 1: 1.0, 2: 3.0, 3: 6.0}
    assert loop.line is not None and loop.line[2] == "summed"


def test_a_jitted_loop_and_its_gradient_are_recorded_in_the_order_of_the_run():
    f = jax.jit(lambda x: lax.fori_loop(0, 4, lambda i, x: jnp.sin(x), x))
    loops = viz.iterations(jax.grad(f), 1.0).loops
    assert [loop.count for loop in loops] == [4, 4]


def test_a_while_loop_may_depend_on_values_and_nested_loops_are_not_shown():
    def f(x):
        if x > 2:  # no tracing
            return x
        return lax.while_loop(
            lambda x: x < 100, lambda x: x + lax.fori_loop(0, 2, lambda i, y: y, x), x
        )

    (loop,) = viz.iterations(f, jnp.float32(1)).loops
    assert numbers(loop) == {n: 2.0**n for n in range(8)} and loop.kind == "while"


def test_a_long_loop_keeps_some_iterations_and_the_last():
    (loop,) = viz.iterations(lambda: lax.fori_loop(0, 1001, lambda i, x: x + 1, 0)).loops
    frames = loop.all_frames()
    assert len(frames) <= MAX_FRAMES + 1 and list(frames)[-1] == 1001
    assert all(number % loop.stride == 0 for number in list(frames)[:-1])


def test_all_is_as_before_also_after_an_error():
    rule, run_scan = impl_rules[jit_p], scan_module.run_scan
    with pytest.raises(ZeroDivisionError):
        viz.iterations(lambda: 1 / 0)
    assert impl_rules[jit_p] is rule and scan_module.run_scan is run_scan


def test_a_function_without_loops_says_so():
    assert repr(viz.iterations(jnp.sin, 1.0)).startswith("No loop ran")


def test_the_text_has_some_iterations_of_each_carry():
    text = repr(viz.iterations(summed, jnp.arange(10.0)))
    assert "scan of 10 iterations  test_iterations.py:" in text
    assert "    after 10  45" in text.splitlines()
