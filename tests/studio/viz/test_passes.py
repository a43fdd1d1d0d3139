"""The passes of the compiler as the page has them; page/test_page_in_browser.py opens it."""

import pytest
from explained_page import data_of

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.studio import viz
from tinyjax.studio.viz.passes import _does, changes_text, passes_data


def f(x):
    y = jnp.sin(x) + jnp.cos(x)
    return jnp.negative(jnp.negative(y)) + 1.0


def passes():
    return jax.jit(f).lower(3.0).passes


def pass_named(name):
    return next(each for each in passes_data(passes()) if each["name"] == name)


def test_a_page_has_the_passes_that_change_something_in_their_order():
    names = [each["name"] for each in data_of(viz.explain(f, 3.0))["passes"]]
    assert names == ["rewrite_rules", "dce", "fusion"]


def test_a_page_of_a_function_that_computes_nothing_has_no_passes():
    assert data_of(viz.explain(lambda x: x, 3.0))["passes"] == []


def test_a_decision_has_its_reason_and_the_line_of_python_it_is_about():
    rules = pass_named("rewrite_rules")
    (event,) = rules["events"]
    assert rules["texts"][event["why"]].startswith("neg (neg x) = x")
    (line,) = (rules["texts"][source] for source in event["sources"])
    assert line.endswith("return jnp.negative(jnp.negative(y)) + 1.0")


def test_lines_that_changed_are_marked():
    lines = pass_named("dce")["lines"]
    assert [text.strip() for sign, text in lines if sign == "-"] == ["_:f32[] = neg d"]


def test_a_pass_that_changed_nothing_is_not_printed():
    shown = changes_text(passes())
    assert "rewrite_rules" in shown and "lower_prng_keys" not in shown


@pytest.mark.parametrize("name", ["vectorize", "hoist", "reorder", "partition", "unroll_and_jam"])
def test_what_a_directive_does_is_a_whole_sentence(name):
    text = _does(name)
    assert text.count("(") == text.count(")") and "  " not in text and "\n" not in text
    assert not text.endswith((":", ",", ".", " only at", " An"))


def test_decisions_of_one_kind_and_reason_are_one():
    (event,) = (e for e in pass_named("fusion")["events"] if e["change"] == "recomputed in k0")
    assert event["about"] == "c, b, d"


def test_a_kernel_begins_with_its_nest_and_the_directives_that_were_left_out():
    lowered = jax.jit(lambda x: x[::99] + 1).lower(jnp.ones(9900))
    *_, nest = passes_data(lowered.passes)
    assert nest["name"] == "loop nest" and nest["label"] == ("k0", "slice add")
    assert {sign for sign, _ in nest["lines"]} == {" "}
    (event,) = nest["events"]
    assert event["change"] == "left out" and "apart in memory" in nest["texts"][event["why"]]


def test_a_directive_has_its_axes_and_follows_the_nest_of_its_kernel():
    def loop(x):
        return lax.fori_loop(0, 9, lambda i, c: c * 0.5 + x[::-1], x) + x.sum()

    labels = [each["label"] for each in passes_data(jax.jit(loop).lower(jnp.ones(100)).passes)]
    kernels = labels[labels.index(("fusion", "")) + 1 :]
    k1 = kernels.index(("k1", "reduce sum add"))
    assert kernels[0] == ("k0", "scan")
    assert ("Vectorize", "i1") in kernels[:k1] and ("Vectorize", "i1, i2") in kernels[k1:]
    assert not {"Vectorize", "loop nest"} & {name for name, _ in labels[: -len(kernels)]}
