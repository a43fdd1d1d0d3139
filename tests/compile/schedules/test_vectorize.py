from dataclasses import replace

import numpy as np
import pytest
from loop_nests import (
    ACC,
    F32,
    A,
    B,
    C,
    assert_computes_the_same,
    axis,
    column_sums,
    doubled,
    halved_until_small,
    loop,
    row_sums,
    scaled_rows,
)

from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Buffer,
    Const,
    If,
    Kernel,
    Let,
    Load,
    PrivateArray,
    Store,
    Value,
    While,
)
from tinyjax.compile.kernel.substitution import every_statement, rewritten
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.vectorize import Vectorize

SIZES = [1, 15, 16, 17, 1023]


def vectors(kernel, axis_name, width=16):
    return Vectorize(f"{axis_name}_inner", width).apply(Split(axis_name, width).apply(kernel))


def gathered(count, position):
    """y[i1] = x[position(i1)]"""
    x, y = Buffer("x_in", F32, 2 * count, "in"), Buffer("y_out", F32, count, "out")
    i = axis("i1", count)
    return Kernel("k0", [x, y], 1, [loop(i, count, Load(A, x, position(i)), Store(y, i, A))])


# ---- elements ----


def test_a_loop_of_more_iterations_is_split_first():
    assert str(Vectorize("i1", 16).apply(doubled(100))) == str(vectors(doubled(100), "i1"))


@pytest.mark.parametrize("size", SIZES[2:])
def test_the_last_vector_may_overlap_with_the_one_before(size):
    kernel = Vectorize("i1", 16, overlap=True).apply(doubled(size))
    assert "before" not in str(kernel)
    assert_computes_the_same(kernel, doubled(size))


def test_of_several_loops_over_an_axis_all_become_vectors():
    x, y, i = Buffer("x_in", F32, 48, "in"), Buffer("y_out", F32, 48, "out"), axis("i1", 48)
    body = Load(A, x, i), Store(y, i, A)
    first, second = loop(i, 16, *body), replace(loop(i, 48, *body), start=index(16))
    naive = Kernel("k0", [x, y], 1, [first, second])
    assert_computes_the_same(Vectorize("i1", 16).apply(naive), naive)


def test_neighbours_are_loaded_as_vectors_up_to_the_end():
    assert str(vectors(doubled(100), "i1")).splitlines()[1:] == [
        "  for i1_outer in 0 .. 7:",
        "    a:f32 x16 = x_in[i1_outer * 16 x16 before 100]",
        "    b:f32 x16 = add a a",
        "    y_out[i1_outer * 16 x16 before 100] = b",
    ]


def test_whole_chunks_have_no_end():
    assert "before" not in str(vectors(doubled(96), "i1"))


@pytest.mark.parametrize("width", [2, 4, 8, 16])
@pytest.mark.parametrize("size", SIZES)
def test_vectors_compute_the_same(size, width):
    assert_computes_the_same(vectors(doubled(size), "i1", width), doubled(size))


@pytest.mark.parametrize("columns", SIZES[1:])
def test_what_does_not_depend_on_the_axis_stays_a_scalar(columns):
    naive = scaled_rows(3, columns)
    kernel = vectors(naive, "i2")
    assert "b:f32 = row_in[i1]" in str(kernel) and "ramp" in str(kernel)
    assert_computes_the_same(kernel, naive)


# ---- accumulators ----


@pytest.mark.parametrize("columns", SIZES)
@pytest.mark.parametrize("op, initial", [("add", 0.0), ("max", -np.inf), ("max", 3.0)])
def test_lanes_beyond_the_end_leave_their_accumulators_as_they_are(columns, op, initial):
    naive = row_sums(3, columns, op, initial)
    kernel = vectors(naive, "i2")
    assert "acc1:f32 x16 = variable" in str(kernel)
    assert_computes_the_same(kernel, naive)


