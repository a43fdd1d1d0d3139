"""Loops, branches and calls as frames: what goes in and comes out stands in rows; titles are not crossed."""

import re
from typing import NamedTuple

import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.runtime.devices import devices
from tinyjax.studio import viz
from tinyjax.studio.viz import output


def loss(params, x, y):
    hidden = jnp.tanh(x @ params[0]["w"] + params[0]["b"])
    return jnp.mean((hidden @ params[1]["w"] - y) ** 2)


def train(params, xs, ys):
    """Steps of gradient descent with momentum, in a scan."""

    def step(carry, batch):
        params, momentum = carry
        value, grads = jax.value_and_grad(loss)(params, *batch)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
        return (jax.tree.map(lambda p, m: p - 0.1 * m, params, momentum), momentum), value

    (params, _), losses = lax.scan(step, (params, jax.tree.map(jnp.zeros_like, params)), (xs, ys))
    return {"params": params, "losses": losses}


LAYERS = [{"w": jnp.ones((4, 8)), "b": jnp.zeros(8)}, {"w": jnp.ones((8, 1))}]
TRAIN = train, (LAYERS, jnp.ones((10, 16, 4)), jnp.ones((10, 16, 1)))


def newton(x):
    def body(x):
        return x - (x**3 - 2 * x - 5) / (3 * x**2 - 2)

    return lax.while_loop(lambda x: jnp.abs(x**3 - 2 * x - 5) > 1e-5, body, x)


def nested(rows):
    def inner(c, y):
        return lax.cond(y > 0, lambda c: c * y, lambda c: c - 1.0, c), c

    def outer(c, row):
        c, ys = lax.scan(inner, c, row)
        return c, ys.sum()

    return lax.scan(outer, 1.0, rows)


def weighted(w, h, xs):
    return lax.scan(lambda h, x: (jnp.tanh(w * h + x), h), h, xs)


def attention(q, k, v):
    return jax.nn.softmax(q @ k.T / 8.0) @ v


def jaxpr(f, *args):
    return viz.dot(jax.make_jaxpr(f)(*args))


def kernels(f, *args):
    if devices("cpu")[0].cl_device is None:
        pytest.skip("there is no OpenCL device")
    return viz.kernels(jax.jit(f).lower(*args))


# ---- what is written ----


def bar(source, first):
    """The titles and the names in the bar that begins with this title."""
    rows = re.findall(r"<tr>(<td border=\"0\"><font.*?)</tr>", source)
    words = [re.findall(r'(?:point-size="10"> |port="p\d+"[^>]*>)([^<]*)<', row) for row in rows]
    return next(found for found in words if found[0] == first)


def test_consts_xs_and_carry_of_a_scan_stand_in_one_row_and_so_do_its_results():
    source = jaxpr(weighted, 1.0, 2.0, jnp.ones(5)).source
    assert bar(source, "consts") == ["consts", "f", "xs", "h", "carry", "g"]
    assert bar(source, "ys") == ["ys", "g", "next carry", "g"]


def test_consts_come_in_by_dashed_arrows():
    source = jaxpr(weighted, 1.0, 2.0, jnp.ones(5)).source
    into_bar = re.findall(r"\w+ -> \w+:p\d( \[style=dashed\])?$", source, re.MULTILINE)
    assert into_bar.count(" [style=dashed]") == 1


@pytest.mark.parametrize("f, arg, loops", [(newton, 2.0, 1), (nested, jnp.ones((3, 4)), 2)])
def test_a_loop_has_one_arrow_back_in_its_own_colour(f, arg, loops):
    source = jaxpr(f, arg).source
    back = re.findall(rf' -> .*color="{viz.theme.green_line.light}"', source)
    assert len(back) == loops and "next step" in source


def test_operands_and_results_of_branches_stand_in_rows():
    source = jaxpr(lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x), 3.0).source
    assert bar(source, "operands") == ["operands", "e"] and bar(source, "out") == ["out", "d"]


def test_inputs_and_results_have_the_names_that_they_have_in_the_function():
    for graph in (jaxpr(TRAIN[0], *TRAIN[1]), kernels(TRAIN[0], *TRAIN[1])):
        nodes = re.findall(
            r"label=<?\"?(.*?)(?:<br/>|\"| ).*shape=(ellipse|invhouse)", graph.source
        )
        inputs = [text for text, shape in nodes if shape == "ellipse"]
        assert inputs == ["params[0]['b']", "params[0]['w']", "params[1]['w']", "xs", "ys"]
        results = [text for text, shape in nodes if shape == "invhouse"]
        assert results[:2] == ["['losses']", "['params'][0]['b']"]


