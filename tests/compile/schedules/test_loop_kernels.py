import re

import numpy as np
import pytest
from loop_kernels import agree, assert_close, floats, interpreted, loop_of, plan_of

import tinyjax as jax
from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.compile.codegen.program import program_text
from tinyjax.compile.schedules.loop_kernels import LAUNCH_WORK
from tinyjax.compile.target import GPU
from tinyjax.core.dtypes import bfloat16

# ---- elementwise loops ----


def escape_time(real, imaginary):
    def is_inside(state):
        x, y, count = state
        return (count < 20) & (x * x + y * y <= 4.0)

    def step(state):
        x, y, count = state
        return x * x - y * y + real, 2 * x * y + imaginary, count + 1

    return lax.while_loop(is_inside, step, (0 * real, 0 * imaginary, 0))[2]


def decayed(decay, state, inputs):
    def step(state, x):
        state = decay * state + x
        return state, state

    return lax.scan(step, state, inputs)


def test_a_vmapped_while_loop_is_one_vectorized_kernel():
    kernel = loop_of(jax.vmap(escape_time), floats(40), floats(40))
    assert kernel.form == "elementwise, vectorized by 16"
    text = program_text([kernel])
    assert "float16" in text and "tj_any16(" in text


@pytest.mark.parametrize("size", [5, 37])
def test_lanes_that_leave_a_loop_by_themselves_sum_inside_it(size):
    def normalized(x):
        step = lambda x: x * 0.75 + jnp.sum(x * x) / 100  # noqa: E731
        return lax.while_loop(lambda x: jnp.sum(x * x) > 1, step, x)

    x = floats(size, 6)
    assert "vectorized by" in loop_of(jax.vmap(normalized), x).form
    agree(jax.vmap(normalized), x)


def test_on_a_gpu_every_element_is_a_work_item():
    kernel = loop_of(jax.vmap(escape_time), floats(40), floats(40), target=GPU)
    assert (kernel.form, kernel.items) == ("elementwise", 256)
    assert "float16" not in program_text([kernel])


@pytest.mark.parametrize("size", [1, 3, 16, 37])
def test_elements_go_on_until_their_own_condition_fails(size):
    agree(jax.vmap(escape_time), floats(size) * 2, floats(size))


def test_a_loop_whose_length_is_an_argument():
    agree(lambda n, x: lax.fori_loop(0, n, lambda i, x: x * 0.5 + i, x), 5, floats(40))


@pytest.mark.parametrize("size", [5, 16, 21])
def test_a_scan_reads_and_writes_its_rows_in_place(size):
    agree(decayed, floats(size), floats(size), floats(4, size))


def test_the_kernel_of_a_scan_is_a_loop_over_registers():
    lines = str(loop_of(decayed, floats(16), floats(16), floats(9, 16))).splitlines()
    assert [line.strip() for line in lines[1:]] == [
        "carry_1:f32 x16 = variable",
        "t1:f32 x16 = b_in[0 x16]",
        "carry_1 = t1",
        "f:f32 x16 = a_in[0 x16]",
        "for i2 in 0 .. 9:",
        "h:f32 x16 = c_in[i2 * 16 x16]",
        "g:f32 x16 = carry_1",
        "i3:f32 x16 = mul f g",
        "j:f32 x16 = add i3 h",
        "out1[i2 * 16 x16] = j",
        "carry_1 = j",
        "t4:f32 x16 = carry_1",
        "out0[0 x16] = t4",
    ]


def test_a_scan_backwards():
    agree(
        lambda x, xs: lax.scan(lambda c, x: (c + x, c), x, xs, reverse=True),
        floats(7),
        floats(3, 7),
    )


def test_scalars_of_the_carry_are_the_same_for_all_elements():
    def step(carry, x):
        vector, scalar = carry
        return (vector * x, scalar + x), (scalar, vector)

    agree(lambda v, xs: lax.scan(step, (v, jnp.float32(0)), xs), floats(40), floats(40))


def test_rows_that_repeat_a_scalar():
    f = lambda c, xs: lax.scan(lambda c, x: (c + x, jnp.broadcast_to(x, c.shape)), c, xs)  # noqa: E731
    agree(f, floats(20), floats(4))


def test_a_scan_that_can_be_stopped(monkeypatch):
    monkeypatch.setattr("tinyjax.compile.schedules.loop_kernels.LAUNCH_WORK", 1)

    def step(carry, x):
        vector, scalar = carry
        return (vector * scalar, scalar + x), scalar

    f = lambda v, xs: lax.scan(step, (v, jnp.float32(0)), xs)  # noqa: E731
    agree(f, floats(40), floats(6))