def test_lanes_are_combined_in_halves():
    lines = str(vectors(row_sums(3, 32), "i2", 4)).splitlines()
    after = [line.strip() for line in lines if "acc1" not in line][4:11]
    assert after == [
        "b_low2:f32 x2 = low b_v4",
        "b_high2:f32 x2 = high b_v4",
        "b_v2:f32 x2 = add b_low2 b_high2",
        "b_low1:f32 = low b_v2",
        "b_high1:f32 = high b_v2",
        "b:f32 = add b_low1 b_high1",
        "c:f32 = add b b",
    ]


def with_dtype(dtype):
    def changed(s):
        is_sum = isinstance(s, Load) and s.target.name == "b"
        return replace(s, target=replace(s.target, dtype=dtype)) if is_sum else s

    return changed


@pytest.mark.parametrize("width, op", [(2, "add"), (8, "max"), (16, "min")])
def test_lanes_of_any_width_are_combined_by_statements_of_their_equation(width, op):
    def with_origin(s):
        return replace(s, origin="the sum") if isinstance(s, Load) and s.target.name == "b" else s

    naive = row_sums(3, 64, op, {"add": 0.0, "max": -np.inf, "min": np.inf}[op])
    naive = replace(naive, body=rewritten(naive.body, with_origin))
    kernel = vectors(naive, "i2", width)
    assert_computes_the_same(kernel, naive)
    found = [s for s in every_statement(kernel.body) if s.origin == "the sum"]
    halvings = width.bit_length() - 1
    assert [getattr(s, "op", "load") for s in found] == ["load", *(["low", "high", op] * halvings)]
    whole = np.dtype("int32")
    naive = replace(naive, body=rewritten(naive.body, with_dtype(whole)))
    found = [s for s in every_statement(vectors(naive, "i2", width).body) if s.origin == "the sum"]
    assert {s.target.dtype for s in found} == {whole}, "lanes have the dtype of the accumulator"


@pytest.mark.parametrize("rows", SIZES[1:])
def test_each_lane_may_have_a_sum_of_its_own(rows):
    columns_first = column_sums(rows, 5)
    kernel = vectors(columns_first, "i1")
    assert "acc1:f32 x16" in str(kernel) and "low" not in str(kernel)
    assert_computes_the_same(kernel, columns_first)


# ---- lanes that go on while others are done ----


@pytest.mark.parametrize("size", SIZES)
def test_a_while_goes_on_as_long_as_any_lane_does(size):
    naive = halved_until_small(size)
    kernel = vectors(naive, "i1")
    assert "any more" in str(kernel) or "any i1_inner_active1" in str(kernel)
    assert_computes_the_same(kernel, naive)


def test_lanes_beyond_the_end_do_not_go_on():
    assert "inside" in str(vectors(halved_until_small(17), "i1"))
    assert "inside" not in str(vectors(halved_until_small(32), "i1"))


def test_what_a_loop_inside_stores_is_its_own_lane():
    (outer,) = halved_until_small(16).body
    inner = outer.body[3]
    z = Buffer("z_out", F32, 16, "out")
    inside = While(inner.head, inner.holds, [*inner.body, Store(z, outer.variable, C)])
    body = [inside if s is inner else s for s in outer.body]
    kernel = Kernel(
        "k0", [*halved_until_small(16).buffers, z], 1, [loop(axis("i1", 16), 16, *body)]
    )
    assert "would store to z_out" in Vectorize("i1", 16).why_not(kernel)


def test_a_loop_within_can_not_end_in_each_lane_by_itself_too():
    (outer,) = halved_until_small(16).body
    inner = outer.body[3]
    body = [replace(s, body=[inner, *s.body]) if s is inner else s for s in outer.body]
    kernel = Kernel("k0", halved_until_small(16).buffers, 1, [loop(axis("i1", 16), 16, *body)])
    assert "a loop within a loop" in Vectorize("i1", 16).why_not(kernel)


