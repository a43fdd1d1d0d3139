"""The page of kernels at work, in a browser."""

import pytest
from browser import chromium, messages, resize

import tinyjax.numpy as jnp
from tinyjax.studio import viz

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def opened(browser, tmp_path):
    def opened(page, width=1400, height=900, scheme="light"):
        resize(browser, width, height, scheme)
        browser.get(page.save(tmp_path / "page.html").as_uri())
        return browser

    yield opened
    assert messages(browser) == []


@pytest.fixture(scope="module")
def product():
    return viz.kernel(lambda a, b: a @ b, jnp.ones((4, 8)), jnp.ones((8, 4)))


def press(browser, *keys):
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


def text(browser, selector):
    return browser.find_element("css selector", selector).text


def test_arrow_keys_go_through_steps_and_stages_and_space_plays(opened, product):
    from selenium.webdriver.common.keys import Keys

    browser = opened(product)
    press(browser, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
    assert text(browser, ".place") == "2 of 272"
    assert text(browser, ".code .here") == "b:f32 = b_in[i3 * 4 + i2]"
    assert "So far 2 elements loaded (0 of them again), 0 stored" in text(browser, ".sums")
    press(browser, Keys.END)
    assert "256 elements loaded (192 of them again), 16 stored" in text(browser, ".sums")
    press(browser, Keys.ARROW_DOWN)
    assert text(browser, ".stages-table tr.here button").startswith("Vectorize")
    press(browser, Keys.SPACE)
    assert text(browser, ".play") == "Stop"
    press(browser, Keys.SPACE)
    assert text(browser, ".play") == "Play"


def test_what_is_loaded_now_is_filled_in_its_work_items_colour(opened):
    browser = opened(viz.kernel(lambda x: x * 2, jnp.ones(64)))
    browser.find_elements("css selector", ".stages-table tbody button")[-1].click()
    colours = browser.execute_script(
        "const canvas = document.querySelector('canvas'), pen = canvas.getContext('2d');"
        "const cell = (canvas.width - 1) / 32;"  # 64 elements, 16 a work-item; the first four of each
        "const {data, width} = pen.getImageData(0, 0, canvas.width, canvas.height);"
        "const at = ([x, y]) => 4 * (Math.floor((y + 0.5) * cell) * width + Math.floor((x + 0.5) * cell));"
        "return [[0, 0], [16, 0], [0, 1], [16, 1], [4, 0]].map(at).map(n => data.slice(n, n + 4).join(' '))"
    )
    assert colours == [
        "0 114 178 255", "213 94 0 255", "0 158 115 255", "204 121 167 255", "0 0 0 0",
    ]  # fmt: skip


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_the_window(opened, product, width, scheme):
    browser = opened(product, width, 844, scheme)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_explain_has_them_as_a_view(opened):
    browser = opened(viz.explain(lambda x: x * 2, jnp.ones(6)))
    browser.find_element("id", "kernels-tab").click()
    assert "a_in" in text(browser, "#kernels .code")
    assert text(browser, "#kernels .place") == "1 of 12"