def test_carries_may_be_passed_through_swapped_and_start_alike():
    def step(carry, _):
        a, b, c, d = carry
        return (a, c, b, d + a), None

    f = lambda x: lax.scan(step, (x, x, x * 2, x), None, length=3)[0]  # noqa: E731
    agree(f, floats(20))
    agree(lambda x: f(x)[1][::-1], floats(5))


@pytest.mark.parametrize("start", [0, 7])
def test_a_while_loop_may_run_zero_times(start):
    f = lambda i, x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2), (i, x))  # noqa: E731
    agree(f, start, floats(5))
    agree(jax.vmap(f), np.array([start, 9]), floats(2))


def test_a_condition_that_is_nan_does_not_hold():
    x = np.array([1, np.nan, 0, -2, 5], np.float32)
    agree(jax.vmap(lambda x: lax.while_loop(lambda x: x < 3, lambda x: x + 1, x)), x)


@pytest.mark.parametrize("dtype", "int8 uint8 int16 int32 uint32 float16 bfloat16 float32".split())
def test_carries_of_any_dtype(dtype):
    dtype = bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    x = (floats(20) * 50).astype(dtype)
    agree(lambda x: lax.scan(lambda c, _: (c * x + 3, c - x), x, None, length=3), x, rtol=1e-2)


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64"])
def test_carries_of_64_bits(dtype):
    def step(c, x):
        return jnp.where(c > x, c - 1, c * x), c

    x = (floats(20) * 50).astype(dtype)
    with jax.enable_x64(True):
        agree(lambda x: lax.scan(lambda c, _: step(c, x), x, None, length=3), x)


def test_booleans_in_vectors():
    x, y = floats(5) > 0, floats(4, 5) < 0
    agree(lambda x, ys: lax.scan(lambda c, y: ((c & y) | ~c, c ^ y), x, ys), x, y)


def test_functions_in_vectors():
    def step(x, _):
        return jnp.tanh(x) + jnp.exp(-x) + jnp.log1p(x * x) + jnp.sin(x) + jnp.expm1(x / 4), x

    agree(lambda x: lax.scan(step, x, None, length=3), floats(20), rtol=1e-5)


def test_a_branch_and_a_scan_inside():
    def step(x, i):
        x = lax.cond(i % 2 == 0, lambda x: x + 1, lambda x: x * 2, x)
        return lax.fori_loop(0, 3, lambda _, x: x * 0.9, x), None

    agree(lambda x: lax.scan(step, x, np.arange(4))[0], floats(20))


# ---- what is computed before the first iteration ----


def test_mandelbrot_over_two_axes_is_one_launch():
    f = jax.vmap(jax.vmap(escape_time, (0, None)), (None, 0))
    real, imaginary = 2 * floats(9), floats(7)
    plan = plan_of(f, real, imaginary)
    assert [kernel.form for kernel in plan.kernels.values()] == ["elementwise, vectorized by 16"]
    agree(f, real, imaginary)
    agree(f, real, imaginary)


def test_initial_values_that_are_cheap_are_made_in_the_loops_kernel():
    def f(x):
        start = jnp.zeros(21), jnp.arange(21), x > 0, 2 * x[::-1], jnp.full(21, x[3])
        step = lambda i, c: (c[0] + c[3], c[1] * 2 + i, ~c[2], c[3] + c[4], c[4] * 2)  # noqa: E731
        return lax.fori_loop(0, 3, step, start)

    assert len(plan_of(f, floats(21)).groups) == 1
    agree(f, floats(21))
    agree(f, floats(21))


def test_a_sequential_loop_makes_its_initial_values_too():
    f = lambda x, xs: lax.scan(  # noqa: E731
        lambda c, x: (c[::-1] + x, c.sum()), jnp.zeros(5) + x, xs
    )
    assert len(plan_of(f, np.float32(3), floats(4, 5)).groups) == 1
    agree(f, np.float32(3), floats(4, 5))


def test_initial_values_that_are_costly_or_of_several_arrays_are_stored():
    f = lambda start, x: lax.fori_loop(0, 3, lambda i, c: c * x, start)  # noqa: E731
    assert len(plan_of(lambda x: f(jnp.sin(x), x), floats(21)).groups) == 2
    assert len(plan_of(lambda x, y: f(x + y, x), floats(21), floats(21)).groups) == 2


