"""Arrays and pytrees as pictures: what is read from them, what is drawn, and the same as text."""

import base64
import re
import sys
import time
import zlib
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from browser import chromium, messages, resize

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import viz
from tinyjax.studio.viz.arrays.colours import png, scale_of
from tinyjax.studio.viz.arrays.elements import as_numbers, summary_of, table_texts
from tinyjax.studio.viz.arrays.slices import slices_of

ROWS = np.arange(600, dtype=np.float32).reshape(20, 30) - 300


class Layer(NamedTuple):
    w: jax.Array
    b: jax.Array


def line(text, key):
    return next(line for line in text.splitlines() if line.split()[:1] == [key])


# ---- numbers ----


def test_a_summary_leaves_out_what_is_not_finite():
    x = np.array([1.0, np.nan, -np.inf, np.inf, 3.0], np.float32)
    found = summary_of(x)
    assert (found.low, found.mean, found.high) == (1.0, 2.0, 3.0)
    assert found.text() == "1 .. 3, mean 2, 1 NaN, 1 inf, 1 -inf"
    assert summary_of(np.full(2, np.nan)).text() == "2 NaN"


def test_a_histogram_counts_all_elements_of_a_small_array():
    found = summary_of(np.random.default_rng(0).normal(size=500))
    assert sum(found.bins) == 500 and len(found.bins) == 24


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16, np.int8, np.uint32, np.float64])
def test_every_dtype_becomes_numbers_without_loss(dtype):
    x = np.array([0, 1, 100], dtype)
    assert as_numbers(x).dtype in (np.float32, np.float64)
    np.testing.assert_array_equal(as_numbers(x).astype(dtype), x)


def test_numbers_of_a_table_have_their_points_below_each_other():
    texts = table_texts(np.array([[1.5, -0.25], [12.0, 3.0]]), np.dtype("f4"))
    assert texts == [["1.50", "-0.25"], ["12.00", "3.00"]]
    halves = table_texts(np.array([[0.0, -0.5]]), np.dtype("f4"))
    assert halves == [["0.0", "-0.5"]]
    assert table_texts(np.array([[1e-9, 2.5]]), np.dtype("f4")) == [["1e-09", "2.5"]]


# ---- slices ----