@pytest.mark.parametrize("size", SIZES)
def test_all_lanes_may_store_what_is_the_same_in_all(size):
    y, z = Buffer("y_out", F32, size, "out"), Buffer("z_out", F32, 1, "out")
    one, i = Const(np.float32(1), F32), axis("i1", size)
    naive = Kernel("k0", [y, z], 1, [loop(i, size, Store(y, i, one), Store(z, index(0), one))])
    assert_computes_the_same(Vectorize("i1", 16, gather=True).apply(naive), naive)


# ---- what can't be vectors ----


def test_a_count_of_the_iterations_is_not_the_same_in_all_lanes():
    y, count, n = Buffer("y_out", F32, 16, "out"), PrivateArray("n", F32, 1), Value("more", F32)
    i, zero, one = axis("i1", 16), Const(np.float32(0), F32), Const(np.float32(1), F32)
    body = [Load(A, count, index(0)), Let(n, "add", (A, one)), Store(count, index(0), n)]
    naive = [Allocate(count, zero), loop(i, 16, *body, Store(y, i, n))]
    assert "all lanes store to n[0]" in Vectorize("i1", 16).why_not(Kernel("k0", [y], 1, naive))


def test_an_accumulator_that_does_not_begin_with_the_identity_would_count_often():
    kernel = Split("i2", 16).apply(row_sums(3, 32, "add", 1.0))
    assert "each copy would begin with 1.0" in Vectorize("i2_inner", 16).why_not(kernel)


