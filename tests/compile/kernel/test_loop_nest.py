import re

import numpy as np
import pytest
from lowering import aval, data, total

from tinyjax import lax
from tinyjax.compile.fusion.fuse import fuse
from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.kernel.interpret import interpret_kernel
from tinyjax.compile.kernel.kernel_ir import For
from tinyjax.compile.kernel.loop_nest import loop_nest
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.target import CPU, GPU
from tinyjax.core.jaxpr import eval_jaxpr
from tinyjax.core.pretty_printer import variable_names
from tinyjax.core.primitives import (
    add,
    broadcast_in_dim,
    mul,
    neg,
    reshape,
    sin,
    transpose,
)
from tinyjax.core.tracing import make_jaxpr
from tinyjax.lax.reductions import reduce_max


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


# ---- of groups written by hand: no fusion is needed for them ----


def nest_of_all(f, *avals):
    """The jaxpr of a function, and the naive nest of all of its equations as one group."""
    jaxpr = make_jaxpr(f)(*avals).jaxpr
    group = KernelGroup(list(jaxpr.outvars), list(jaxpr.invars), list(jaxpr.eqns))
    return jaxpr, loop_nest(group, "k0", variable_names(jaxpr), CPU)


def run(kernel, *args):
    """What the kernel stores."""
    inputs = [np.asarray(x).reshape(-1) for x in args]
    outputs = [np.zeros(b.size, b.dtype) for b in kernel.buffers if b.role == "out"]
    interpret_kernel(kernel, [*inputs, *outputs])
    return outputs


def lines(kernel):
    return str(kernel).splitlines()


def test_in_the_innermost_loop_each_result_is_computed_and_stored():
    _, kernel = nest_of_all(lambda x, y: (add(x, y), neg(x)), aval(3, 4), aval(3, 4))
    assert lines(kernel) == [
        "kernel k0(a_in: f32[12], b_in: f32[12], c_out: f32[12], d_out: f32[12]), work-items: 1",
        "  for i1 in 0 .. 3:",
        "    for i2 in 0 .. 4:",
        "      b:f32 = b_in[i1 * 4 + i2]",
        "      a:f32 = a_in[i1 * 4 + i2]",
        "      c:f32 = add a b",
        "      c_out[i1 * 4 + i2] = c",
        "      d:f32 = neg a",
        "      d_out[i1 * 4 + i2] = d",
    ]


def test_results_that_are_one_number_need_no_loop():
    _, kernel = nest_of_all(lambda x: sin(x), aval())
    assert lines(kernel)[1:] == ["  a:f32 = a_in[0]", "  b:f32 = sin a", "  b_out[0] = b"]


def test_a_sum_is_a_loop_of_its_own_into_an_accumulator():
    _, kernel = nest_of_all(lambda x: neg(total(sin(x), (1,))), aval(3, 5))
    assert re.sub(r"\bt\d", "t", str(kernel)).splitlines()[1:] == [
        "  for i1 in 0 .. 3:",
        "    acc1:f32 = variable of 0.0",
        "    for i2 in 0 .. 5:",
        "      a:f32 = a_in[i1 * 5 + i2]",
        "      b:f32 = sin a",
        "      acc1[0] = add acc1[0] b",
        "    t:f32 = acc1",
        "    d:f32 = neg t",
        "    d_out[i1] = d",
    ]


@pytest.mark.parametrize("combine, wanted", [(total, 15.0), (reduce_max, 5.0)])
def test_an_accumulator_begins_with_what_its_operation_leaves_as_it_is(combine, wanted):
    x = np.float32([[1, 2, 3, 4, 5], [-1, -2, -3, -4, -5]])
    _, kernel = nest_of_all(lambda x: combine(x, (1,)), aval(2, 5))
    np.testing.assert_array_equal(run(kernel, x)[0], [wanted, -15.0 if wanted > 5 else -1.0])


