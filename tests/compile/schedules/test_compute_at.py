import numpy as np
import pytest
from loop_nests import F32, A, B, C, axis, loop
from lowering import aval, interpreted, stages

import tinyjax as jax
from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Buffer,
    Const,
    Kernel,
    Let,
    Load,
    PrivateArray,
    Store,
)
from tinyjax.compile.kernel.substitution import substituted
from tinyjax.compile.schedules.compute_at import ComputeAt, repeated_work
from tinyjax.compile.schedules.directive import axis_of, loops_of
from tinyjax.compile.schedules.schedule import scheduled
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.vectorize import Vectorize

VECTORS = [
    directive
    for axis in ("i2", "i3", "i4")
    for directive in (Split(axis, 16), Vectorize(f"{axis}_inner", 16))
]


def softmax(rows, columns, of=lambda x: x):
    """The naive nest of a softmax."""
    (kernel,) = stages(lambda x: jax.nn.softmax(of(x)), aval(rows, columns))[2]
    return kernel.naive


def test_what_two_loops_compute_is_found_in_spite_of_other_names():
    found, *_ = repeated_work(softmax(5, 40), ["i2", "i3", "i4"])
    assert (found.value.name, found.axis) == ("e", "i3")


def test_the_second_loop_loads_what_the_first_stores():
    lines = [line.strip() for line in str(ComputeAt("e", "i3").apply(softmax(5, 40))).splitlines()]
    assert lines.index("kept1[i3] = e") == lines.index("e:f32 = exp d") + 1
    assert lines[lines.index("for i4 in 0 .. 40:") + 1 :] == [
        "e2:f32 = kept1[i4]",
        "h:f32 = div e2 f",
        "h_out[i1 * 40 + i4] = h",
    ]


@pytest.mark.parametrize("columns", [7, 40])
@pytest.mark.parametrize(
    "directives",
    [[ComputeAt("e", "i3")], [*VECTORS, ComputeAt("e", "i3_outer")]],
    ids=["one", "vectors"],
)
def test_what_is_kept_is_what_was_computed(columns, directives):
    x = np.random.default_rng(0).uniform(-2, 2, (3, columns)).astype(np.float32)
    kept = interpreted(jax.nn.softmax, x, change=lambda k: scheduled(k.naive, directives))[0]
    directives = [d for d in directives if not isinstance(d, ComputeAt)]
    again = interpreted(jax.nn.softmax, x, change=lambda k: scheduled(k.naive, directives))[0]
    np.testing.assert_array_equal(kept, again)


def test_what_is_not_computed_can_not_be_kept():
    assert "no axis 'i7'" in ComputeAt("e", "i7").why_not(softmax(5, 40))
    assert ComputeAt("e", "i2").why_not(softmax(5, 40)) == "the loop over i2 computes no 'e'"


def test_what_is_computed_again_where_it_could_not_be_loaded_is_not_kept():
    x, y = Buffer("x_in", F32, 4, "in"), Buffer("y_out", F32, 16, "out")
    outer, inner = axis("i1", 2), axis("i2", 4)
    row = [Load(A, x, inner), Let(B, "exp", (A,)), Store(y, outer * 4 + inner, B)]
    rows = [loop(outer, 2, loop(inner, 4, *row))]
    again = substituted(rows, {}, {"a": "d", "b": "e", "i1": "i3", "i2": "i4"})
    reason = ComputeAt("b", "i2").why_not(Kernel("k0", [x, y], 1, [*rows, *again]))
    assert reason == "no loop that stands after that over i2 computes 'b' again"


def test_what_costs_little_once_its_operand_is_kept_is_not_kept():
    def loss(x):
        return (jax.nn.log_softmax(jax.numpy.tanh(x)) ** 2).sum()

    (kernel,) = stages(jax.grad(loss), aval(40, 10))[2]
    operations = [
        line.split(" = ")[1].split()[0] for line in str(kernel).splitlines() if " = " in line
    ]
    assert operations.count("tanh") == operations.count("exp") == 4  # rows at once
    assert sum(isinstance(directive, ComputeAt) for directive in kernel.schedule) == 2


def test_what_is_made_of_what_is_kept_can_be_kept_too():
    kernel = softmax(5, 40, lambda x: jax.numpy.tanh(jax.numpy.exp(x)))
    kept = kernel
    for _ in range(2):
        found = max(repeated_work(kept, ["i2", "i3", "i4"]), key=lambda found: found.cost)
        kept = ComputeAt(found.value.name, found.axis).apply(kept)
    operations = [
        line.split(" = ")[1].split()[0] for line in str(kept).splitlines() if " = " in line
    ]
    assert operations.count("tanh") == 1 and operations.count("exp") == 2


def test_what_is_made_of_the_same_value_many_times_over_is_found_at_once():
    def doubled(x):
        for _ in range(60):  # a tree of 2**60 additions, if written out
            x = x + x
        return x

    nest = softmax(5, 40, doubled)
    _, *sweeps = map(axis_of, loops_of(nest.body))
    assert 60 <= max(found.cost for found in repeated_work(nest, sweeps)) < 200


def test_what_is_made_of_a_variable_is_no_longer_the_same_after_a_store_to_it():
    y, z = (Buffer(name, F32, 4, "out") for name in ("y_out", "z_out"))
    variable, i, j = PrivateArray("p", F32, 1), axis("i1", 4), axis("i2", 4)
    one, five = (Const(np.float32(number), F32) for number in (1, 5))
    first = loop(i, 4, Load(A, variable, index(0)), Let(B, "add", (A, A)), Store(y, i, B))
    second = loop(j, 4, Load(A, variable, index(0)), Let(C, "add", (A, A)), Store(z, j, C))
    body = [Allocate(variable, one), first, Store(variable, index(0), five), second]
    assert "computes 'b' again" in ComputeAt("b", "i1").why_not(Kernel("k0", [y, z], 1, body))
