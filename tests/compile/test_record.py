"""What the records of passes say, and how they print."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile import record
from tinyjax.compile.passes import pipeline
from tinyjax.compile.passes.cse import cse
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.record import PassRecord, event, is_recording, recording, run_pass
from tinyjax.core.tracing import make_jaxpr


def halved(number):
    event(number, f"becomes {number // 2}", "half is enough")
    return number // 2


def test_a_pass_is_recorded_with_what_was_before_and_after_it():
    with recording() as records:
        assert run_pass("halve", halved, 8, subject="k0") == 4
    (record,) = records
    assert (record.title, record.before, record.after) == ("halve of k0", 8, 4)
    assert [str(e) for e in record.events] == ["8: becomes 4  # half is enough"]


def test_nothing_is_recorded_outside_of_the_block():
    with recording() as records:
        assert is_recording()
    assert run_pass("halve", halved, 8) == 4
    assert not records and not is_recording()


def test_an_event_belongs_to_the_innermost_pass():
    def both(number):
        return run_pass("inner", halved, number)

    with recording() as records:
        run_pass("outer", both, 8)
    assert [(r.name, len(r.events)) for r in records] == [("outer", 0), ("inner", 1)]


def test_a_record_prints_its_events_and_the_lines_that_changed():
    with recording() as records:
        run_pass("cse", cse, make_jaxpr(lambda x: lax.sin(x) * lax.sin(x))(1.0))
    assert str(records[0]).splitlines() == [
        "cse",
        "  c = sin a: is b  # computed before, alike",
        "  { lambda ; a:f32[]. let",
        "      b:f32[] = sin a",
        "-     c:f32[] = sin a",
        "-     d:f32[] = mul b c",
        "+     d:f32[] = mul b b",
        "    in (d,) }",
    ]


def test_around_a_change_are_two_lines_and_the_heads_of_its_loops():
    nest = "kernel k\n  for i:\n    a\n    for j:\n      b\n      c\n      d\n      e\n"
    assert (
        "\n".join(PassRecord("p", "", nest, nest + "      f").diff())
        == """\
  kernel k
    for i:
  ...
      for j:
  ...
        d
        e
+       f"""
    )


def test_a_line_that_is_only_indented_otherwise_has_not_changed():
    nest, fused = "for i:\n  for j:\n    a\n    b\n    c", "for i_j:\n  a\n  b\n  c"
    shown = ["- for i:", "-   for j:", "+ for i_j:", "    a", "    b"]
    assert list(PassRecord("fuse", "k0", nest, fused).diff()) == shown


def test_a_pass_in_vain_says_so():
    with recording() as records:
        run_pass("cse", cse, make_jaxpr(lax.sin)(1.0))
    assert str(records[0]) == "cse\n  nothing to change"


def test_where_the_kind_of_thing_changes_all_of_it_is_printed():
    with recording() as records:
        run_pass("count", lambda closed: f"{len(closed.eqns)} equations", make_jaxpr(lax.sin)(1.0))
    assert str(records[0]) == "count\n  1 equations"


# ---- of a whole program ----


def program(x):
    return lax.scan(lambda c, _: (c * 1.0 + jnp.arange(3.0), None), x, None, length=2)[0]


X = np.ones(3, np.float32)


def test_a_lowered_function_has_a_record_of_each_pass():
    passes = jax.jit(program).lower(X).passes
    titles = [record.title for record in passes]
    assert titles[0] == "lower_prng_keys" and "dce" in titles
    assert "scan" in str(passes[0].before)
    assert [str(e) for e in passes[titles.index("rewrite_rules of body of scan")].events] == [
        "b = mul a 1.0: becomes a  # mul x 1 = x: exact, and nothing is rounded"
    ]


def test_passes_are_recorded_though_their_results_are_known_already():
    def events():
        with recording() as records:
            simplify(closed)
        return [str(event) for record in records for event in record.events]

    closed = make_jaxpr(program)(X)
    simplify(closed)
    assert events() == events() != []


def test_a_jaxpr_that_a_pass_left_as_it_was_is_not_printed_to_find_out(monkeypatch):
    monkeypatch.setattr(record, "jaxpr_lines", lambda *_: pytest.fail("it was printed"))
    closed = make_jaxpr(lax.sin)(X)
    for each in pipeline.PASSES:
        assert list(PassRecord(each.name, "", closed, each.function(closed)).diff()) == []


def test_what_a_pass_made_is_a_dialect():
    lowered = jax.jit(lambda x: (lax.sin(x), lax.sin(x))).lower(X)
    assert lowered.as_text("inline").count("sin") == 2
    assert lowered.as_text("cse").count("sin") == 1
    assert lowered.as_text("dce") == lowered.as_text("simplified")
    assert [eqn.primitive.name for eqn in lowered.compiler_ir("cse").eqns] == ["sin"]


def test_loops_of_one_kind_are_told_apart():
    titles = {record.title for record in jax.jit(lambda x: program(program(x))).lower(X).passes}
    assert {"cse of body of scan", "cse of body of scan 2"} <= titles


def test_a_loop_within_a_loop_is_named_with_it():
    def f(x):
        return lax.while_loop(lambda c: c[0] < 9, program, x)

    titles = {record.title for record in jax.jit(f).lower(X).passes}
    assert {"cse of cond of while", "cse of body of scan in body of while"} <= titles
