"""The C of a kernel: its names, and how large arrays are indexed."""

import re
from dataclasses import replace

import numpy as np
import pytest
from lowering import aval, softmax_like, stages
from small_kernels import reversed_in_groups

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.codegen.codegen import Scope, kernel_text, lines_of
from tinyjax.compile.codegen.helpers import strided_load
from tinyjax.compile.codegen.program import program_text
from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.kernel_ir import (
    Barrier,
    Buffer,
    Const,
    For,
    If,
    Let,
    Load,
    PrivateArray,
    Store,
    Value,
    While,
)
from tinyjax.core.primitives import add, broadcast_in_dim, neg, sin


def test_the_text_is_the_same_from_run_to_run():
    def text():
        return program_text(stages(softmax_like, aval(20, 30))[2])

    assert text() == text()


def test_kernels_use_the_names_of_the_jaxpr():
    closed, _, (kernel,) = stages(lambda x: add(sin(x), 1.0), aval(3))
    assert "b:f32[3] = sin a" in str(closed)
    assert "const float b = tj_sin(a);" in program_text([kernel])


def test_only_large_angles_are_computed_in_a_function_that_stays_a_call():
    text = program_text(stages(sin, aval(3))[2])
    assert "noinline)) float tj_far_sin(float x)" in text and "\nfloat tj_sin(float x)" in text


def test_a_variable_named_like_a_keyword_builds_under_another_name():
    def f(x):
        for _ in range(200):  # names reach past "do" and "if"
            x = sin(add(x, 1.0))
        return x

    text = "".join(map(kernel_text, stages(f, aval(3))[2]))
    assert " do " not in text and " if " not in text


def test_large_arrays_are_indexed_with_64_bits():
    _, _, (kernel,) = stages(lambda x: neg(x), aval(3, 2**30))
    assert "long item" in program_text([kernel])


def test_the_smaller_of_two_64_bit_indices_has_no_operand_of_32_bits():
    def f(x, y):
        return add(
            broadcast_in_dim(x, (70000, 40000), (0,)), broadcast_in_dim(y, (70000, 40000), (1,))
        )

    _, _, (kernel,) = stages(f, aval(70000), aval(40000))
    text = program_text([kernel])
    assert "min((long)(item" in text and "(long)(70000))" in text


def test_a_variable_called_t_keeps_its_name_where_another_one_is_equal_to_it():
    def f(x):
        for _ in range(19):  # the jaxpr's variables a, b, ..., t
            x = x + 1
        return lax.stop_gradient(x) * x

    np.testing.assert_array_equal(jax.jit(f)(np.zeros(3, np.float32)), [361, 361, 361])


def test_work_groups_have_local_memory_and_barriers():
    text = kernel_text(reversed_in_groups(Barrier()))
    assert "const int local_id = get_local_id(0);\n  __local float tile[4];" in text
    assert "tile[local_id] = a;\n  barrier(CLK_LOCAL_MEM_FENCE);" in text


# ---- statements around others ----

F32, BOOL = np.dtype("float32"), np.dtype(bool)
ITEMS, I1 = PrivateArray("items", F32, 8), index_var("i1", 0, 7)
A, B, MORE = Value("a", F32), Value("b", F32), Value("more", BOOL)
STORE = Store(ITEMS, index(0), A)


def text_of(*statements, index="int"):
    return [line for line, _ in lines_of(statements, Scope(index), "")]


def test_a_loop_is_cs_own_with_its_statements_indented():
    inner = For(index_var("i2", 0, 3), index(0), index(4), [STORE])
    loop = For(I1, index(0), index(8), [Load(B, ITEMS, I1), inner])
    assert text_of(loop) == [
        "for (int i1 = 0; i1 < 8; ++i1) {",
        "  const float b = items[i1];",
        "  for (int i2 = 0; i2 < 4; ++i2) {",
        "    items[0] = a;",
        "  }",
        "}",
    ]


def test_a_loop_may_begin_elsewhere_and_take_every_fourth_iteration():
    loop = For(I1, index_var("first", 0, 3), I1.min(5), [STORE], step=4)
    assert text_of(loop)[0] == "for (int i1 = first; i1 < min(i1, 5); i1 += 4) {"


def test_a_loop_of_a_large_array_has_a_variable_of_64_bits():
    loop = For(I1, index(0), index(8), [For(I1, index(0), index(8), [STORE])])
    heads = [line for line in text_of(loop, index="long") if "for" in line]
    assert heads == [
        "for (long i1 = 0; i1 < 8; ++i1) {",
        "  for (long i1 = 0; i1 < 8; ++i1) {",
    ]


def test_numbers_of_several_rows_beside_a_vector_are_read_from_the_address_of_their_row():
    x, row = Buffer("x", F32, 64, "in"), index_var("row", 0, 3)
    loads = [Load(A, x, row * 16 + I1), Load(B, x, (row + 1) * 16 + I1)]
    vector = Load(Value("v", F32, 4), ITEMS, I1)
    assert text_of(For(I1, index(0), index(4), [*loads, vector]))[1:3] == [
        "  const float a = (x + row * 16)[i1];",
        "  const float b = (x + (row + 1) * 16)[i1];",
    ]
    assert text_of(For(I1, index(0), index(4), loads))[1] == "  const float a = x[row * 16 + i1];"


def test_rows_that_overlap_have_no_addresses_of_their_own_in_a_short_loop():
    x, row = Buffer("x", F32, 64, "in"), index_var("row", 0, 3)
    loads = [Load(A, x, row * 16 + I1), Load(B, x, row * 16 + 1 + I1)]
    body = [*loads, Load(Value("v", F32, 4), ITEMS, I1)]
    short, long = (text_of(For(I1, index(0), index(count), body))[2] for count in (3, 8))
    assert short == "  const float b = x[row * 16 + 1 + i1];"
    assert long == "  const float b = (x + row * 16 + 1)[i1];"


