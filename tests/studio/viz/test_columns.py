"""Columns of what became of a function: which items are linked."""

import re

import numpy as np
import pytest
from network_with_rule import NETWORK, loss

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.runtime.devices import Device, devices
from tinyjax.studio.recorder import call_time, time_text
from tinyjax.studio.viz.columns import stages_of
from tinyjax.studio.viz.provenance_links import provenance_links

needs_kernels = pytest.mark.skipif(
    devices("cpu")[0].cl_device is None, reason="there is no OpenCL device"
)


def f(x):
    return jnp.sin(x) * x


def columns_of(*asked):
    return stages_of(*asked).columns


def items_of(columns, name):
    (column,) = (column for column in columns if column.name == name)
    return [item for block in column.blocks for item in block.items]


def found(columns, name, text):
    """The only item of a column that has this text in it."""
    (item,) = (item for item in items_of(columns, name) if text in item.text)
    return item


def kin_of(columns, item, name):
    """The texts of the items in a column that one is linked to."""
    related = provenance_links(columns)[item]
    return [other.text.strip() for other in items_of(columns, name) if other in related]


def test_an_equation_is_kin_to_its_line():
    columns = columns_of(f, [3.0])
    sin = found(columns, "transformed", "= sin")
    assert kin_of(columns, sin, "python") == ["return jnp.sin(x) * x"]


def test_equations_of_one_line_are_told_apart():
    columns = columns_of(f, [3.0], [jax.grad])
    assert kin_of(columns, found(columns, "traced", "= sin"), "transformed") == [
        "b:f32[] = sin a",
        "c:f32[] = cos a",
        "d:f32[] = mul g c",  # backwards through sin
        "e:f32[] = add_any f d",
    ]
    assert kin_of(columns, found(columns, "transformed", "= cos"), "traced") == ["b:f32[] = sin a"]


@needs_kernels
def test_every_line_of_c_leads_back_to_python_through_all_columns():
    args = jax.tree.map(lambda x: np.ones(x.shape, x.dtype), NETWORK)
    columns = columns_of(loss, args, [jax.grad])
    related = provenance_links(columns)
    texts = {
        name: items_of(columns, name) for name in ("groups", "transformed", "traced", "python")
    }
    for line in items_of(columns, "c"):
        if "*restrict" not in line.text and line.text != "}":  # no parameter, nor the kernel's end
            for items in texts.values():
                assert any(item in related[line] for item in items), line.text
    # Backwards through the activation: the equation of its call, and the line of its rule.
    square = next(item for item in texts["transformed"] if "mul i i" in item.text)
    (call,) = kin_of(columns, square, "traced")
    assert "custom_vjp_call" in call
    assert "slope = t + x * (1 - t * t)" in kin_of(columns, square, "python")


def test_links_are_mutual():
    related = provenance_links(columns_of(f, [3.0], [jax.grad]))
    assert all(item in related[other] for item in related for other in related[item])


def test_what_is_simplified_away_is_marked():
    columns = columns_of(f, [3.0], [jax.grad])
    gone = [item.text.strip() for item in items_of(columns, "transformed") if item.gone]
    assert gone == ["_:f32[] = mul b a", "f:f32[] = mul b 1.0", "g:f32[] = mul 1.0 a"]


@needs_kernels
def test_a_line_of_c_is_kin_to_the_line_of_python_that_it_is_from():
    def two_lines(x):
        y = jnp.sin(x)
        return y * 2.0

    columns = columns_of(two_lines, [np.ones(3, np.float32)])
    line = found(columns, "c", "2.0f")
    assert kin_of(columns, line, "python") == ["return y * 2.0"]
    assert kin_of(columns, line, "groups")[-1].endswith("mul b 2.0")


@needs_kernels
def test_a_launch_is_kin_to_all_that_it_computes():
    columns = columns_of(f, [3.0], [jax.grad])
    (launch,) = items_of(columns, "time")
    assert "return jnp.sin(x) * x" in kin_of(columns, launch, "python")
    assert len(kin_of(columns, launch, "groups")) == 1 + 4  # the group, and its equations


def test_the_jaxpr_is_of_the_types_that_the_function_is_called_with():
    columns = columns_of(f, [np.ones(5, np.float32)], [jax.grad, jax.vmap])
    assert items_of(columns, "traced")[0].text == "lambda a:f32[]. let"
    assert items_of(columns, "transformed")[0].text == "lambda a:f32[5]. let"


def test_without_a_transformation_there_is_one_jaxpr():
    titles = [column.title for column in columns_of(f, [3.0], [jax.jit])]
    assert titles == ["Python", "jaxpr", "groups", "OpenCL C", "time"]


def test_the_body_of_a_loop_keeps_its_kin():
    def loop(x):
        return lax.fori_loop(0, 5, lambda i, c: jnp.sin(c) * 3.0, x)

    columns = columns_of(loop, [2.0], [jax.grad])
    sin = found(columns, "traced", "= sin")
    assert any("cos" in text for text in kin_of(columns, sin, "transformed"))
    assert any("sin" in text for text in kin_of(columns, sin, "groups"))


def texts_in(columns, name):
    return [item.text.strip() for item in items_of(columns, name)]


