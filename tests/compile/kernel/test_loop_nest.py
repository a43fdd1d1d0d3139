import numpy as np
import pytest
from lowering import aval, data, total

from tinyjax.compile.codegen.codegen import CPU, GPU
from tinyjax.compile.fusion.fuse import fuse
from tinyjax.compile.kernel.interpret import interpret_kernel
from tinyjax.compile.kernel.loop_nest import loop_nest
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.core.jaxpr import eval_jaxpr
from tinyjax.core.pretty_printer import variable_names
from tinyjax.core.primitives import add, broadcast_in_dim, mul, reshape, sin, transpose
from tinyjax.core.tracing import make_jaxpr


def nest(f, *shapes, target=CPU):
    """The jaxpr of a function that is one group, and the group's naive loop nest."""
    closed = simplify(make_jaxpr(f)(*(aval(*shape) for shape in shapes)))
    (group,) = fuse(closed.jaxpr, target)
    return closed, group, loop_nest(group, "k0", variable_names(closed.jaxpr), target)


def test_there_is_a_loop_for_each_axis_that_is_longer_than_one():
    _, _, kernel = nest(lambda x, y: mul(add(x, y), y), (3, 1, 4), (3, 1, 4))
    assert str(kernel).splitlines() == [
        "kernel k0(b_in: f32[12], a_in: f32[12], d_out: f32[12]), work-items: 1",
        "  for i1 in 0 .. 3:",
        "    for i2 in 0 .. 4:",
        "      b:f32 = b_in[i1 * 4 + i2]",
        "      a:f32 = a_in[i1 * 4 + i2]",
        "      c:f32 = add a b",
        "      d:f32 = mul c b",
        "      d_out[i1 * 4 + i2] = d",
    ]


def test_a_scalar_has_no_loop():
    _, _, kernel = nest(lambda x: sin(x), ())
    assert [type(s).__name__ for s in kernel.body] == ["Load", "Let", "Store"]


@pytest.mark.parametrize("target", [CPU, GPU])
@pytest.mark.parametrize(
    "f, shapes",
    [
        (lambda x, y: (add(x, y), mul(x, x)), [(5, 3), (5, 3)]),
        (lambda x, y: mul(broadcast_in_dim(x, (4, 3), (1,)), y), [(3,), (4, 3)]),
        (lambda x: sin(transpose(x, (2, 0, 1))), [(2, 3, 4)]),
        (lambda x: sin(reshape(x, (6, 4))), [(2, 3, 4)]),
        (lambda x: total(x, (0, 2)), [(3, 4, 5)]),
    ],
)
def test_the_interpreted_nest_equals_eager(f, shapes, target):
    closed, group, kernel = nest(f, *shapes, target=target)
    args = [data(*shape) for shape in shapes]
    memory = dict(zip(closed.jaxpr.invars, args))
    memory |= {v: np.zeros(v.aval.shape, v.aval.dtype) for v in group.outputs}
    interpret_kernel(kernel, [memory[v].reshape(-1) for v in (*group.inputs, *group.outputs)])
    for v, wanted in zip(closed.jaxpr.outvars, eval_jaxpr(closed.jaxpr, closed.consts, *args)):
        np.testing.assert_allclose(memory[v], np.asarray(wanted), rtol=1e-6)
