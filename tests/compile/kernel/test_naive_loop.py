"""Loops and branches as naive nests (test_loop_kernels.py runs those of all its loops)."""

import numpy as np
import pytest

import tinyjax as jax
from tinyjax import lax
from tinyjax.compile.kernel.example_axes import NoKernelError
from tinyjax.compile.kernel.interpret import interpret_kernel
from tinyjax.compile.kernel.naive_loop import naive_loop
from tinyjax.compile.passes.loops import control_flow
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.plan import all_names
from tinyjax.compile.target import CPU
from tinyjax.core.tracing import make_jaxpr

X = np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3)


def nest_of(f, *args):
    """The naive nest of the last equation of f, and which of the arguments it reads; or why it has none."""
    jaxpr = simplify(make_jaxpr(f)(*args)).jaxpr
    *before, eqn = jaxpr.eqns
    try:
        made = naive_loop(control_flow(eqn), before, all_names(jaxpr), CPU)
    except NoKernelError as error:
        return str(error)
    return made.kernel, [jaxpr.invars.index(v) for v in made.inputs]


def results_of(f, *args):
    """What the nest makes of the arguments."""
    kernel, places = nest_of(f, *args)
    outputs = [np.zeros(b.size, b.dtype) for b in kernel.buffers[len(places) :]]
    interpret_kernel(kernel, [np.ravel(args[place]) for place in places] + outputs)
    return outputs


def test_the_carry_of_a_scan_is_a_private_array():
    f = lambda c, xs: lax.scan(lambda c, x: (c * x, None), c, xs)[0]  # noqa: E731
    lines = str(nest_of(f, X[0], X)[0]).splitlines()
    assert [line.strip() for line in lines[1:]] == [
        "carry_1:f32 = 3 elements",
        "for i1 in 0 .. 3:",
        "t1:f32 = a_in[i1]",
        "carry_1[i1] = t1",
        "for i2 in 0 .. 2:",
        "for i3 in 0 .. 3:",
        "e:f32 = b_in[i2 * 3 + i3]",
        "d:f32 = carry_1[i3]",
        "f:f32 = mul d e",
        "carry_1[i3] = f",
        "for i4 in 0 .. 3:",
        "t3:f32 = carry_1[i4]",
        "out0[i4] = t3",
    ]


def test_a_while_computes_its_condition_first():
    f = lambda x: lax.while_loop(lambda c: c < 9, lambda c: c * 2, x)  # noqa: E731
    text = str(nest_of(f, X[0, 0])[0])
    condition, body = text.split("stop unless")
    assert "lt" in condition and "mul" in body


def test_a_product_in_a_body_has_a_loop_for_each_axis():
    f = lambda x, m: lax.fori_loop(0, 4, lambda i, c: m @ c, x)  # noqa: E731
    square = np.ones((3, 3), np.float32)
    assert str(nest_of(f, X[0], square)[0]).count("for ") >= 4
    np.testing.assert_allclose(results_of(f, X[0], square)[0], f(X[0], square))


@pytest.mark.parametrize("which", [0, 1, 7])
def test_branches_are_ifs(which):
    def f(i, x):
        return lax.switch(i, [lambda x: x + 1, lambda x: x[::-1]], x)

    i = np.int32(which)
    kernel, _ = nest_of(f, i, X)
    assert "else:" in str(kernel)
    assert kernel.items == 1
    np.testing.assert_allclose(np.reshape(results_of(f, i, X)[-1], X.shape), f(i, X))


def test_what_runs_on_the_host_is_in_no_nest():
    f = lambda x: lax.fori_loop(0, 3, lambda i, c: lax.sort((c, c), num_keys=2)[0], x)  # noqa: E731
    assert "sort runs on the host" in nest_of(f, X[0])


def test_the_nests_of_loops_are_printed_beside_their_kernels():
    f = jax.jit(lambda x, xs: lax.scan(lambda c, x: (c * x, None), x, xs)[0])
    lowered = f.lower(np.ones(40, np.float32), np.ones((9, 40), np.float32))
    assert "for i2 in 0 .. 9" in lowered.as_text("loop nests")
    assert "x16" not in lowered.as_text("loop nests") and "x16" in lowered.as_text("kernel")