def test_several_axes_are_combined_in_a_loop_each():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    _, kernel = nest_of_all(lambda x: total(x, (0, 2)), aval(2, 3, 4))
    assert sum(isinstance(s, For) for s in every_statement(kernel.body)) == 3
    np.testing.assert_array_equal(run(kernel, x)[0], x.sum((0, 2)))
    x = data(2, 3, 4, 2)
    jaxpr, kernel = nest_of_all(lambda x: total(x, (0, 1, 2, 3)), aval(2, 3, 4, 2))
    np.testing.assert_allclose(run(kernel, x)[0], x.sum(), rtol=1e-5, err_msg="over four axes")
    loads = [s for s in every_statement(kernel.body) if type(s).__name__ == "Load"]
    assert [s.memory.name for s in loads].count("a_in") == 1, "each element is loaded once"


def test_how_many_elements_are_combined_is_what_the_primitives_rule_says():
    x = np.arange(6, dtype=np.float32)
    try:
        _, kernel = nest_of_all(lambda x: lax.dot(x, x), aval(6))
    except KeyError as error:
        pytest.fail(f"a product has no parameter {error}: `rule.sizes` knows how many there are")
    np.testing.assert_array_equal(run(kernel, x)[0], 55)


@pytest.mark.parametrize("f", [lambda x: x, lambda x: lax.concatenate([x, x], 1)])
def test_of_no_elements_a_sum_is_zero(f):
    try:
        _, kernel = nest_of_all(lambda x: total(f(x), (1,)), aval(3, 0))
    except ValueError:
        pytest.fail("where there are no elements, no rule can say what one of them is")
    np.testing.assert_array_equal(run(kernel, np.zeros((3, 0), np.float32))[0], [0, 0, 0])
    _, kernel = nest_of_all(lambda x: lax.reduce_prod(f(x), (1,)), aval(3, 0))
    found = run(kernel, np.zeros((3, 0), np.float32))[0]
    np.testing.assert_array_equal(found, [1, 1, 1], "a product of nothing is 1: the rule knows")
    for dtype in ("int32", "uint8", "float32"):
        is_float = dtype == "float32"
        least, most = (-np.inf, np.inf) if is_float else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        for of, want in ((lax.reduce_max, least), (lax.reduce_min, most)):
            _, kernel = nest_of_all(lambda x: of(x, (1,)), aval(3, 0, dtype=dtype))  # noqa: B023
            found = run(kernel, np.zeros((3, 0), dtype))[0]
            assert found.tolist() == [want] * 3, f"{of.__name__} of no {dtype}: {want}, not {found}"
    for shape in ((2, 0, 3), (2, 3, 0), (0, 2, 3)):
        _, kernel = nest_of_all(lambda x: total(x, (0, 1, 2)), aval(*shape))
        assert run(kernel, np.zeros(shape, np.float32))[0] == 0, f"of {shape}"


def test_halves_are_added_up_as_longer_floats_and_their_sum_is_a_half():
    x = np.full((1, 4096), 0.5, np.float16)
    _, kernel = nest_of_all(lambda x: total(x, (1,)), aval(1, 4096, dtype="float16"))
    (found,) = run(kernel, x)
    assert found.dtype == np.float16 and found == 2048  # halves alone would stay at 1024
    store = every_statement(kernel.body)[-1]
    assert store.value.dtype == np.float16, "the sum is stored before it is converted"
    product = lambda x: lax.dot(x, x, preferred_element_type=np.float32)  # noqa: E731
    _, kernel = nest_of_all(product, aval(5000, dtype="float16"))
    (found,) = run(kernel, np.full(5000, 1, np.float16))
    assert found.dtype == np.float32 and found == 5000, "the dtype is the result's"


def test_a_statement_is_of_its_equation_and_the_loops_are_of_those_that_make_the_results():
    jaxpr, kernel = nest_of_all(lambda x: (neg(sin(x)), mul(x, x)), aval(3))
    sine, minus, product = jaxpr.eqns
    (loop,) = kernel.body
    origins = {str(s).partition("(")[0] + getattr(s, "op", ""): s.origin for s in loop.body}
    assert origins["Letsin"] is sine and origins["Letneg"] is minus
    stores = [s.origin for s in loop.body if type(s).__name__ == "Store"]
    assert stores == [minus, product], "a store is of the equation whose result it stores"
    assert loop.origin == (minus, product)
    _, alone = nest_of_all(lambda x: sin(x), aval(3))
    assert not isinstance(alone.body[0].origin, tuple), "of one equation, the origin is that one"