def test_cells_of_a_large_slice_are_means_of_blocks_also_at_the_ends():
    x = np.random.default_rng(0).normal(size=(70, 331)).astype(np.float32)
    (s,) = slices_of(x, 10**6).shown
    tall, wide = s.block
    assert s.cells.shape == (-(-70 // tall), -(-331 // wide)) and wide == 3
    np.testing.assert_allclose(s.cells[-1, -1], x[-1:, 330:].mean(), rtol=1e-6)
    np.testing.assert_allclose(s.cells[4, 7], x[4, 21:24].mean(), rtol=1e-5)


def test_a_slice_is_named_as_it_is_taken():
    found = slices_of(np.zeros((2, 3, 20, 20)), 10**6)
    assert [s.index for s in found.shown][:4] == [f"[0, {i}, :, :]" for i in range(3)] + [
        "[1, 0, :, :]"
    ]
    assert slices_of(np.zeros((5, 28, 28, 3)), 10**6).shown[1].index == "[0, :, :, 1]"
    many = slices_of(np.zeros((100, 8, 8)), 10**6)
    assert (len(many.shown), many.count, many.left_out) == (12, 100, 88)


# ---- colours ----


def test_a_scale_is_symmetric_about_zero_unless_numbers_of_one_sign_are_alike():
    assert scale_of([np.array([-1.0, 3.0])]).of(np.array([-3.0, 0.0, 1.5])).tolist() == [-1, 0, 0.5]
    assert scale_of([np.array([100.0, 101.0])]).of(np.array([100.0, 101.0])).tolist() == [0, 1]


def test_a_few_large_numbers_do_not_make_the_others_pale():
    x = np.r_[np.linspace(-1, 1, 999), 500.0]
    assert scale_of([x]).ends[1] == "≥ 0.992" and scale_of([x]).of(x)[-1] == 1


def test_the_png_has_the_numbers_colours():
    file = base64.b64decode(png(np.array([[-1.0, 0.0, 1.0, np.nan]])).split(",")[1])
    assert file[16:24] == bytes([0, 0, 0, 4, 0, 0, 0, 1])  # width and height
    parts = {name: file.index(name) for name in (b"PLTE", b"tRNS", b"IDAT")}
    opacities = file[parts[b"tRNS"] + 4 :][:4]
    size = int.from_bytes(file[parts[b"IDAT"] - 4 : parts[b"IDAT"]], "big")
    row = zlib.decompress(file[parts[b"IDAT"] + 4 :][:size])
    assert [opacities[n] for n in row[1:]] == [255, 0, 255, 255]


# ---- what is shown ----


def test_every_kind_of_leaf_has_a_line():
    tree = {
        "empty": jnp.zeros((0, 3)),
        "number": jnp.float32(-2.5),
        "complex": jnp.array([3 + 4j, 0]),
        "flags": jnp.array([True, False]),
        "half": jnp.ones((2, 2), jnp.bfloat16),
        "key": jax.random.key(7),
        "layer": Layer(jnp.ones((3, 2)), jnp.zeros(2)),
        "none": None,
        "struct": jax.ShapeDtypeStruct((3,), np.float32),
        "word": "adam",
        "large": 2**40,
    }
    text = repr(viz.show(tree))
    for key, words in {
        "['empty']": "f32[0,3]  no elements",
        "['number']": "f32[]  -2.5",
        "['complex']": "c64[2]  |x| 0 .. 5, mean 2.5",
        "['flags']": "bool[2]  1 of 2 true",
        "['half']": "bf16[2,2]  all elements 1",
        "['key']": "key<fry>[]  random key: [0 7]",
        ".w": "f32[3,2]  all elements 1",
        "['none']": "None",
        "['struct']": "f32[3]  ShapeDtypeStruct: a type without elements",
        "['word']": "'adam'",
        "['large']": "1099511627776",
    }.items():
        assert words in line(text, key)
    html = viz.show(tree).html
    assert 'data-path="[&#x27;layer&#x27;].w"' in html and "key&lt;fry&gt;[]" in html


def test_tracers_are_shown_by_their_types_and_deleted_arrays_say_so():
    seen = []
    jax.jit(lambda x: seen.append(repr(viz.show(x))) or x)(jnp.ones((3, 4)))
    assert seen == ["f32[3,4]  traced: a JaxprTracer, only its type is known"]
    x = jnp.ones(3)
    x.delete()
    assert repr(viz.show(x)) == "f32[3]  deleted or donated"


def test_two_trees_are_shown_with_their_difference():
    a = {"w": jnp.arange(3.0), "same": jnp.ones(2), "only": jnp.ones(2)}
    b = {"w": jnp.array([0.0, 1.0, 4.0]), "same": jnp.ones(2)}
    text = repr(viz.show(a, b, names=("old", "new")))
    assert "1 of 3 differ, most at [2]: by 2" in line(text, "['w']")
    assert "equal" in line(text, "['same']") and "only in old" in line(text, "['only']")
    assert "old − new" in viz.show(a, b, names=("old", "new")).fragment
    with pytest.raises(TypeError, match="one tree, or two"):
        viz.show(1, 2, 3)


def test_the_text_of_a_picture_has_shades_for_both_signs():
    text = viz.show(jnp.linspace(-1.0, 1.0, 100)).text()
    assert text.splitlines()[1].strip()[0] == "#" and text.splitlines()[1].strip()[-1] == "█"
    assert "\x1b[34m" in viz.show(jnp.linspace(-1.0, 1.0, 100)).text(colours=True)


def test_what_is_one_number_many_times_has_no_picture():
    assert "<img" not in viz.show(jnp.zeros((20, 20))).fragment
    turning = jnp.exp(1j * jnp.linspace(0.0, 3.0, 400)).reshape(20, 20)  # one size, many numbers
    assert viz.show(turning).fragment.count("<figure>") == 2


def test_axes_have_the_names_that_they_are_given():
    fragment = viz.show(jnp.asarray(ROWS), axes=("step", "<unit>")).fragment
    assert "step · 20" in fragment and "&lt;unit&gt; · 30" in fragment


def test_ten_million_elements_are_shown_in_a_moment():
    x = np.arange(10**7, dtype=np.float32).reshape(2000, 5000)
    begin = time.process_time()
    assert len(viz.show(x).html) < 500_000
    assert time.process_time() - begin < 3  # 0.3 on a machine with nothing else to do


def test_explain_has_pictures_of_larger_arrays():
    page = viz.explain(jnp.sin, jnp.asarray(ROWS))
    assert len(re.findall(r"data:image/png", page.html)) == 2 and "-300 .. 299" in page.html


def test_in_a_notebook_arrays_that_end_a_cell_can_be_pictures(monkeypatch):
    shown = {}
    formatter = SimpleNamespace(for_type=shown.__setitem__, pop=shown.pop)
    shell = SimpleNamespace(display_formatter=SimpleNamespace(formatters={"text/html": formatter}))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    viz.show_arrays()
    (draw,) = shown.values()
    assert "f32[3]" in draw(jnp.ones(3))
    viz.show_arrays(False)
    assert not shown
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    with pytest.raises(RuntimeError, match="for notebooks"):
        viz.show_arrays()


# ---- in a browser ----


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.mark.slow
def test_the_number_under_the_pointer_and_nothing_too_wide(browser, tmp_path):
    from selenium.webdriver.common.action_chains import ActionChains

    page = viz.show({"x": ROWS, "long": jnp.arange(1000.0), "deep": np.stack([ROWS, ROWS])})
    resize(browser, 1400, 1400)
    browser.get(page.save(tmp_path / "x.html").as_uri())
    found = []
    for image in browser.find_elements("css selector", ".frame img"):
        ActionChains(browser).move_to_element_with_offset(image, 5, -3).perform()
        found.append(browser.find_element("class name", "tinyjax-number").text)
    deep = ["[0, 9, 16]  −14", "[1, 9, 16]  −14"]
    assert found == [*deep, "[520:524]  mean 521.5", "[9, 15]  −15"]
    resize(browser, 390, 800, "dark")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    assert messages(browser) == []


@pytest.mark.slow
def test_the_slider_shows_an_iteration_and_play_goes_on_to_the_last(browser, tmp_path):
    board = jnp.asarray(ROWS)
    page = viz.iterations(lambda x: jax.lax.fori_loop(0, 3, lambda i, x: x + 1, x), board)
    resize(browser, 390, 900)
    browser.get(page.save(tmp_path / "x.html").as_uri())
    script = "const s = document.querySelector('[type=range]'); s.value = 1;"
    browser.execute_script(script + "s.dispatchEvent(new Event('input', {bubbles: true}))")
    assert browser.find_element("tag name", "output").text == "after 1 of 3"
    seen = [e.text for e in browser.find_elements("css selector", ".stats") if e.is_displayed()]
    assert "−299 .. 300, mean 0.5" in seen
    browser.execute_script("document.querySelector('.play').click()")
    wait = (
        "const [done] = arguments; setInterval(() => document.querySelector('output').textContent"
    )
    browser.execute_async_script(wait + " === 'after 3 of 3' && done(), 50)")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    assert messages(browser) == []
