"""Kernels as WebAssembly give the same bits as the interpreter gives."""

import dataclasses
import itertools
import re

import numpy as np
import pytest
from lowering import aval, stages
from small_kernels import reversed_in_groups
from webassembly import Machine, assert_same_bits, run_kernel, wasmtime

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.kernel.functions.table import definitions
from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.interpret import interpret_kernel
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Barrier,
    Buffer,
    Const,
    For,
    Kernel,
    Let,
    Load,
    PrivateArray,
    Store,
    Value,
)
from tinyjax.compile.kernel.scalar_ops import FUNCTION, scalar_ops
from tinyjax.compile.passes.pipeline import run_passes
from tinyjax.compile.plan import make_plan
from tinyjax.compile.target import CPU, GPU
from tinyjax.core.dtypes import bfloat16, kind
from tinyjax.core.tracing import make_jaxpr
from tinyjax.wasm.webassembly import webassembly

BOOL = np.dtype(bool)
INTEGERS = [np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]
DTYPES = [BOOL, *INTEGERS, np.dtype("float16"), bfloat16, np.dtype("float32"), np.dtype("float64")]
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "is_finite")

# ---- operations ----


def edges(dtype):
    """Values that something may go wrong with."""
    if dtype == BOOL:
        return np.array([False, True])
    if kind(dtype) in "iu":
        info = np.iinfo(dtype)
        some = [info.min, info.min + 1, -7, -1, 0, 1, 2, 3, info.bits - 1, info.bits, info.max]
        return np.array([n for n in some if n >= info.min], dtype)
    some = [0.0, -0.0, 0.5, -1.5, 2.5, 3e-8, -7e-5, 1e-39, 12.3, 255.5, -129, 65519.9, 3e9, -1e19]
    with np.errstate(over="ignore"):
        return np.array([*some, np.inf, -np.inf, np.nan]).astype(dtype)


def pairs(*dtypes):
    """Arrays in which all pairs of edges meet."""
    rows = list(itertools.product(*map(edges, dtypes)))
    return [np.array(column, dtype) for column, dtype in zip(zip(*rows), dtypes)]


