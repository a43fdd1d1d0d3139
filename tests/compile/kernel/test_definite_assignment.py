from dataclasses import replace

import numpy as np
import pytest
from definite_assignment import check_assignment
from stored_elements import MAX_ITERATIONS

from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Buffer,
    Const,
    For,
    If,
    IfLast,
    Kernel,
    KernelError,
    Let,
    Load,
    PrivateArray,
    Store,
    Value,
    While,
    item_index,
)

F32, INT32, BOOL = map(np.dtype, ("float32", "int32", "bool"))
X, OUT = Buffer("x_in", F32, 8, "in"), Buffer("y_out", F32, 8, "out")
A, ONE = Value("a", F32), Const(1.0, F32)
KEPT = PrivateArray("kept", F32, 8)
ROW, COLUMN = index_var("i1", 0, 7), index_var("i2", 0, 7)


def check(*body, buffers=(X, OUT), items=1):
    check_assignment(Kernel("k0", list(buffers), items, list(body)))


def refused(text, *body, **kinds):
    with pytest.raises(KernelError, match=text):
        check(*body, **kinds)


def loop(variable, *body, stop=8):
    return For(variable, index(0), index(stop), list(body))


ALL = loop(ROW, Store(OUT, ROW, ONE))


def test_all_of_an_output_is_stored():
    check(ALL)
    refused("not every element of y_out is stored", loop(ROW, Store(OUT, ROW, ONE), stop=7))


def test_each_row_has_its_own_place():
    rows = index_var("i3", 0, 1)
    check(loop(rows, loop(ROW, Store(OUT, rows * 4 + ROW, ONE), stop=4), stop=2))
    refused("y_out", loop(rows, loop(ROW, Store(OUT, ROW, ONE), stop=4), stop=2))


def test_what_takes_too_long_to_prove_is_not_checked():
    count = 2 * MAX_ITERATIONS
    rows, out = index_var("i1", 0, count - 1), Buffer("y_out", F32, 2 * count, "out")
    check(loop(rows, Store(out, rows * 2, ONE), stop=count), buffers=[out])


def test_work_items_share_an_output_out():
    item = item_index(4)
    check(For(ROW, item * 2, item * 2 + 2, [Store(OUT, ROW, ONE)]), items=4)
    refused("y_out", For(ROW, item * 2, item * 2 + 1, [Store(OUT, ROW, ONE)]), items=4)


def test_a_private_array_is_stored_before_it_is_loaded():
    store, load = loop(ROW, Store(KEPT, ROW, ONE)), loop(COLUMN, Load(A, KEPT, COLUMN))
    check(Allocate(KEPT, None), store, load, ALL)
    check(Allocate(KEPT, Const(0.0, F32)), load, ALL)
    refused("kept may be loaded before it is stored", Allocate(KEPT, None), load, store, ALL)


def test_part_of_a_private_array_is_enough_for_those_who_load_no_more():
    half = loop(ROW, Store(KEPT, ROW, ONE), stop=4)
    low = index_var("i2", 0, 3)
    check(Allocate(KEPT, None), half, loop(low, Load(A, KEPT, low), stop=4), ALL)
    refused("kept", Allocate(KEPT, None), half, loop(COLUMN, Load(A, KEPT, COLUMN)), ALL)


def test_what_is_stored_in_an_iteration_is_there_for_the_rest_of_it():
    check(Allocate(KEPT, None), loop(ROW, Store(KEPT, ROW, ONE), Load(A, KEPT, ROW)), ALL)
    back = (ROW - 1).max(0)
    refused(
        "kept", Allocate(KEPT, None), loop(ROW, Load(A, KEPT, back), Store(KEPT, ROW, ONE)), ALL
    )


def test_a_row_stored_in_an_iteration_is_there_for_a_loop_over_it():
    rows, k, n, m = (index_var(f"i{last}", 0, last) for last in (1, 2, 2, 3))
    row = For(k, index(0), index(3), [Store(KEPT, rows * 4 + k, ONE)])
    read = For(n, index(0), index(3), [Load(A, KEPT, rows * 4 + n)])
    check(Allocate(KEPT, None), loop(rows, row, read, stop=2), ALL)
    beyond = For(m, index(0), index(4), [Load(A, KEPT, rows * 4 + m)])
    refused("kept", Allocate(KEPT, None), loop(rows, row, beyond, stop=2), ALL)