def test_what_is_read_at_other_places_but_the_same_in_all_iterations_is_read_once():
    def f(x, row, column):
        def step(i, c):
            return c * row[::-1] + column[:, None] * (row > 0) + lax.iota(np.int32, 9) - x.T

        return lax.fori_loop(0, 4, step, x)

    args = floats(9, 9), floats(9), floats(9)
    lines = str(loop_of(f, *args)).splitlines()
    iterations = next(i for i, line in enumerate(lines) if ".. 4" in line)
    assert "_in[" in str(lines[:iterations]) and "_in[" not in str(lines[iterations:])
    agree(f, *args, rtol=1e-5)


def test_a_loop_of_steps_has_its_operands_in_memory():
    step = lambda i, c: jnp.sort(c) + lax.iota(np.float32, 5)  # noqa: E731
    f = jax.jit(lambda x: lax.fori_loop(0, 3, step, jnp.zeros(5) + x))
    np.testing.assert_allclose(f(2.0), [2.0, 5.0, 8.0, 11.0, 14.0])


# ---- sequential loops ----


def rnn(w, u, b, state, inputs):
    def step(state, x):
        state = jnp.tanh(w @ x + u @ state + b)
        return state, state

    return lax.scan(step, state, inputs)


RNN_ARGS = (floats(5, 5), floats(5, 5)[::-1], floats(5), floats(5), floats(4, 5))


def test_a_body_that_mixes_elements_runs_sequentially():
    kernel = loop_of(rnn, *RNN_ARGS)
    assert re.fullmatch(r"sequential: an iteration has \d+ elements", kernel.form)
    agree(rnn, *RNN_ARGS, rtol=1e-5)


def test_the_gradient_of_a_scan_sums_up_in_private_arrays():
    f = jax.grad(lambda *args: jnp.sum(rnn(*args)[1] ** 2), argnums=(0, 1, 2))
    agree(f, *RNN_ARGS, rtol=1e-5)


def test_products_in_a_loop_read_neighbouring_elements():
    text = str(loop_of(rnn, *RNN_ARGS))
    assert (
        "= b_[i" not in text
    )  # all reads of the weights in the loop are to rows of the transposed
    inner = re.findall(r"for (i\d+) in 0 .. 5:\n(?:(?!for).*\n)*?.*mul", text)
    assert inner


def test_weights_that_are_read_by_columns_are_packed_before_a_while_too():
    step = lambda w: lambda x: jnp.tanh(w @ x)  # noqa: E731
    f = lambda w, x: lax.while_loop(lambda x: x.sum() > 0.1, step(w), x)  # noqa: E731
    args = np.abs(floats(9, 9)) / 9, np.abs(floats(9))
    before, _ = str(loop_of(f, *args)).split("while, unless stopped:")
    assert "panel1[" in before
    agree(f, *args, rtol=1e-5)


@pytest.mark.parametrize("size", [16, 17, 20, 27])
def test_products_of_any_size_in_a_loop(size):
    args = floats(size, size), floats(size, size), floats(size), floats(size), floats(3, size)
    agree(rnn, *args, rtol=1e-4)


def test_sums_over_a_carry_that_fills_no_whole_vectors():
    f = lambda x: lax.scan(lambda c, _: (c[::-1] * 0.5, c.sum()), x, None, length=3)  # noqa: E731
    for size in (32, 33, 40, 100):
        agree(f, floats(size), rtol=1e-5)


def test_a_new_carry_is_stored_over_the_old_one_where_nothing_else_reads_that():
    kernel = loop_of(lambda x: lax.scan(lambda c, x: (c + x.sum(), None), x, x)[0], floats(3, 3))
    assert "new_" not in str(kernel)
    reversing = lambda x: lax.scan(lambda c, _: (c[::-1] + 1, c), x, None, length=3)  # noqa: E731
    assert "new_" in str(loop_of(reversing, floats(5)))
    agree(reversing, floats(5))


def test_a_chain_of_updates_and_loops_changes_a_carry_in_place():
    def visit(x, i):
        is_new = x[i] > 0
        x = x.at[i].set(jnp.where(is_new, x[0] + 1, x[i]))
        halve = lambda s: (s[0].at[s[1]].multiply(0.5), s[1] - 1)  # noqa: E731
        x, at = lax.while_loop(lambda s: s[1] > i, halve, (x, 5))
        x = lax.fori_loop(0, 2, lambda k, x: x.at[k].add(x[k + 1]), x)
        return x.at[at].set(x[1]), (is_new, at)

    f = lambda x, at: lax.scan(visit, x, at)  # noqa: E731
    args = floats(9), np.array([1, 3, 8, 3])
    text = str(loop_of(f, *args))
    assert text.count(" = 9 elements") == 1
    agree(f, *args, rtol=1e-6)