def test_a_while_computes_its_condition_in_each_iteration_and_leaves_when_it_is_false():
    head = [Load(B, ITEMS, index(1)), Let(MORE, "lt", (B, A))]
    assert text_of(While(head, MORE, [STORE])) == [
        "for (;;) {",
        "  const float b = items[1];",
        "  const bool more = b < a;",
        "  if (!more) break;",
        "  items[0] = a;",
        "}",
    ]


def test_a_constant_may_be_the_condition():
    always = Const(np.bool_(True), BOOL)
    assert "  if (!1) break;" in text_of(While([], always, [STORE]))
    assert text_of(If(always, [STORE]))[0] == "if (1) {"


def test_an_if_has_an_else_only_if_there_is_something_to_do():
    other = Store(ITEMS, index(1), A)
    assert text_of(If(MORE, [STORE])) == ["if (more) {", "  items[0] = a;", "}"]
    assert text_of(If(MORE, [STORE], [other])) == [
        "if (more) {",
        "  items[0] = a;",
        "} else {",
        "  items[1] = a;",
        "}",
    ]


def test_lines_know_the_equation_that_they_are_for():
    def stored(origin):
        return Store(ITEMS, index(0), A, origin=origin)

    loop = For(I1, index(0), index(8), [stored("store")], origin="loop")
    choice = If(MORE, [stored("then")], [stored("otherwise")], origin="if")
    endless = While([stored("head")], MORE, [stored("body")], origin="while")

    def origins(statement):
        return [origin for _, origin in lines_of([statement], Scope("int"), "")]

    assert origins(loop) == ["loop", "store", "loop"]
    assert origins(choice) == ["if", "then", "if", "otherwise", "if"]
    assert origins(endless) == ["while", "head", "while", "body", "while"]


@pytest.mark.parametrize("w", [2, 4, 8, 16])
@pytest.mark.parametrize("s", range(2, 9))
def test_strided_loads_read_nothing_after_the_last_element(w, s):
    text, lanes = strided_load("float", w, s).text, list(range(w))
    for first, numbers in re.findall(r"p \+ (\d+)\), (.*)\);", text):
        assert int(first) + w - 1 <= (w - 1) * s
        both = [*lanes, *range(int(first), int(first) + w)]
        lanes = [both[int(number)] for number in numbers.split(", ")]
    assert lanes == list(range(0, w * s, s))


def test_strided_stores_that_fill_all_places_are_one():
    z = np.arange(40).astype(np.complex64) * (1 - 2j)
    product = jax.jit(lambda z: (z * (2 + 1j), z.conj()))
    text = product.lower(z).as_text()
    assert text.count("  tj_interleave16_by2_float(") >= 2 and "tj_store16_by2" not in text
    for found, wanted in zip(product(z), (z * (2 + 1j), z.conj()), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_strided_stores_wait_for_each_other_past_what_does_not_read_them():
    f32, at = np.dtype("float32"), index_var("i", 0, 3)
    x, y = (Buffer(name, f32, 256, role) for name, role in (("x_in", "in"), ("y_out", "out")))
    a, b = (Value(name, f32, 16) for name in "ab")
    first, second = (Store(y, at * 32 + n, v, stride=2) for n, v in ((0, a), (1, b)))

    def text(*body):
        return [line.strip() for line, _ in lines_of(body, Scope(), "")]

    together = "tj_interleave16_by2_float(a, b, y_out + i * 32);"
    for between in (Load(b, x, at), replace(first, memory=x)):
        assert text(first, between, second)[-1] == together
    for between in (Load(b, y, at), Store(y, at, b), For(at, index(0), index(2), [])):
        assert together not in text(first, between, second)
    assert len(text(first, first)) == len(text(second, first)) == 2


@pytest.mark.parametrize("count", [2, 3])
def test_elements_of_several_vectors_are_stored_in_turn(count):
    parts = np.arange(count * 64, dtype=np.float32).reshape(count, 64)
    stack = jax.jit(lambda *parts: jnp.stack(parts, -1))
    assert f"tj_interleave16_by{count}_float(" in stack.lower(*parts).as_text()
    np.testing.assert_array_equal(stack(*parts), parts.T)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8, jnp.bfloat16])
@pytest.mark.parametrize("columns", [9, 10, 15, 18, 24, 31, 45])
def test_the_last_elements_of_a_row_are_two_overlapping_halves(columns, dtype):
    x = np.random.default_rng(0).integers(0, 9, (5, columns)).astype(dtype)
    f = jax.jit(lambda x: x - x.max(1, keepdims=True))
    text, count = f.lower(x).as_text(), columns % 16
    assert f"tj_load_first{count}of16" in text and f"tj_store_first{count}of16" in text
    np.testing.assert_array_equal(f(x), x - x.max(1, keepdims=True))


@pytest.mark.parametrize("rows, is_free", [(120, True), (1, False)])
def test_vector_registers_are_free_before_the_sums_of_a_tile(rows, is_free):
    x, w = np.ones((rows, 64), np.float32), np.ones((64, 32), np.float32)
    text = jax.jit(lambda x, w: jnp.tanh(x @ w)).lower(x, w).as_text()
    assert bool(re.search(r"\{\n +tj_free_registers\(\);\n", text)) == is_free


def test_vector_registers_are_kept_for_sums_without_a_loop():
    x, c = np.ones((6000, 9), np.float32), np.ones(9, np.float32)
    sums = jax.jit(lambda x, c: (x.sum(1), (x * c).sum(1), (x / c).sum(1)))
    text = sums.lower(x, c).as_text()
    assert "acc3_x3" in text and "free_registers" not in text