def test_both_branches_store_what_is_loaded_after_them():
    test = Let(Value("h", BOOL), "lt", (ONE, ONE))
    both = If(test.target, [Store(KEPT, index(0), ONE)], [Store(KEPT, index(0), ONE)])
    one = If(test.target, [Store(KEPT, index(0), ONE)])
    load = Load(A, KEPT, index(0))
    check(Allocate(KEPT, None), test, both, load, ALL)
    refused("kept", Allocate(KEPT, None), test, one, load, ALL)


def test_one_of_the_iterations_stores_what_is_the_same_in_all():
    total = Buffer("total_out", F32, 1, "out")
    is_first = Let(Value("h", BOOL), "eq", (ROW, index(0)))
    store = If(is_first.target, [Store(total, index(0), ONE)])
    check(loop(ROW, is_first, store), buffers=[total])
    never = Let(Value("h", BOOL), "eq", (ROW, index(9)))
    refused("total_out", loop(ROW, never, store), buffers=[total])


def test_a_while_loop_may_have_no_iteration():
    test = Let(Value("h", BOOL), "lt", (ONE, ONE))
    store, load = Store(KEPT, index(0), ONE), Load(A, KEPT, index(0))
    check(Allocate(KEPT, None), While([store, test], test.target, [load]), load, ALL)
    refused("kept", Allocate(KEPT, None), While([test], test.target, [store]), load, ALL)


def test_the_last_work_item_sees_what_all_have_stored():
    item = item_index(4)
    part, ticket = Buffer("part", F32, 4, "scratch"), Buffer("ticket", INT32, 1, "scratch")
    load = loop(index_var("i2", 0, 3), Load(A, part, index_var("i2", 0, 3)), stop=4)
    body = Store(part, item, ONE), IfLast(ticket, [load, ALL])
    check(*body, buffers=[OUT, part, ticket], items=4)
    early = load, Store(part, item, ONE), IfLast(ticket, [ALL])
    refused("part may be loaded", *early, buffers=[OUT, part, ticket], items=4)


def test_what_all_work_items_have_stored_stays_stored_when_the_last_goes_on():
    ticket = Buffer("ticket", INT32, 1, "scratch")
    check(Store(OUT, item_index(8), ONE), IfLast(ticket, []), buffers=[OUT, ticket], items=8)


def test_what_the_last_work_item_stores_no_other_one_does():
    item, ticket = item_index(8), Buffer("ticket", INT32, 1, "scratch")
    refused("y_out", IfLast(ticket, [Store(OUT, item, ONE)]), buffers=[OUT, ticket], items=8)


def test_a_loop_whose_length_is_data_may_have_no_iteration():
    lengths, length = Buffer("n_in", INT32, 1, "in"), Value("n", INT32)
    control = Buffer("iterations", INT32, 4, "scratch")
    stop = index_var("n", 0, 8)
    body = Load(length, lengths, index(0)), For(ROW, index(0), stop, [Store(OUT, ROW, ONE)])
    refused("y_out", *body, buffers=[lengths, OUT, control])


def test_what_a_launch_leaves_to_the_next_need_not_be_stored_by_all():
    check(ALL, buffers=[OUT, Buffer("carry", F32, 8, "kept")])


def test_memory_that_holds_an_argument_first_can_be_loaded_and_is_stored():
    both = Buffer("xy", F32, 8, "inout")
    check(loop(ROW, Load(A, both, ROW), Store(both, ROW, A)), buffers=[both])
    refused("xy", loop(ROW, Load(A, both, ROW)), buffers=[both])


def test_of_columns_in_blocks_the_first_of_any_block_is_stored():
    kept = PrivateArray("kept", F32, 16)
    block, place, number = (index_var(f"i{n}", 0, 1) for n in (3, 4, 5))
    stores = loop(place, Store(kept, block * 8 + place * 4 + COLUMN, ONE), stop=2)
    load = Load(A, kept, number * 8 + COLUMN)
    columns = loop(COLUMN, loop(block, stores, stop=2), load, stop=4)
    check(Allocate(kept, None), columns, ALL)
    load = Load(A, kept, number * 8 + COLUMN + 1)
    refused("kept", Allocate(kept, None), replace(columns, body=[columns.body[0], load]), ALL)