@pytest.mark.parametrize(
    "body",
    [
        lambda x, y: x.at[1].set(2.0) + x[::-1],  # the old array is read afterwards
        lambda x, y: x.at[1].set(2.0).at[y.sum().astype(int) % 5].set(x[1]),
        lambda x, y: lax.fori_loop(0, 3, lambda i, y: y.at[i].set(x[i + 1]), x),  # and meanwhile
        lambda x, y: lax.fori_loop(0, 3, lambda i, s: (s[1] + 1, s[0][::-1]), (x, x))[0],
        lambda x, y: lax.fori_loop(0, 3, lambda i, z: z.at[i].add(x[i]), y + x).at[0].set(x[4]),
    ],
)
def test_an_array_that_is_read_again_is_not_changed_in_place(body):
    f = lambda x, y: lax.scan(lambda x, _: (body(x, y), x.sum()), x, None, length=3)  # noqa: E731
    agree(f, floats(5), floats(5), rtol=1e-5)
    g = lambda x, y: lax.scan(lambda s, _: ((body(*s), s[0]), s[0]), (x, y), None, length=3)  # noqa: E731
    agree(g, floats(5), floats(5), rtol=1e-5)


def test_each_example_stops_by_itself_in_a_loop_of_vectors():
    f = lambda x: lax.while_loop(lambda x: x.sum() < 3, lambda x: x * 1.5 + 0.2, x)  # noqa: E731
    agree(jax.vmap(f), np.abs(floats(4, 3)), rtol=1e-5)


def test_a_condition_that_is_carried():
    f = lambda x: lax.while_loop(lambda s: s[0], lambda s: (s[1].sum() < 2, s[1] + 1), (True, x))  # noqa: E731
    agree(jax.vmap(f), np.abs(floats(4, 3)))


def test_loops_and_branches_inside():
    def step(x, i):
        x = lax.cond(i > 1, lambda x: x[::-1] + 1, lambda x: x * x.sum(), x)
        _, rows = lax.scan(lambda c, y: (c + y, c * x), jnp.float32(0), x)
        return rows.sum(0), rows

    agree(lambda x: lax.scan(step, x, np.arange(4)), floats(3), rtol=1e-5)


def newton_roots(x):
    def root(guess, x):
        def is_far(r):
            return jnp.abs(r * r - x) > 1e-4 * x

        guess = lax.while_loop(is_far, lambda r: (r + x / r) / 2, guess)
        return guess, guess

    return lax.scan(root, jnp.float32(1), x)


def test_loops_of_unknown_length_inside_can_be_stopped_too():
    kernel = loop_of(newton_roots, np.abs(floats(6)))
    assert str(kernel).count(", unless stopped:") == 2
    agree(newton_roots, np.abs(floats(6)) * 1000, rtol=1e-5)
    counting = lambda n: lax.while_loop(lambda i: i < n, lambda i: i + 1, 0)  # noqa: E731
    step = lambda s, n: (s[0] + 1, s[1] + counting(n))  # noqa: E731
    f = lambda n: lax.while_loop(lambda s: s[0] < 4, lambda s: step(s, n), (0, 0))  # noqa: E731
    agree(f, 7)
    agree(jax.vmap(newton_roots), np.abs(floats(2, 3)), rtol=1e-5)


def test_the_same_loop_or_branch_several_times_in_a_body():
    def sums(c, x):
        return c + x, c * x

    def step(c, xs):
        first, _ = lax.scan(sums, c, xs[:1])
        second, _ = lax.scan(sums, c * 2, xs[:1])
        c, ys = lax.scan(sums, first - second, xs)
        return lax.switch(jnp.int32(c.sum()), [jnp.sin, jnp.cos, jnp.sin], c), ys

    agree(lambda x, xs: lax.scan(step, x, xs), floats(2), floats(3, 4, 2))
    agree(lambda x, xs: lax.scan(step, x, xs), floats(1)[0], floats(3, 4))


def test_a_branch_by_itself():
    branches = [lambda x: (x + 1, 1), lambda x: (x[::-1], 2), lambda x: (x, 3)]
    for i in (-1, 0, 1, 2, 5):
        agree(lambda i, x: lax.switch(i, branches, x), np.int32(i), floats(5))


