"""A graph as a page of HTML, to move about in and to search; in a browser."""

import pytest
from browser import chromium, messages, resize

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.studio import viz
from tinyjax.studio.viz import output

needs_layout = pytest.mark.skipif(
    not output.layout_program(), reason="no layout program on this machine"
)


def graph():
    return viz.dot(jax.make_jaxpr(lambda weights, x: jnp.sin(weights["w"] * x))({"w": 1.0}, 2.0))


@needs_layout
def test_the_page_needs_no_network_and_is_named_as_the_file(tmp_path):
    page = viz.save(graph(), tmp_path / "a<b.html").read_text(encoding="utf-8")
    assert "<title>a&lt;b</title>" in page and "default-src 'none'" in page and "{{" not in page
    assert page.count("http") == page.count("http-equiv") + page.count("http://www.w3.org/")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def opened(browser, tmp_path):
    """The page of the graph, in a window of this size; fails if anything was written to the console."""

    def opened(width=1400, height=900):
        resize(browser, width, height)
        browser.get(viz.save(graph(), tmp_path / "graph.html").as_uri())
        return browser

    yield opened
    assert messages(browser) == []


def shown(browser):
    """The part that is seen: left, top, width, height."""
    script = "const b = document.querySelector('svg').viewBox.baseVal; return [b.x, b.y, b.width, b.height]"
    return browser.execute_script(script)


def press(browser, keys):
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser).send_keys(keys).perform()


@pytest.mark.slow
@needs_layout
def test_keys_zoom_move_and_show_all_of_it(opened):
    browser = opened()
    whole = shown(browser)
    press(browser, "+")
    assert shown(browser)[2] == pytest.approx(whole[2] / 1.25, rel=1e-3)
    press(browser, "\ue014")  # arrow right
    assert shown(browser)[0] > whole[0]
    press(browser, "0")
    assert shown(browser) == pytest.approx(whole, rel=1e-3)


@pytest.mark.slow
@needs_layout
def test_a_drag_moves_the_picture_with_the_pointer(opened):
    from selenium.webdriver.common.action_chains import ActionChains

    browser = opened()
    before = shown(browser)
    box = browser.find_element("id", "box")
    ActionChains(browser).drag_and_drop_by_offset(box, 90, 60).perform()
    after = shown(browser)
    scale = 1400 / before[2]
    assert [before[i] - after[i] for i in (0, 1)] == pytest.approx(
        [90 / scale, 60 / scale], rel=0.1
    )


@pytest.mark.slow
@needs_layout
def test_two_fingers_zoom(opened):
    browser = opened(390, 800)
    before = shown(browser)

    def touch(kind, *xs):
        points = [{"x": x, "y": 400, "id": i} for i, x in enumerate(xs)]
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 150, 240)
    touch("touchMove", 100, 290)
    touch("touchEnd")
    assert shown(browser)[2] < before[2] * 0.8


@pytest.mark.slow
@needs_layout
@pytest.mark.parametrize("text, found", [("SIN", ["sin"]), ("weights['w']", ["weights['w']"])])
def test_search_lights_the_nodes_in_which_a_text_stands(opened, text, found):
    browser = opened()
    press(browser, "/")
    press(browser, text)
    lit = browser.find_elements("css selector", ".node.found")
    assert len(lit) == 1 and all(word in lit[0].text for word in found)
    assert browser.find_element("id", "tally").text == "1 found"