def kernel_of(op, arrays, dtype, width):
    """One operation on all elements, `width` of them at a time."""
    size = arrays[0].size
    i = index_var("i", 0, -(-size // width) - 1)
    at, end = i * width, index(size) if size % width else None
    buffers = [Buffer(f"x{n}", x.dtype, size, "in") for n, x in enumerate(arrays)]
    values = [Value(f"v{n}", x.dtype, width) for n, x in enumerate(arrays)]
    loads = [Load(v, buffer, at, end) for v, buffer in zip(values, buffers)]
    out, result = Buffer("out", dtype, size, "out"), Value("y", dtype, width)
    body = [*loads, Let(result, op, tuple(values)), Store(out, at, result, end)]
    name = f"{op}_{arrays[-1].dtype}_{dtype}_{width}"
    return Kernel(name, [*buffers, out], 1, [For(i, index(0), index(i.hi + 1), body)])


def operands(op, dtype):
    """Arrays for an operation on numbers of a dtype; None if it does not know that dtype."""
    text = scalar_ops[op].c.get(kind(dtype))
    if text is None or (op == "nextafter" and dtype.itemsize == 2):
        return None
    if op == "select":
        return pairs(BOOL, dtype, dtype)
    numbers = re.findall(r"\{[0-2]\}", text)
    arrays = pairs(*[dtype] * min(len(set(numbers)), 2))
    return [*arrays, arrays[0][::-1].copy()] if op == "mul_add" else arrays


def assert_all_the_same(cases):
    """Cases are an operation, its operands and the dtype of the result; vectors give what numbers give."""
    kernels = [[kernel_of(*case, width) for width in (1, 2, 4, 16)] for case in cases]
    machine = Machine(*itertools.chain(*kernels))
    for (op, arrays, dtype), alike in zip(cases, kernels, strict=True):
        expected = np.zeros(arrays[0].size, dtype)
        interpret_kernel(alike[0], [*arrays, expected])
        for kernel in alike:
            found = np.zeros_like(expected)
            machine.run(kernel, [*arrays, found])
            if op in ("max", "min"):  # NumPy takes either of 0.0 and -0.0
                found, expected = found + dtype.type(0), expected + dtype.type(0)
            assert_same_bits(found, expected)


OTHERS = {"any", "truncate", "vector", "lane", "reverse"}
OPS = sorted(op for op, made in scalar_ops.items() if made.cost < FUNCTION and op not in OTHERS)


@pytest.mark.slow
@pytest.mark.parametrize("op", OPS)
def test_an_operation_gives_the_interpreters_bits(op):
    found = [(dtype, operands(op, dtype)) for dtype in DTYPES]
    result = lambda dtype: BOOL if op in COMPARISONS else dtype  # noqa: E731
    assert_all_the_same([(op, arrays, result(dtype)) for dtype, arrays in found if arrays])


@pytest.mark.parametrize("of", DTYPES, ids=str)
def test_a_conversion_gives_the_interpreters_bits(of):
    assert_all_the_same([("convert", [edges(of)], to) for to in DTYPES])


def test_a_bitcast_keeps_the_bits():
    same_size = [(of, to) for of in INTEGERS for to in INTEGERS if of.itemsize == to.itemsize]
    for of, to in [("float32", "int32"), ("uint32", "float32"), ("float64", "int64")]:
        same_size.append((np.dtype(of), np.dtype(to)))
    assert_all_the_same([("bitcast", [edges(of)], to) for of, to in same_size])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("width", [1, 4])
def test_a_constant_gives_the_interpreters_bits(dtype, width):
    values = edges(dtype)
    out = Buffer("out", dtype, values.size * width, "out")
    body = []
    for n, x in enumerate(values):
        value = Value(f"y{n}", dtype, width)
        body += [Let(value, "copy", (Const(x, dtype),)), Store(out, index(n * width), value)]
    found, expected = (np.zeros(out.size, dtype) for _ in range(2))
    kernel = Kernel("constants", [out], 1, body)
    interpret_kernel(kernel, [expected])
    run_kernel(kernel, [found])
    assert_same_bits(found, expected)


@pytest.mark.parametrize("op", ["shift_left", "shift_right_logical", "shift_right_arithmetic"])
@pytest.mark.parametrize("width", [1, 4])
def test_a_shift_by_a_constant_gives_the_interpreters_bits(op, width):
    for dtype in INTEGERS:
        x = edges(dtype)[-8:]
        given, out = Buffer("x", dtype, 8, "in"), Buffer("out", dtype, 64, "out")
        body = []
        for n, count in enumerate([0, 1, 5, 7, 8, 31, 63, dtype.itemsize * 8]):
            for at in range(0, 8, width):
                v, y = (Value(f"{name}{n}_{at}", dtype, width) for name in "vy")
                shift = Let(y, op, (v, Const(dtype.type(count), dtype)))
                body += [Load(v, given, index(at)), shift, Store(out, index(8 * n + at), y)]
        kernel, found, expected = Kernel("k", [given, out], 1, body), *np.zeros((2, 64), dtype)
        interpret_kernel(kernel, [x, expected])
        run_kernel(kernel, [x, found])
        assert_same_bits(found, expected)


FUNCTIONS = {name: made for name, made in definitions.items() if made.dtype.kind == "f"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_gives_the_interpreters_bits(name):
    function = FUNCTIONS[name].kernel_function
    of, to = function.parameters[0].dtype, function.result.dtype
    arrays = pairs(*[of] * len(function.parameters))
    x = np.random.default_rng(0).standard_cauchy(300)  # of all sizes
    arrays = [np.concatenate([some, np.roll(x, n).astype(of)]) for n, some in enumerate(arrays)]
    assert_all_the_same([(name, arrays, to)])


@pytest.mark.parametrize("name", ["sin", "exp", "pow", "logistic"])
def test_a_function_of_halves_is_rounded_once(name):
    dtype = np.dtype("float16")
    arrays = pairs(*[dtype] * len(FUNCTIONS[name].kernel_function.parameters))
    assert_all_the_same([(name, arrays, dtype)])


# ---- kernels ----

WASM = dataclasses.replace(CPU, width=4, max_items=4)
ITEMS = dataclasses.replace(GPU, group=1)  # it has no work-groups


def interpreted_and_run(f, *args, target, naive=False):
    """The kernels of f, each in the interpreter and in the engine: what each of them stored. If `naive`,
    before their schedules."""
    args = [np.asarray(x) for x in args]
    plan = make_plan(run_passes(make_jaxpr(f)(*args)), target)
    memory = dict(zip(plan.closed.jaxpr.constvars, map(np.asarray, plan.closed.consts)))
    memory |= zip(plan.closed.jaxpr.invars, args)
    assert len(plan.kernels) == len(plan.groups)
    for number, group in enumerate(plan.groups):
        kernel, count = plan.kernels[number], len(group.inputs)
        kernel = kernel.naive or kernel if naive else kernel
        memory |= {v: np.zeros(v.aval.shape, v.aval.dtype) for v in group.outputs}
        arrays = [memory[v].reshape(-1) for v in (*group.inputs, *group.outputs)]
        arrays += [np.zeros(b.size, b.dtype) for b in kernel.buffers[len(arrays) :]]
        found = [x.copy() for x in arrays]
        interpret_kernel(kernel, arrays)
        run_kernel(kernel, found)
        yield from zip(found[count:], arrays[count:])


def floats(*shape, dtype="float32"):
    return np.random.default_rng(0).uniform(-1, 1, shape).astype(dtype)


def countdown(x):
    return lax.while_loop(lambda c: c[1] > 0.1, lambda c: (c[0] + 1, c[1] * 0.5), (0, x))


def steps(w, x):
    step = lambda c, row: (c * w + row, jnp.where(row > 0, c, -c).sum())  # noqa: E731
    return lax.scan(step, x[0], x)


KERNELS = {
    "map": (lambda x, y: (x + y) * -x, floats(37, 3), floats(37, 1)),
    "halves": (lambda x: x * x + 1 > x, floats(37, dtype="float16")),
    "bfloat16": (lambda x: x / 3 - x, floats(37, dtype=bfloat16)),
    "float64": (lambda x: jnp.where(x > 0, x, x * x), floats(37, dtype="float64")),
    "transpose": (lambda x: x.T + 1, floats(40, 50)),
    "rows": (lambda x: x / x.sum(1, keepdims=True), floats(5, 70)),
    "columns": (lambda x: x.sum(0), floats(70, 21)),
    "all": (lambda x: (x * x).sum(), floats(40_003)),
    "bools": (lambda x: (x > 0.99).any(1), floats(6, 37)),
    "most": (lambda x: (x.max(1), x.argmin(1)), floats(6, 37)),
    "product": (lambda x, y: jnp.maximum(x @ y, 0), floats(13, 21), floats(21, 18)),
    "convolution": (
        lambda x, w: lax.conv(x, w, (1, 2), "SAME"),
        floats(2, 3, 5, 9),
        floats(18, 3, 2, 3),
    ),
    "gather": (lambda x, i: x[i], floats(9, 5), np.array([3, 0, 8, -1], np.int32)),
    "integers": (lambda x: (x // 7 << 3) ^ x % 5, np.arange(-30, 30, dtype=np.int32)),
    "small integers": (lambda x: x * x + 1, np.arange(60, dtype=np.uint8)),
    "random bits": (lambda key: jax.random.bits(jax.random.key(key), (33,)), np.uint32(3)),
    "elementwise loop": (jax.vmap(countdown), abs(floats(21))),
    "sequential loop": (steps, floats(6), floats(9, 6)),
}


FORMS = {
    "16 lanes": (CPU, False), "4 lanes": (WASM, False), "work-items": (ITEMS, False), "naive": (CPU, True)
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_gives_the_interpreters_bits(name, form):
    f, *args = KERNELS[name]
    target, naive = FORMS[form]
    with jax.enable_x64("64" in name):
        stored = list(interpreted_and_run(f, *args, target=target, naive=naive))
    assert stored
    for found, expected in stored:
        assert_same_bits(found, expected)


@pytest.mark.parametrize("dtype", ["float16", "int8", "int16"])
def test_an_array_of_vectors_that_no_instruction_loads_keeps_its_rows(dtype):
    dtype, i = np.dtype(dtype), index_var("i1", 0, 2)
    x, y = Buffer("x_in", dtype, 6, "in"), Buffer("y_out", dtype, 6, "out")
    rows, row = PrivateArray("rows", dtype, 3, 2), Value("a", dtype, 2)
    copy = [Load(row, x, i * 2), Store(rows, i, row)]
    back = [Load(row, rows, i), Store(y, i * 2, row)]
    loops = [For(i, index(0), index(3), body) for body in (copy, back)]
    kernel, memory = (
        Kernel("k0", [x, y], 1, [Allocate(rows, None), *loops]),
        np.arange(6, dtype=dtype),
    )
    run_kernel(kernel, [memory, found := np.zeros(6, dtype)])
    assert found.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_function_without_instructions_is_the_hosts():
    with jax.enable_x64(True):
        x = floats(5, dtype="float64")
        ((found, expected),) = interpreted_and_run(lambda x: jnp.exp(x) + 1, x, target=CPU)
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_one_kernel_calls_the_hosts_function_and_its_own_of_the_same_name():
    def f(x):
        return jnp.tanh(x), jnp.tanh(x.astype("float32"))

    with jax.enable_x64(True):
        for found, expected in interpreted_and_run(f, floats(5, dtype="float64"), target=CPU):
            np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_work_items_may_run_in_parts():
    f, x = KERNELS["all"]
    _, _, (kernel,) = stages(f, aval(x.size))
    assert kernel.items > 3
    both = [[np.zeros(b.size, b.dtype) for b in kernel.buffers] for _ in range(2)]
    for memory, ranges in zip(both, ([(0, kernel.items)], [(0, 3), (3, kernel.items)])):
        memory[0][:] = x
        Machine(kernel).run(kernel, memory, *ranges)
    assert_same_bits(both[0][1], both[1][1])


def test_arrays_beyond_32_bits_are_refused():
    _, _, kernels = stages(lambda x: -x, aval(3, 2**30))
    with pytest.raises(NotImplementedError, match="smaller arrays"):
        webassembly(kernels)


# ---- text ----


def test_the_text_assembles_to_the_bytes():
    module = jax.jit(steps).lower(floats(6), floats(9, 6)).compiler_ir("webassembly")
    text = str(module)
    assert ";; for i" in text
    engine = wasmtime.Engine()
    wasmtime.Module.validate(engine, bytes(module))
    assembled = bytes(wasmtime.wat2wasm(text))
    assert assembled.startswith(bytes(module))  # what follows are names


def test_lowered_functions_have_it_as_a_stage():
    text = jax.jit(lambda x: x * 2).lower(floats(80)).as_text("webassembly")
    assert "f32x4.mul" in text and text.startswith("(module")


def test_constants_are_made_once_before_all_loops():
    text = jax.jit(jnp.sin).lower(floats(160)).as_text("webassembly")
    before, loops = text.split(" loop\n", 1)
    made = [line.split("local.set")[0] for line in before.split("\n") if "v128.const" in line]
    assert len(made) == len(set(made)) > 5
    assert not [n for n in re.findall("v128.const [fi]32x4 (\\S+)", loops) if float(n)]


def test_the_choice_of_the_lesser_operand_is_one_instruction():
    x, zeros = floats(8), [0.0, -0.0]
    given, out = Buffer("x", x.dtype, 8, "in"), Buffer("out", x.dtype, 32, "out")
    v, body = Value("v", x.dtype, 8), []
    for n, (zero, other) in enumerate(itertools.product(zeros, zeros)):
        is_less, y = Value(f"is_less{n}", BOOL, 8), Value(f"y{n}", x.dtype, 8)
        edge, chosen = (Const(np.float32(z), x.dtype) for z in (zero, other))
        body += [Let(is_less, "lt", (v, edge)), Let(y, "select", (is_less, chosen, v))]
        body.append(Store(out, index(8 * n), y))
    kernel = Kernel("k", [given, out], 1, [Load(v, given, index(0)), *body])
    assert str(webassembly([kernel])).count("f32x4.pmax") == 4  # two for each equal pair
    found, expected = np.zeros((2, 32), x.dtype)
    interpret_kernel(kernel, [x, expected])
    run_kernel(kernel, [x, found])
    assert_same_bits(found, expected)


def test_webassembly_has_no_work_groups():
    with pytest.raises(NotImplementedError, match="k0 works in groups with local memory"):
        webassembly([reversed_in_groups(Barrier())])