def test_scalars_need_no_arrays():
    agree(
        lambda x, xs: lax.scan(lambda c, x: (jnp.sin(c) + x, c), x, xs), np.float32(0.3), floats(9)
    )


# ---- what is no kernel, and how long a launch is ----


def test_an_index_into_a_single_element_of_the_carry():
    def step(x, i):
        return jnp.roll(x, 1) + x[i % 1 + jnp.arange(1)], x[i]

    agree(lambda x: lax.scan(step, x, np.arange(3)), floats(1))


def test_a_loop_inside_without_iterations():
    def step(x, _):
        y, ys = lax.scan(lambda c, i: (c + i.sum(), c), x[0], x[:0])
        return x[::-1] * y, ys

    f = lambda x: lax.scan(step, x, None, length=3)  # noqa: E731
    assert "without elements" in loop_of(f, floats(5))
    assert_close(jax.tree.leaves(jax.jit(f)(floats(5))), f(floats(5)), 1e-6)


def test_a_loop_that_is_no_kernel_has_a_reason():
    large = floats(600, 600)
    assert "too many for one work-item" in loop_of(
        lambda x: lax.scan(lambda c, _: (c[::-1] + c.sum(), None), x, None, length=3)[0], large
    )
    assert "sort runs on the host" in loop_of(
        lambda x: lax.scan(lambda c, _: (lax.sort((c, c), num_keys=2)[0], None), x, None, length=3)[
            0
        ],
        floats(5),
    )


@pytest.mark.parametrize("part", [lambda v: v[::-1], lambda v: jnp.tile(v, (4, 1)).T])
def test_a_loop_within_a_loop_reads_what_is_the_same_in_every_round(part):
    def f(rows, v):
        step = lambda c, x: (c * 0.5 + x, None)  # noqa: E731
        return lax.map(lambda row: lax.scan(step, row, part(v))[0], rows)

    rows, v = floats(3, 4), floats(5)
    np.testing.assert_allclose(jax.jit(f)(rows, v), f(rows, v), rtol=1e-6)


def is_stoppable(kernel):
    return ", unless stopped:" in str(kernel)


def test_what_may_run_long_can_be_stopped():
    assert not is_stoppable(loop_of(decayed, floats(16), floats(16), floats(9, 16)))
    f = lambda n, x: lax.fori_loop(0, n, lambda i, x: x + 1, x)  # noqa: E731
    assert is_stoppable(loop_of(f, 3, floats(5)))
    f = lambda x: lax.fori_loop(0, 2 * LAUNCH_WORK, lambda i, x: x + 1, x)  # noqa: E731
    assert is_stoppable(loop_of(f, floats(5)))


def test_a_loop_with_any_schedule_can_be_stopped():
    f = lambda n, x: lax.fori_loop(0, n, lambda i, x: x + 1, x)  # noqa: E731
    assert is_stoppable(jax.jit(f).lower(3, floats(5)).with_schedule("k0", []).as_text("kernel"))


