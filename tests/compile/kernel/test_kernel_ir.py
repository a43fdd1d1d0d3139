"""The kernel language as text."""

import numpy as np
from small_kernels import OUT, A, B, X, kernel, loop, reversed_in_groups

from tinyjax.compile.kernel.check_kernel import check_kernel
from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.kernel_ir import (
    Barrier,
    If,
    Let,
    Load,
    Store,
    Value,
    While,
    statements_of,
)


def test_a_kernel_prints_one_statement_a_line():
    body = kernel(loop(lambda i: i, Let(B, "sin", (A,))))
    assert str(body).splitlines() == [
        "kernel k0(x_in: f32[8], y_out: f32[8]), work-items: 1",
        "  for i1 in 0 .. 8:",
        "    a:f32 = x_in[i1]",
        "    b:f32 = sin a",
        "    y_out[i1] = a",
    ]


def test_a_kernel_of_work_groups_says_what_is_shared():
    assert str(reversed_in_groups(Barrier())).splitlines() == [
        "kernel k0(x_in: f32[8], y_out: f32[8]), work-items: 8 in groups of 4",
        "  tile:f32 = 4 elements, one for the group",
        "  a:f32 = x_in[group_id * 4 + local_id]",
        "  tile[local_id] = a",
        "  barrier",
        "  b:f32 = tile[3 - local_id]",
        "  y_out[group_id * 4 + local_id] = b",
    ]


# ---- loops without a known length, choices, vectors ----


def test_loops_and_choices_print_their_bodies():
    holds = Value("h", np.dtype(bool))
    test = Let(holds, "lt", (A, A))
    store = Store(OUT, index(0), A)
    body = kernel(Load(A, X, index(0)), While([test], holds, [If(holds, [store], [store])]))
    assert str(body).splitlines()[2:] == [
        "  while:",
        "    h:bool = lt a a",
        "    stop unless h",
        "    if h:",
        "      y_out[0] = a",
        "    else:",
        "      y_out[0] = a",
    ]
    check_kernel(body)


def test_a_statement_knows_the_equation_it_was_made_for_and_equals_one_made_for_another():
    with statements_of("sin a"):
        with statements_of("mul a b"):
            inner = Let(B, "mul", (A, A))
        outer = Let(B, "sin", (A,))
    assert (inner.origin, outer.origin, Let(B, "sin", (A,)).origin) == ("mul a b", "sin a", None)
    assert outer == Let(B, "sin", (A,))
