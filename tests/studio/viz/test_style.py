"""The theme, where the colours of all pictures stand, and the styles of nodes and arrows."""

import dataclasses
import re

import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.studio import viz
from tinyjax.studio.learn.lesson_map import lesson_map
from tinyjax.studio.viz import output, style
from tinyjax.studio.viz.flow import flow
from tinyjax.studio.viz.terminal import graph_of

NAMES = [field.name for field in dataclasses.fields(style.Theme)]
ON_PAGE = ["text", "line", "green_line", "blue_line", "pink_line", "red_line"]
FILLS = [name for name in NAMES if name not in ("page", "ink", *ON_PAGE)]
X = jnp.ones(3)


def f(x):
    return jnp.sum(jnp.sin(x) * x)


def loop(x):
    return lax.scan(lambda c, y: (lax.cond(y > 0, jnp.sin, jnp.cos, c), c), 1.0, x)


def recorded():
    with viz.record() as recording:
        jax.grad(f)(X)
    return recording


def drawn_by_step():
    recording = recorded()
    done = [event for event in recording.events if event.number in recording.equations]
    return graph_of(recording, done)


PICTURES = {
    "jaxpr": lambda: viz.dot(jax.make_jaxpr(loop)(X)),
    "values": lambda: viz.values(f, X),
    "jvp": lambda: viz.jvp(f, X),
    "vmap": lambda: viz.vmap(f, jnp.ones((2, 3))),
    "linearize": lambda: viz.linearize(f, X),
    "transpose": lambda: viz.transpose(f, X),
    "pmap": lambda: viz.pmap(lambda x: x / lax.psum(x, "i"), X, axis_name="i"),
    "traces": lambda: viz.trace_stack(jax.vmap(jax.grad(f)), jnp.ones((2, 3))),
    "passes": lambda: viz.pass_graph(lambda x: jnp.sin(x) * 1.0, X),
    "kernels": lambda: viz.kernels(jax.jit(loop).lower(X)),
    "sharding": lambda: viz.sharding(X),
    "timeline": lambda: flow(recorded().events)[0],
    "step": drawn_by_step,
    "lessons": lambda: lesson_map({"01_primitives": 1.0, "02_jvp": 0.5}),
}
OF_EQUATIONS = [name for name in PICTURES if name not in ("sharding", "lessons")]
STYLES = {kind: each for kind, each in vars(style).items() if isinstance(each, style.NodeStyle)}


@pytest.fixture
def other_theme(monkeypatch):
    """Every colour is another one; gives the shades of before, and those of now."""
    before = [shade for colour in style.colours() for shade in colour]
    for number, name in enumerate(NAMES):
        light, dark = f"#0000{number:02x}", f"#ff00{number:02x}"
        monkeypatch.setattr(viz.theme, name, viz.Colour(light, dark))
    return before, [colour.light for colour in style.colours()]


@pytest.mark.parametrize("name", PICTURES)
def test_a_change_of_the_theme_takes_effect_in_every_kind_of_picture(name, other_theme):
    before, now = other_theme
    source = PICTURES[name]().source
    shades = set(re.findall("#[0-9a-f]{6}", source))
    assert len(shades) >= 3 and shades <= set(now) and not shades & set(before)


@pytest.mark.parametrize("name", OF_EQUATIONS)
def test_a_new_style_of_equations_takes_effect_in_every_picture_of_equations(name, monkeypatch):
    monkeypatch.setattr(style, "EQUATION", style.EQUATION.having(tooltip="new"))
    assert "tooltip=new" in PICTURES[name]().source


@pytest.mark.parametrize("name", OF_EQUATIONS)
def test_new_fills_of_all_styles_take_effect_in_every_picture(name, monkeypatch):
    for kind, old in STYLES.items():
        if "fillcolor" in old.own:
            monkeypatch.setattr(style, kind, old.having(fillcolor="#123456"))
    fills = re.findall(r'(?:fillcolor|<td[^>]*bgcolor)="?(#?\w+)', PICTURES[name]().source)
    borders = {style.shade("line"), *map(style.shade, ["green_line", "blue_line", "pink_line"])}
    assert "#123456" in fills and set(fills) <= {"#123456", *borders}


@pytest.mark.parametrize("kind", [kind for kind, each in STYLES.items() if each.base])
def test_a_style_has_the_attributes_of_its_base_as_they_are_now(kind, monkeypatch):
    base = STYLES[kind].base
    monkeypatch.setattr(style, base, STYLES[base].having(peripheries="2"))
    assert STYLES[kind].attributes["peripheries"] == "2"


@pytest.mark.parametrize("name", PICTURES)
def test_a_new_font_of_nodes_takes_effect_in_every_kind_of_picture(name, monkeypatch):
    monkeypatch.setattr(style, "NODE", style.NODE | {"fontname": "Courier"})
    assert "fontname=Courier" in PICTURES[name]().source


@pytest.mark.parametrize("name", PICTURES)
def test_no_colour_of_a_picture_is_a_name_that_was_not_looked_up(name):
    found = re.findall(r'(?:color|bgcolor)="?([a-z_]+)', PICTURES[name]().source)
    assert set(found) <= {"none"}


def luminance(shade):
    channels = [int(shade[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear))


def contrast(one, other):
    """As in https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def contrasts(front, back):
    """In the light scheme, and in the dark one."""
    return map(contrast, getattr(viz.theme, front), getattr(viz.theme, back))


def test_black_on_white_has_the_greatest_contrast():
    assert round(contrast("#000000", "#ffffff"), 6) == 21 and contrast("#123456", "#123456") == 1


@pytest.mark.parametrize("fill", FILLS)
def test_text_in_nodes_can_be_read_in_both_schemes(fill):
    assert min(contrasts("ink", fill)) >= 4.5


def test_text_on_the_page_can_be_read_in_both_schemes():
    assert min(contrasts("text", "page")) >= 4.5


@pytest.mark.parametrize("line", ON_PAGE)
def test_lines_are_seen_in_both_schemes(line):
    assert min(contrasts(line, "page")) >= 3


@pytest.mark.parametrize("name", PICTURES)
def test_an_svg_has_the_dark_shade_of_each_of_its_colours(name):
    if not output.layout_program():
        pytest.skip("no layout program on this machine")
    svg = PICTURES[name]()._repr_svg_()
    drawn = set(re.findall(r' (?:fill|stroke)="(#[0-9a-f]{6})"', svg))
    turned = dict(re.findall(r'\[fill="(#\w+)"\]\{fill:(#\w+)\}', svg))
    assert drawn and drawn <= set(turned)
    assert viz.theme.page.light in drawn  # its own background, for pages of any colour
    assert all(viz.Colour(*pair) in style.colours() for pair in turned.items())


@pytest.mark.parametrize("wrong", ["#d9eefb", ("#d9eefb", "navy"), None])
def test_a_colour_that_is_no_pair_is_refused_with_an_example(wrong):
    with pytest.raises(ValueError, match=r"theme.blue is a pair of colours.*Colour\("):
        viz.theme.blue = wrong


def test_a_colour_that_no_picture_has_is_refused():
    with pytest.raises(AttributeError, match="bleu"):
        viz.theme.bleu = viz.Colour("#000000", "#ffffff")