@pytest.mark.parametrize("column", ["transformed", "groups"])
def test_each_jaxpr_within_an_equation_has_its_label_parameters_and_results(column):
    def solve(x):
        x, _ = lax.while_loop(lambda s: s[1] < 9, lambda s: (s[0] * 0.5, s[1] + 1), (x, 0))
        x, _ = lax.scan(lambda c, y: (c + y, y), x, jnp.ones(3))
        return lax.cond(x > 1.0, jnp.sin, jnp.cos, x)

    texts = texts_in(columns_of(solve, [2.0]), column)
    labels = {text.partition(": lambda ")[0] for text in texts if ": lambda " in text}
    assert labels == {"cond_jaxpr", "body_jaxpr", "body", "branch 0", "branch 1"}
    for label in labels:
        (start,) = (i for i, text in enumerate(texts) if text.startswith(f"{label}: lambda"))
        end = next(i for i in range(start, len(texts)) if texts[i].startswith("in ("))
        defined = set(re.findall(r"\b([a-z]+):", " ".join(texts[start : end + 1])))
        used = re.findall(r"(?<= )[a-z]{1,2}\b(?!:)", " ".join(texts[start + 1 : end]))
        assert used and set(used) <= defined | {"ge", "gt", "lt"}


def test_a_jaxpr_that_two_equations_share_is_shown_once():
    g = jax.jit(jnp.sin)
    texts = texts_in(columns_of(lambda x: g(g(x)), [2.0]), "transformed")
    assert [text for text in texts if text.startswith("jaxpr: ")][1:] == [
        "jaxpr: the same jaxpr as above"
    ]


@needs_kernels
def test_lines_of_c_are_numbered_from_1():
    numbers = [item.number for item in items_of(columns_of(f, [3.0]), "c")]
    assert numbers == [str(n) for n in range(1, len(numbers) + 1)]


def test_a_column_counts_all_lines_of_its_functions():
    columns = columns_of(f, [3.0])
    assert columns[0].count() == f"{len(items_of(columns, 'python'))} lines" == "2 lines"


def test_a_fourier_transform_has_operations_and_what_is_not_counted_has_no_line_for_them():
    columns = columns_of(lambda x: jnp.linalg.det(jnp.fft.fft(x).real), [jnp.eye(88)])
    launches = {text.split("\n")[0].split()[-1]: text for text in texts_in(columns, "time")}
    assert f"operations: {8 * 88**2 * 6:,}" in launches["fft"]  # as XLA counts
    assert "operations" not in launches["lu"]


def test_the_time_column_and_the_view_of_times_are_of_one_call():
    columns, _, _, call = stages_of(lambda x: jnp.sort(x * 2.0), [jnp.ones(9)])
    (times,) = next(column for column in columns if column.name == "time").blocks
    spent = [time_text(event.microseconds) for event in call if not event.loops]
    assert sorted(item.number for item in times.items) == sorted(spent)
    assert f"of a call of {time_text(call_time(call))}" in times.note


def test_a_function_that_is_called_is_shown_too():
    def outer(x):
        return f(x) + 1.0

    columns = columns_of(outer, [3.0])
    titles = [block.title for block in columns[0].blocks]
    assert [title.split("test_columns.py: ")[1] for title in titles] == ["outer", "f"]


def test_a_derivative_rule_keeps_its_own_line():
    @jax.custom_jvp
    def g(x):
        return jnp.sin(x)

    g.defjvp(lambda primals, tangents: (g(*primals), tangents[0] * 7.0))
    columns = columns_of(lambda x: g(x), [3.0], [jax.grad])
    seven = found(columns, "transformed", "7.0")
    assert any("7.0" in text for text in kin_of(columns, seven, "python"))
    assert any("custom_jvp_call" in text for text in kin_of(columns, seven, "traced"))


def names_in(columns, column):
    """What is computed in a column, by name."""
    texts = (item.text.strip() for item in items_of(columns, column) if ":f32" in item.text)
    return {t.split(":")[0]: t.split(" = ")[1] for t in texts if " = " in t and t[0] != "_"}


@needs_kernels
def test_a_value_has_one_name_in_all_columns():
    columns = columns_of(f, (3.0,), [jax.grad])
    traced, its, groups = (names_in(columns, c) for c in ("traced", "transformed", "groups"))
    assert traced["b"] == its["b"] == groups["b"] == "sin a"
    assert its["c"] == groups["c"] == "cos a"
    assert set(groups) <= set(its) and len(its) == 6


@needs_kernels
def test_what_is_simplified_away_has_a_name_of_its_own():
    columns = columns_of(f, (3.0,), [jax.grad])
    (product,) = (name for name, what in names_in(columns, "traced").items() if "mul" in what)
    assert product not in names_in(columns, "transformed")


def test_where_kernels_are_webassembly_its_lines_are_kin_to_equations():
    pytest.importorskip("wasmtime")
    with jax.default_device(Device("wasm", 0, "WebAssembly")):
        columns = columns_of(f, [jnp.arange(3.0)])
    (title,) = (column.title for column in columns if column.name == "c")
    assert title == "WebAssembly"
    product = found(columns, "c", "f32.mul local.set $c")
    assert kin_of(columns, product, "transformed") == ["c:f32[3] = mul b a"]
