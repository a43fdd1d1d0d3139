"""Splitting and vectorizing, of loops drawn at random."""

from dataclasses import replace

import numpy as np
from drawn import draws
from loop_nests import A, assert_computes_the_same, row_sums

from tinyjax.compile.kernel.indices import index, index_value, index_var
from tinyjax.compile.kernel.kernel_ir import For, Let, Load, PrivateArray, Store, Value
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.vectorize import Vectorize

ITEMS = PrivateArray("items", np.dtype("float32"), 4096)


def visited(loops, scope):
    """The values of the variable that the body reads, one iteration after another."""
    for s in loops:
        if isinstance(s, For):
            name = s.variable.args[0]
            for i in range(index_value(s.start, scope), index_value(s.stop, scope), s.step):
                assert s.variable.lo <= i <= s.variable.hi, f"{name} is {i}, and not {s.variable!r}"
                yield from visited(s.body, {**scope, name: i})
        else:
            yield index_value(s.index, scope)


def test_of_any_loop_chunks_take_each_iteration_in_order():
    for draw in draws(160):
        factor = draw.choice([1, 2, 3, 4, 16])
        first = factor * draw.choice([0, 0, 1, 2])
        item = index_var("item", 0, 3)
        start = draw.choice([index(first), item * factor])
        lengths = [*(draw.randint(1, 40) for _ in range(3)), factor * draw.randint(1, 4)]
        ends = [start + n for n in draw.sample(lengths, draw.randint(1, 3))]
        if draw.random() < 0.3:
            ends.append(item * factor + factor * draw.randint(1, 4))
        stop = ends[0]
        for end in ends[1:]:
            stop = stop.min(end)
        overlap = (
            start.op == stop.op == "const" and stop.lo - start.lo >= factor and draw.random() < 0.4
        )
        axis = index_var("i1", start.lo, stop.hi - 1)
        store = Store(ITEMS, axis, A, origin="the store")
        loop = For(axis, start, stop, [store], origin="the loop")
        (outer,) = Split("i1", factor, overlap=overlap)._changed(loop)
        (inner,) = outer.body
        about = f"i1 in {start} .. {stop} by {factor}, overlap {overlap}: found\n" + "\n".join(
            f"{s.variable} in {s.start} .. {s.stop}" for s in (outer, inner)
        )
        names = [s.variable.args[0] for s in (outer, inner)]
        assert names == ["i1_outer", "i1_inner"], about
        assert outer.origin == inner.origin == "the loop", f"{about}\nof which origin?"
        lo, hi = (0, factor - 1) if overlap else (axis.lo, axis.hi)
        assert lo <= inner.variable.lo and inner.variable.hi <= hi, (
            f"{about}\ni1_inner takes the values {lo} .. {hi}: {inner.variable!r}"
        )
        for number in range(4):
            scope = {"item": number}
            begin, end = (index_value(at, scope) for at in (start, stop))
            expected, found = list(range(begin, end)), list(visited([outer], scope))
            if not overlap:
                assert found == expected, f"{about}\nitem {number}: {found}"
                continue
            assert sorted(set(found)) == expected, f"{about}\nitem {number}: {found}"
            chunks = [found[i : i + factor] for i in range(0, len(found), factor)]
            for chunk in chunks:
                assert chunk == list(range(chunk[0], chunk[0] + factor)), f"{about}: {chunks}"
            assert len(chunks) == -(-(end - begin) // factor), f"{about}: {chunks}"
        if overlap or all((end - start).factor() % factor == 0 for end in ends):
            assert "min" not in str(inner.stop) or overlap, f"{about}\nall chunks are whole"
        least = sum((end - start).factor() % factor != 0 for end in ends)
        assert str(inner.stop).count("min") <= least, f"{about}\n{least} ends need a minimum"


def test_of_any_width_and_operation_all_lanes_are_combined():
    for draw in draws(20):
        width, rows = draw.choice([2, 4, 8, 16]), draw.randint(1, 3)
        op, initial = draw.choice([("add", 0.0), ("max", -np.inf), ("min", np.inf), ("mul", 1.0)])
        columns = width * draw.randint(1, 2) + draw.choice([0, 0, 1])
        naive = row_sums(rows, columns, op, initial)

        def with_origin(s):
            return (
                replace(s, origin="the sum") if isinstance(s, Load) and s.target.name == "b" else s
            )

        body = [replace(loop, body=[with_origin(s) for s in loop.body]) for loop in naive.body]
        naive = replace(naive, body=body)
        kernel = Vectorize("i2_inner", width).apply(Split("i2", width).apply(naive))
        about = f"{op} of {columns} columns in {width} lanes\n{kernel}"
        if op != "mul":  # which is rounded otherwise in another order
            assert_computes_the_same(kernel, naive)
        found = [s for s in every_statement(kernel.body) if s.origin == "the sum"]
        load, *lets = found
        assert isinstance(load, Load) and load.target == Value(f"b_v{width}", A.dtype, width), about
        expected, wide = [], width
        while wide > 1:
            wide //= 2
            whole = Value(f"b_v{2 * wide}", A.dtype, 2 * wide)
            low, high = (Value(f"b_{half}{wide}", A.dtype, wide) for half in ("low", "high"))
            out = Value(f"b_v{wide}" if wide > 1 else "b", A.dtype, wide)
            expected += [(low, "low", (whole,)), (high, "high", (whole,)), (out, op, (low, high))]
        assert all(isinstance(s, Let) for s in lets), about
        assert [(s.target, s.op, s.args) for s in lets] == expected, about
