"""Functions as groups and kernels, without a device."""

import numpy as np

from tinyjax.compile.fusion.fuse import fuse
from tinyjax.compile.fusion.groups import HostGroup
from tinyjax.compile.kernel.interpret import interpret_kernel
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.schedules.lower import lower_group
from tinyjax.compile.target import CPU
from tinyjax.core.jaxpr import eval_jaxpr
from tinyjax.core.pretty_printer import variable_names
from tinyjax.core.primitives import broadcast_in_dim, mul, reduce_sum, sin
from tinyjax.core.structs import ShapeDtypeStruct
from tinyjax.core.tracing import make_jaxpr


def aval(*shape, dtype="float32"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


def stages(f, *avals, target=CPU):
    closed = simplify(make_jaxpr(f)(*avals))
    groups = fuse(closed.jaxpr, target)
    names = variable_names(closed.jaxpr)
    kernels = [
        lower_group(g, f"k{n}", names, target)
        for n, g in enumerate(groups)
        if not isinstance(g, HostGroup)
    ]
    return closed, groups, kernels


def interpreted(f, *args, target=CPU, change=lambda kernel: kernel):
    """Runs f through fusion and the kernel interpreter, without a device: the results, and eager mode's.

    Each kernel is run as `change` makes it."""
    args = [np.asarray(x) for x in args]
    avals = (aval(*x.shape, dtype=x.dtype) for x in args)
    closed, groups, kernels = stages(f, *avals, target=target)
    memory = dict(zip(closed.jaxpr.invars, args))
    for group, kernel in zip(groups, map(change, kernels), strict=True):
        for v in group.outputs:
            memory[v] = np.zeros(v.aval.shape, v.aval.dtype)
        buffers = [memory[v].reshape(-1) for v in (*group.inputs, *group.outputs)]
        scratch = kernel.buffers[len(buffers) :]
        interpret_kernel(kernel, buffers + [np.zeros(b.size, b.dtype) for b in scratch])
    expected = [np.asarray(x) for x in eval_jaxpr(closed.jaxpr, closed.consts, *args)]
    return [memory[v] for v in closed.jaxpr.outvars], expected


def total(x, axes=(0,)):
    return reduce_sum(x, axes)


def softmax_like(x):
    e = sin(x)
    row_sums = broadcast_in_dim(total(e, (1,)), x.shape, (0,))
    return mul(e, row_sums)


def data(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)
