"""Loops as kernels: what they compute, without a device, compared with eager Python."""

import numpy as np
from definite_assignment import check_assignment

import tinyjax as jax
from tinyjax.compile.fusion.groups import LoopGroup
from tinyjax.compile.kernel.check_kernel import check_kernel
from tinyjax.compile.kernel.interpret import interpret_kernel
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.plan import make_plan
from tinyjax.compile.target import CPU, GPU
from tinyjax.core.jaxpr import Literal
from tinyjax.core.tracing import make_jaxpr


def floats(*shape):
    return np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)


def plan_of(f, *args, target=CPU):
    closed = simplify(make_jaxpr(f)(*args))
    return make_plan(closed, target)


def loop_of(f, *args, target=CPU):
    """The kernel of the only loop in f, or the reason why there is none."""
    plan = plan_of(f, *args, target=target)
    loops = [n for n, group in enumerate(plan.groups) if isinstance(group, LoopGroup)]
    (number,) = loops
    return plan.kernels.get(number) or plan.groups[number].reason


def interpreted(f, *args, target=CPU, naive=False):
    """f by way of its kernels, or of the naive nests of its loops, without a device."""
    plan = plan_of(f, *args, target=target)
    reasons = [group.reason for group in plan.groups if group.reason]
    assert not reasons, reasons
    jaxpr, consts = plan.closed.jaxpr, plan.closed.consts
    values = map(np.asarray, [*consts, *jax.tree.leaves(args)])
    memory = dict(zip([*jaxpr.constvars, *jaxpr.invars], values))
    for number, group in enumerate(plan.groups):
        memory |= {v: np.zeros(v.aval.shape, v.aval.dtype) for v in group.outputs}
        kernel = plan.kernels[number]
        if naive and isinstance(group, LoopGroup):
            kernel = kernel.naive
            check_kernel(kernel)
            check_assignment(kernel)
            assert kernel.items == 1 and "x16" not in str(kernel)
        arrays = [memory[v].reshape(-1) for v in (*group.inputs, *group.outputs)]
        scratch = [np.zeros(b.size, b.dtype) for b in kernel.buffers[len(arrays) :]]
        interpret_kernel(kernel, arrays + scratch)
    return [v.val if isinstance(v, Literal) else memory[v] for v in jaxpr.outvars]


def assert_close(found, expected, rtol):
    for x, y in zip(found, jax.tree.leaves(expected), strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        wide = np.complex128 if np.iscomplexobj(x) else np.float64
        x, y = (np.asarray(a).astype(wide) for a in (x, y))
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)


def agree(f, *args, rtol=1e-6):
    """Kernels give what the eager Python loop gives: naive, for a CPU, for a GPU, and on the device."""
    expected = f(*args)
    assert_close(interpreted(f, *args, naive=True), expected, rtol)
    assert_close(interpreted(f, *args), expected, rtol)
    assert_close(interpreted(f, *args, target=GPU), expected, rtol)
    assert_close(jax.tree.leaves(jax.jit(f)(*args)), expected, max(rtol, 1e-5))