@pytest.mark.parametrize(
    "position, reason",
    [
        (lambda i: i * 2, r"neighbours are apart in memory, at x_in\[i1_inner \* 2\]"),
        (lambda i: index(31) - i, "apart"),
        (lambda i: i // 2, "apart"),
        (lambda i: i.min(7), "apart"),
    ],
)
def test_neighbours_that_are_apart_are_no_vector(position, reason):
    kernel = Split("i1", 16).apply(gathered(32, position))
    with pytest.raises(ValueError, match=reason):
        Vectorize("i1_inner", 16).apply(kernel)


@pytest.mark.parametrize("count", [5, 16, 17, 33, 100])
def test_places_that_begin_anew_at_a_multiple_are_loaded_up_to_the_loops_end(count):
    kernel = gathered(count, lambda i: i % 32 + 1)
    assert_computes_the_same(vectors(kernel, "i1"), kernel)


@pytest.mark.parametrize("count", [15, 16, 17, 100])
@pytest.mark.parametrize(
    "position", [lambda i: i * 2, lambda i: index(i.hi) - i, lambda i: i // 3, lambda i: i.min(7)]
)
def test_what_lies_apart_can_be_loaded_lane_by_lane(count, position):
    naive = gathered(count, position)
    kernel = Split("i1", 16).apply(naive)
    kernel = Vectorize("i1_inner", 16, gather=True).apply(kernel)
    is_even = count == 16 and position(naive.body[0].variable).stride("i1") in (2, -1)
    assert ("a:f32 x16 = vector i1_inner_part1" in str(kernel)) == (not is_even)
    assert_computes_the_same(kernel, naive)


@pytest.mark.parametrize("stride", [1, 2, 8])
def test_elements_in_reverse_are_loaded_forwards(stride):
    naive = gathered(32, lambda i: index(31 * stride) - i * stride)
    x, y = naive.buffers
    load, store = naive.body[0].body
    load = replace(load, memory=replace(x, size=32 * stride))
    body = [replace(naive.body[0], body=[load, store])]
    naive = replace(naive, buffers=[load.memory, y], body=body)
    kernel = Vectorize("i1", 16, gather=True).apply(naive)
    assert "a:f32 x16 = reverse i1_inner_back1" in str(kernel) and "vector" not in str(kernel)
    assert_computes_the_same(kernel, naive)


@pytest.mark.parametrize("stride", [2, 3, 8, 9])
def test_lanes_can_store_at_places_apart(stride):
    naive = gathered(32, lambda i: i * stride)
    x, y = (replace(buffer, size=32 * stride) for buffer in naive.buffers)
    i = naive.body[0].variable
    places = [Load(A, x, i * stride), *(Store(y, i * stride + n, A) for n in range(stride))]
    naive = replace(naive, buffers=[x, y], body=[loop(i, 32, *places)])
    kernel = Vectorize("i1_inner", 16, gather=True).apply(Split("i1", 16).apply(naive))
    assert f"y_out[i1_outer * {16 * stride} x16 by {stride}] = a" in str(kernel)
    assert_computes_the_same(kernel, naive)


def test_lanes_at_places_from_data_look_them_up_one_by_one():
    indices = Buffer("i_in", np.dtype("int32"), 21, "in")
    x, y = Buffer("x_in", F32, 64, "in"), Buffer("y_out", F32, 21, "out")
    i, n, at = axis("i1", 21), Value("n", np.dtype("int32")), Value("at", np.dtype("int32"))
    body = [Load(n, indices, i), Let(at, "max", (n, Const(np.int32(0), n.dtype)))]
    body += [Load(A, x, index_var("at", 0, 63)), Store(y, i, A)]
    naive = Kernel("k0", [indices, x, y], 1, [loop(i, 21, *body)])
    kernel = Vectorize("i1_inner", 16, gather=True).apply(Split("i1", 16).apply(naive))
    assert "i1_inner_place1:i32 = lane at 0" in str(kernel)
    assert_computes_the_same(kernel, naive)


def test_a_place_that_an_iteration_stores_is_that_of_its_lane():
    int32 = np.dtype("int32")
    x, y = Buffer("x_in", F32, 16, "in"), Buffer("y_out", F32, 16, "out")
    i, place = axis("i1", 16), PrivateArray("p", int32, 1)
    number, u = Value("n", int32), Value("u", int32)
    body = [Allocate(place, None), Let(number, "convert", (i,)), Store(place, index(0), number)]
    body += [Load(u, place, index(0)), Load(A, x, index_var("u", 0, 15)), Store(y, i, A)]
    naive = Kernel("k0", [x, y], 1, [loop(i, 16, *body)])
    assert_computes_the_same(Vectorize("i1", 16, gather=True).apply(naive), naive)


def body_of_16(*body, dtype=F32):
    x, y = Buffer("x_in", dtype, 16, "in"), Buffer("y_out", dtype, 16, "out")
    i, a = axis("i1", 16), Value("a", dtype)
    return Kernel("k0", [x, y], 1, [loop(i, 16, Load(a, x, i), *body, Store(y, i, a))])


def test_a_place_from_data_differs_in_each_lane():
    number, x = Value("n", np.dtype("int32")), Buffer("x_in", F32, 16, "in")
    at = index_var("n", 0, 15)
    kernel = body_of_16(Let(number, "convert", (A,)), Load(B, x, at))
    assert "apart in memory, at x_in[n]" in Vectorize("i1", 16).why_not(kernel)


def number_from_data(position):
    """y[i1] = position(n), where n is x[i1] as an integer"""
    number, i = Value("n", np.dtype("int32")), axis("i1", 16)
    x, y = Buffer("x_in", F32, 16, "in"), Buffer("y_out", F32, 16, "out")
    of_data = Let(B, "convert", (position(index_var("n", 0, 15)),))
    body = [Load(A, x, i), Let(number, "convert", (A,)), of_data, Store(y, i, B)]
    return Kernel("k0", [x, y], 1, [loop(i, 16, *body)])


def test_a_number_from_data_is_an_operand_of_each_lane():
    kernel = number_from_data(lambda n: n)
    assert_computes_the_same(Vectorize("i1", 16).apply(kernel), kernel)


def test_a_number_that_is_loaded_is_an_operand_too():
    number, i = Value("n", np.dtype("int32")), axis("i1", 16)
    x, y = Buffer("x_in", number.dtype, 16, "in"), Buffer("y_out", F32, 16, "out")
    of_number = Let(B, "convert", (index_var("n", 0, 15),))
    kernel = Kernel("k0", [x, y], 1, [loop(i, 16, Load(number, x, i), of_number, Store(y, i, B))])
    assert_computes_the_same(Vectorize("i1", 16).apply(kernel), kernel)


def test_what_is_computed_from_such_a_number_is_no_vector():
    kernel = number_from_data(lambda n: n * 2 + 1)
    assert "differs between lanes" in Vectorize("i1", 16).why_not(kernel)


def test_lanes_do_not_part():
    true = Value("t1", np.dtype(bool))
    less = Let(true, "lt", (A, A))
    assert "go different ways" in Vectorize("i1", 16).why_not(body_of_16(less, If(true, [])))


def test_lanes_do_not_load_what_others_store():
    y = Buffer("y_out", F32, 16, "out")
    kernel = body_of_16(Load(B, y, index(0)))
    assert "what others store in y_out" in Vectorize("i1", 16).why_not(kernel)


def test_uniform_values_are_repeated_wherever_they_are_stored():
    y, z = Buffer("y_out", F32, 16, "out"), Buffer("z_out", F32, 16, "out")
    zero, i = Const(np.float32(0), F32), axis("i1", 16)
    naive = Kernel("k0", [y, z], 1, [loop(i, 16, Store(y, i, zero), Store(z, i, zero))])
    assert_computes_the_same(Vectorize("i1", 16).apply(naive), naive)


def test_all_lanes_can_not_store_to_one_element():
    y = Buffer("y_out", F32, 16, "out")
    kernel = body_of_16(Store(y, index(3), A))
    assert "all lanes store to y_out[3]" in Vectorize("i1", 16).why_not(kernel)


@pytest.mark.parametrize(
    "kernel, directive, reason",
    [
        (doubled(100), Vectorize("i2", 16), "no axis 'i2'; its axes are i1"),
        (doubled(6), Vectorize("i1", 3), "2, 4, 8 or 16 elements"),
    ],
)
def test_what_can_not_be_vectors_says_why(kernel, directive, reason):
    assert reason in directive.why_not(kernel)


def test_chunks_that_begin_within_a_vector_are_not_split_again():
    kernel = Split("i1", 40).apply(doubled(100))
    assert "no multiple of 16" in Vectorize("i1_inner", 16).why_not(kernel)


def test_lanes_beyond_the_end_load_nothing_that_was_not_stored():
    x, y, kept = (
        Buffer("x_in", F32, 20, "in"),
        Buffer("y_out", F32, 20, "out"),
        PrivateArray("kept", F32, 32),
    )
    i, j = axis("i1", 20), axis("i2", 20)
    first, second = (
        loop(i, 20, Load(A, x, i), Store(kept, i, A)),
        loop(j, 20, Load(B, kept, j), Store(y, j, B)),
    )
    kernel = Kernel("k0", [x, y], 1, [Allocate(kept, None), first, second])
    part = Vectorize("i2", 16).apply(kernel)
    assert "kept[i2_outer * 16 x16 before 20]" in str(part)
    assert_computes_the_same(part, kernel)
    both = Vectorize("i2", 16).apply(Vectorize("i1", 16).apply(kernel))
    assert_computes_the_same(both, kernel)


def test_vectors_have_no_lanes_that_are_vectors():
    kernel = vectors(scaled_rows(16, 32), "i2")
    assert "vectors already" in Vectorize("i1", 16).why_not(kernel)


def test_an_iteration_that_loads_what_others_leave_is_left():
    kernel = row_sums(2, 16)
    kernel.body[0].body[1].body.append(Load(Value("d", F32), ACC, index(0)))
    assert "loads acc1" in Vectorize("i2", 16).why_not(kernel)