@pytest.mark.parametrize(
    "draw", [viz.values, viz.jvp, viz.vmap, viz.linearize, viz.transpose, viz.pmap, viz.pass_graph]
)
def test_inputs_have_their_names_at_every_stage(draw):
    def f(params, x):
        return jnp.sum(params["w"] * x)

    source = draw(f, {"w": jnp.ones((2, 3))}, jnp.ones((2, 3))).source
    assert "params['w']" in source and re.search(r"label=<?x[< ]|>x</td>", source)


def test_a_result_that_is_no_tree_is_out():
    assert re.findall(r"label=(\w+) .*invhouse", jaxpr(jnp.sin, 1.0).source) == ["out"]


# ---- where it is drawn ----


class Box(NamedTuple):
    """The middle and the size of a node."""

    x: float
    y: float
    width: float
    height: float

    def holds(self, x, y):
        return abs(x - self.x) < self.width / 2 and abs(y - self.y) < self.height / 2


def layout(graph):
    """Nodes by name, and the points along each edge, as Graphviz places them, in inches."""
    if not output.layout_program():
        pytest.skip("no layout program on this machine")
    boxes, edges = {}, []
    for line in graph.pipe(format="plain", encoding="utf-8").splitlines():
        kind, *words = line.split(" ")
        if kind == "node":
            boxes[words[0]] = Box(*map(float, words[1:5]))
        elif kind == "edge" and "invis" not in words:
            count = int(words[2])
            numbers = list(map(float, words[3 : 3 + 2 * count]))
            edges.append(along(list(zip(numbers[::2], numbers[1::2]))))
    return boxes, edges


def along(controls):
    """Points along the cubic curves through these control points."""
    points = []
    for start in range(0, len(controls) - 3, 3):
        for t in (i / 40 for i in range(41)):
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            four = controls[start : start + 4]
            points.append(tuple(sum(w * p[i] for w, p in zip(weights, four)) for i in (0, 1)))
    return points


PICTURES = {
    "train": lambda: jaxpr(TRAIN[0], *TRAIN[1]),
    "train, kernels": lambda: kernels(TRAIN[0], *TRAIN[1]),
    "newton": lambda: jaxpr(jax.vmap(newton), jnp.arange(3.0)),
    "nested": lambda: jaxpr(nested, jnp.ones((3, 4))),
    "nested, kernels": lambda: kernels(nested, jnp.ones((3, 4))),
    "attention, kernels": lambda: kernels(attention, *[jnp.ones((32, 64))] * 3),
    "gradient of a loop": lambda: jaxpr(jax.grad(lambda w: weighted(w, 2.0, jnp.ones(5))[0]), 1.0),
}


@pytest.mark.parametrize("name", PICTURES)
def test_no_arrow_crosses_the_title_of_a_frame(name):
    boxes, edges = layout(PICTURES[name]())
    titles = [box for node, box in boxes.items() if node.startswith("title_")]
    assert titles
    crossed = [t for t in titles if any(t.holds(*point) for edge in edges for point in edge)]
    assert crossed == []


def test_a_step_of_training_is_below_its_carry_and_above_its_next_carry():
    graph = jaxpr(TRAIN[0], *TRAIN[1])
    boxes, _ = layout(graph)
    inside = graph.source.partition("subgraph cluster")[2].partition("\n\t}")[0]
    top, bottom = re.findall(r"(n\d+) \[label=<<table", inside)
    between = [boxes[node].y for node in re.findall(r"(n\d+) \[label=<<font", inside)]
    assert len(between) > 20
    assert boxes[top].y > max(between) and min(between) > boxes[bottom].y  # the axis points up


@pytest.mark.parametrize("name", ["train", "train, kernels"])
def test_a_step_of_training_can_be_read_on_a_screen_of_1400_by_900(name):
    if not output.layout_program():
        pytest.skip("no layout program on this machine")
    svg = PICTURES[name]()._repr_svg_()
    width, height = map(float, re.search(r'width="(\d+)pt" height="(\d+)pt"', svg).groups())
    smaller = min(1400 / width, 850 / height)  # pixels a point, below the bar of the page
    assert 12 * smaller >= 9  # pixels, of the names of operations