@pytest.mark.parametrize("count", [8, 17])  # one vector, several
def test_a_while_before_a_loop_in_vectors_can_be_stopped(count):
    def f(numbers, x):
        count_down = lambda n: lax.while_loop(lambda n: n > 1, lambda n: n // 2, n)  # noqa: E731
        return lax.map(lambda _: jax.vmap(count_down)(numbers), x)

    agree(f, np.int32([7]), floats(count))
    assert is_stoppable(loop_of(f, np.int32([7]), floats(count)))


def test_the_schedule_says_which_form_was_chosen():
    text = jax.jit(decayed).lower(floats(16), floats(16), floats(9, 16)).as_text("schedule")
    assert "one kernel, elementwise, vectorized by 16" in text


def test_sums_of_sums_advance_together():
    """An axis takes part in two interchanges: what is left of it then has two names."""
    power = jax.vmap(lambda x: jnp.linalg.matrix_power(x @ x.T / 16, 2))
    f = lambda x, n: lax.scan(lambda c, i: (c, power(x) + i), n[0], n)[1]  # noqa: E731
    x, n = floats(3, 3, 3), np.arange(4, dtype=np.float32)
    np.testing.assert_allclose(jax.jit(f)(x, n), f(x, n), rtol=1e-5)


def test_rows_that_repeat_in_the_last_vector_are_not_neighbours():
    """Of 257 elements the last vector begins at 249, within a row of 16."""
    x = np.arange(16, dtype=np.float32) / 16
    xs = np.ones((3, 257), np.float32)

    def f(x):
        return jax.lax.scan(lambda c, x: (jnp.tanh(x * c / 2), c[-1]), jnp.resize(x, (257,)), xs)

    np.testing.assert_allclose(jax.jit(f)(x)[0], f(x)[0], rtol=1e-5)


def test_a_sum_of_functions_of_products_is_in_vectors():
    """The products are kept; the last vector is a part of one."""

    def f(x, w):
        def step(w, _):
            return w * 0.9, jnp.log1p(jnp.exp(-jnp.abs(x @ w))).sum()

        return lax.scan(step, w, None, length=3)[1]

    x, w = floats(100, 12), floats(12)
    assert ":f32 x16 = log1p" in str(loop_of(f, x, w))
    np.testing.assert_allclose(jax.jit(f)(x, w), f(x, w), rtol=1e-5)


def in_three_steps(step, *args):
    """How many sums of the loop's body advance together."""
    f = lambda c, *consts: lax.fori_loop(0, 3, lambda i, c: step(c, *consts), c)  # noqa: E731
    agree(f, *args, rtol=1e-5)
    return str(loop_of(f, *args).schedule).count("Reorder(")


def test_rows_advance_together_even_if_each_first_reads_its_maximum():
    def step(c, w):
        return jax.nn.logsumexp(c + w, 1)

    assert in_three_steps(step, floats(20), floats(20, 20)) == 2


@pytest.mark.parametrize("shape", [(4, 64), (12, 32)])
def test_long_rows_of_neighbours_have_lanes_of_their_own(shape):
    assert in_three_steps(jax.nn.softmax, floats(*shape)) == 0


def test_the_iterations_of_a_scan_without_a_carry_are_shared_out_among_work_items():
    def volumes(a):
        return lax.map(lambda a: jnp.linalg.det(a @ a + jnp.eye(16)), a)

    a = floats(12, 16, 16) / 10
    assert loop_of(volumes, a).items > 1
    assert_close(interpreted(volumes, a), volumes(a), 1e-5)
    assert_close([jax.jit(volumes)(a)], volumes(a), 1e-5)


# ---- complex numbers ----


def numbers(*shape):
    return floats(*shape) + 1j * floats(*shape, 2)[..., 0]


def rotated(decay, state, inputs):
    def step(state, x):
        state = lax.cond(x.real > 0, lambda z: z * decay + x, lambda z: z / (2 + 1j), state)
        return state, (jnp.abs(state), state)

    return lax.scan(step, state, inputs, reverse=True)


def turned(matrix, state):
    return lax.fori_loop(0, 5, lambda _, z: matrix @ z, state)


def newton(z):
    step = lambda _, z: z - (z * z * z - 1) / (3 * z * z)  # noqa: E731
    return lax.fori_loop(0, 5, step, z)


def escaped(c):
    def step(state):
        z, count = state
        return z * z + c, count + 1

    return lax.while_loop(lambda s: (jnp.abs(s[0]) < 2) & (s[1] < 9), step, (0 * c, 0))


@pytest.mark.parametrize(
    "f, shapes, form",
    [
        (newton, [(40,)], "elementwise"),
        (jax.vmap(escaped), [(37,)], "elementwise"),
        (jax.vmap(turned, (None, 0)), [(3, 3), (20, 3)], "by example"),
        (jax.vmap(lambda z: escaped(z.sum())), [(20, 3)], "elementwise"),
        (turned, [(5, 5), (5,)], "sequential"),
        (rotated, [(), (), (7,)], "sequential"),
        (rotated, [(3,), (3,), (7,)], "elementwise"),
    ],
)
def test_a_loop_of_complex_numbers_is_one_kernel(f, shapes, form):
    args = [numbers(*shape) for shape in shapes]
    assert loop_of(f, *args).form.startswith(form)
    agree(f, *args, rtol=1e-5)


def test_complex_products_of_infinite_parts_in_a_loop_are_those_outside():
    f = lambda z, w: lax.scan(lambda z, _: (z * w, z), z, None, 3)[1]  # noqa: E731
    z = np.complex64([complex(a, b) for a in (np.inf, np.nan, -0.0) for b in (-np.inf, 0.0, 2.0)])
    agree(f, z, z[::-1].copy())


def test_a_loop_of_very_many_statements_is_not_one_kernel():
    def step(c, x):
        for n in range(400):
            c = jnp.roll(c * n, n % 3) + x
        return c, None

    reason = loop_of(lambda c, x: lax.scan(step, c, x), floats(2, 5), floats(3, 5))
    assert "statements, too many for one work-item" in reason
