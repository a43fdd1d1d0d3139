"""The passes of the compiler as a picture."""

import re

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import lax, viz
from tinyjax.studio.viz.style import theme

X = np.ones(3, np.float32)


def frames(source):
    return re.findall(r'label="?((?:traced|\d+\. \w+))"?', source)


def boxes(source, name, colour):
    lines = [line for line in source.splitlines() if f"<b>{name}</b>" in line]
    return sum(f'fillcolor="{colour}"' in line for line in lines)


def test_there_is_a_frame_for_the_traced_program_and_each_pass_that_changed_it():
    source = viz.pass_graph(lambda x: jnp.sin(x) * 1.0 + jnp.sin(x), X).source
    assert frames(source) == ["traced", "1. rewrite_rules", "2. cse"]


def test_what_goes_and_what_is_new_is_lit():
    source = viz.pass_graph(lambda x: lax.div(x, np.float32(4)), X).source
    assert (boxes(source, "div", theme.orange.light), boxes(source, "mul", theme.blue.light)) == (
        1,
        1,
    )


def test_a_program_that_no_pass_changes_is_drawn_as_traced():
    assert frames(viz.pass_graph(lax.sin, X).source) == ["traced"]


def test_what_changes_in_the_body_of_a_loop_is_lit():
    def f(x):
        return lax.scan(lambda c, row: (c * 1.0, jnp.sin(row)), x[0], x)

    source = viz.pass_graph(f, np.ones((2, 3), np.float32)).source
    assert "bodies" in " ".join(frames(source))
    assert (
        boxes(source, "mul", theme.orange.light) == 1
        and boxes(source, "sin", theme.orange.light) == 0
    )


def test_variables_keep_their_names_from_frame_to_frame():
    source = viz.pass_graph(lambda x: jnp.cos(jnp.sin(x) * 1.0), X).source
    assert source.count(">b:f32[3] = <") == 2 and source.count(">d:f32[3] = <") == 2
