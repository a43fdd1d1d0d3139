from dataclasses import replace

import pytest
from loop_nests import F32, A, assert_computes_the_same, doubled

from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Const,
    KernelError,
    Let,
    Load,
    PrivateArray,
    Store,
    Value,
)
from tinyjax.compile.kernel.substitution import replaced
from tinyjax.compile.record import recording
from tinyjax.compile.schedules.directive import Directive, with_loop
from tinyjax.compile.schedules.parallelize import Parallelize
from tinyjax.compile.schedules.schedule import ScheduleBuilder, directive_lines, scheduled
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.vectorize import Vectorize

DIRECTIVES = [
    Split("i1", 16, why="a vector has 16 lanes"),
    Vectorize("i1_inner", 16),
    Parallelize("i1_outer", 4, why="4 cores"),
]


def test_a_kernel_knows_its_naive_nest_and_its_schedule():
    kernel = scheduled(doubled(100), DIRECTIVES)
    assert str(kernel.naive) == str(doubled(100))
    assert list(directive_lines(kernel)) == [
        "Split('i1', 16)  # a vector has 16 lanes",
        "Vectorize('i1_inner', 16)",
        "Parallelize('i1_outer', 4)  # 4 cores",
    ]
    assert_computes_the_same(kernel, doubled(100))


def test_each_directive_is_a_pass_that_can_be_recorded():
    with recording() as records:
        kernel = scheduled(doubled(100), DIRECTIVES)
    assert [r.title for r in records] == ["split of k0", "vectorize of k0", "parallelize of k0"]
    assert records[1].before == records[0].after and records[2].after == kernel
    assert str(records[0].events[0]) == "Split('i1', 16): applied  # a vector has 16 lanes"


def test_what_was_left_out_is_recorded_and_printed_with_its_reason():
    with recording() as records:
        builder = ScheduleBuilder(doubled(100))
        assert not builder.apply_if_possible(Split("i9", 16))
    reason = "it has no axis 'i9'; its axes are i1"
    assert list(directive_lines(builder.finished())) == [f"# not Split('i9', 16): {reason}"]
    (record,) = records
    assert str(record.events[0]) == f"Split('i9', 16): left out  # {reason}"
    assert record.before is record.after


def test_a_directive_that_was_tried_is_not_computed_again(monkeypatch):
    builder, split, computed = ScheduleBuilder(doubled(100)), Split("i1", 16), []
    monkeypatch.setattr(Split, "_changed", lambda self, loop: computed.append(loop) or [loop])
    builder.tried(split, builder.kernel)
    assert builder.apply_if_possible(split) and len(computed) == 1
    builder.tried(split, builder.kernel)  # another kernel
    assert len(computed) == 2


# ---- wrong directives ----


class OneLess(Directive):
    """Leaves out an iteration."""

    def why_not(self, kernel):
        return ""

    def _applied(self, kernel):
        return with_loop(kernel, "i1", lambda loop: [replace(loop, stop=loop.stop - 1)])


class Subtracts(Directive):
    """Subtracts where the nest adds."""

    def why_not(self, kernel):
        return ""

    def _applied(self, kernel):
        change = lambda s: [replace(s, op="sub")] if isinstance(s, Let) else [s]  # noqa: E731
        return replace(kernel, body=replaced(kernel.body, change))


def test_a_directive_that_leaves_elements_out_is_found_by_the_check():
    with pytest.raises(KernelError, match="not every element of y_out is stored"):
        scheduled(doubled(100), [OneLess()])


def test_a_directive_that_computes_something_else_is_found_by_the_comparison():
    with pytest.raises(AssertionError, match="Mismatched elements"):
        assert_computes_the_same(scheduled(doubled(100), [Subtracts()]), doubled(100))


@pytest.mark.parametrize("directive", [Vectorize("i1", 16), Parallelize("i1", 4)])
def test_a_directive_is_for_all_loops_over_its_axis_or_for_none(directive):
    """The second one, in which each iteration reads what the one before left, is as it was."""
    naive = doubled(32)
    (first,) = naive.body
    left, out = PrivateArray("left", F32, 1), replace(naive.buffers[1], name="z_out")
    last, sum_ = Value("last", F32), Value("sum", F32)
    load, *_ = first.body
    body = [replace(load, target=A), Load(last, left, index(0)), Let(sum_, "add", (A, last))]
    body += [Store(left, index(0), sum_), Store(out, load.index, sum_)]
    statements = [first, Allocate(left, Const(F32.type(0), F32)), replace(first, body=body)]
    naive = replace(naive, buffers=[*naive.buffers, out], body=statements)
    assert "left" in directive.why_not(naive)
