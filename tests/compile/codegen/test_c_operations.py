import re
from dataclasses import replace

import numpy as np
import pytest

from tinyjax.compile.codegen.c_operations import COMPARISONS, operation_text
from tinyjax.compile.codegen.helpers import Calls
from tinyjax.compile.codegen.program import program_text
from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.interpret import interpret_kernel
from tinyjax.compile.kernel.kernel_ir import Buffer, Const, Kernel, Let, Load, Store, Value
from tinyjax.compile.kernel.scalar_ops import scalar_ops
from tinyjax.runtime.devices import devices
from tinyjax.runtime.queues import queue_of

WIDTH = 8
DTYPES = [
    np.dtype(name)
    for name in "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split()
]
BOOL = np.dtype(bool)


def operands(dtype, count):
    rng = np.random.default_rng(0)
    if dtype.kind == "b":
        return [rng.integers(0, 2, WIDTH).astype(bool) for _ in range(count)]
    if dtype.kind == "f":
        arrays = [3 * rng.standard_normal(WIDTH).astype(dtype) for _ in range(count)]
        arrays[0][:4] = 0, np.nan, np.inf, -1.5
        return arrays
    info = np.iinfo(dtype)
    arrays = [rng.integers(max(info.min, -50), 50, WIDTH).astype(dtype) for _ in range(count)]
    arrays[0][:2], arrays[-1][2] = (info.min, info.max), 0
    return arrays


def kernel_of(name, op, arrays, dtype):
    """One operation on vectors of `WIDTH` elements."""
    buffers = [Buffer(f"x{i}", x.dtype, WIDTH, "in") for i, x in enumerate(arrays)]
    values = [Value(f"v{i}", x.dtype, WIDTH) for i, x in enumerate(arrays)]
    out, result = Buffer("out", dtype, WIDTH, "out"), Value("y", dtype, WIDTH)
    loads = [Load(v, buffer, index(0)) for v, buffer in zip(values, buffers)]
    body = [*loads, Let(result, op, tuple(values)), Store(out, index(0), result)]
    return Kernel(name, [*buffers, out], 1, body)


def cases(op):
    if op == "convert":
        return [(operands(a, 1), b) for a in DTYPES for b in DTYPES]
    found = []
    for dtype in DTYPES:
        text = scalar_ops[op].c.get(dtype.kind)
        if text is None or (op == "nextafter" and dtype == np.float16):  # computed on its bits
            continue
        arrays = operands(dtype, 1 + max(map(int, re.findall(r"\{(\d)\}", text))))
        if op == "select":
            arrays[0] = operands(BOOL, 1)[0]
        found.append((arrays, BOOL if op in COMPARISONS else dtype))
    return found


def built_and_interpreted(kernels, inputs):
    """What each kernel gives on the device, and in the interpreter."""
    queue = queue_of(devices()[0])
    built = queue.build(program_text(kernels), [kernel.name for kernel in kernels])
    for kernel, launched, arrays in zip(kernels, built, inputs):
        expected = np.zeros(WIDTH, kernel.buffers[-1].dtype)
        interpret_kernel(kernel, [*arrays, expected])
        found = queue.allocate((WIDTH,), expected.dtype)
        queue.launch(launched, 1, 1, [*map(queue.upload, arrays), found])
        yield found.read(), expected


@pytest.mark.slow
@pytest.mark.parametrize("op", [*sorted(scalar_ops.keys() - {"any", "truncate"}), "convert"])
def test_an_operation_on_a_vector_is_that_on_each_lane(op):
    kernels = [kernel_of(f"k{n}_{op}", op, *case) for n, case in enumerate(cases(op))]
    for found, expected in built_and_interpreted(kernels, [arrays for arrays, _ in cases(op)]):
        rtol = 1e-3 if found.dtype == np.float16 else 3e-6  # rounded once, or twice
        np.testing.assert_allclose(found, expected, rtol, atol=1e-30)


@pytest.mark.parametrize("dtype", ["bool", "float16", "float32"])
def test_a_vector_of_lanes_is_as_any_other(dtype):
    x, yes, no = (*operands(np.dtype(dtype), 1), *operands(np.dtype("int32"), 2))
    kernel = kernel_of("k", "copy", [x, yes, no], np.dtype("int32"))
    *loads, _, store = kernel.body
    v, ones, others = (load.target for load in loads)
    lanes = [Value(f"lane{n}", v.dtype) for n in range(WIDTH)]
    numbers = [Const(np.int32(n), np.dtype("int32")) for n in range(WIDTH)]
    apart = [Let(lane, "lane", (v, n)) for lane, n in zip(lanes, numbers)]
    together = Let(Value("w", v.dtype, WIDTH), "vector", tuple(lanes[::-1]))
    is_true = Let(Value("is_true", BOOL, WIDTH), "convert", (together.target,))
    chosen = Let(store.value, "select", (is_true.target, ones, others))
    kernel = replace(kernel, body=[*loads, *apart, together, is_true, chosen, store])
    ((found, expected),) = built_and_interpreted([kernel], [[x, yes, no]])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["bool", "float16", "int8", "float32"])
def test_a_vector_in_reverse_has_the_last_lane_first(dtype):
    arrays = operands(np.dtype(dtype), 1)
    kernel = kernel_of("k", "reverse", arrays, np.dtype(dtype))
    ((found, expected),) = built_and_interpreted([kernel], [arrays])
    np.testing.assert_array_equal(found, arrays[0][::-1])
    np.testing.assert_array_equal(expected, found)


@pytest.mark.parametrize("op", ["ge", "le"])
@pytest.mark.parametrize("limit", [np.inf, -np.inf])
@pytest.mark.parametrize("is_first", [False, True])
def test_comparisons_with_infinity_hold_for_the_same_numbers(op, limit, is_first):
    x, compare = Value("x", np.dtype("float32")), {"ge": np.greater_equal, "le": np.less_equal}[op]
    operands = [Const(np.float32(limit), x.dtype), x][:: 1 if is_first else -1]
    text = operation_text(op, Value("y", np.dtype(bool)), operands, Calls())
    for number in (0.0, np.inf, -np.inf, np.nan):
        pair = (limit, number) if is_first else (number, limit)
        names = {"x": number, "INFINITY": np.inf}
        assert eval(text.replace("(float)", ""), names) == compare(*pair)
