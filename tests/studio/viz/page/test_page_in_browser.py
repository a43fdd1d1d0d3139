"""The page that explains a function, in a browser."""

import io

import pytest
from browser import chromium, messages, resize
from explained_page import f, long_page, numbers_of, steps_of

import tinyjax as jax
from tinyjax.studio import viz
from tinyjax.studio.viz.terminal import SHORT, Stepper
from tinyjax.studio.viz.timeline import recorded

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a page from its file; fails if anything was written to the console."""

    def opened(page, width=1440, height=900, scheme="light"):
        resize(browser, width, height, scheme)
        browser.get(page.save(tmp_path / "page.html").as_uri())
        return browser

    yield opened
    assert messages(browser) == []


@pytest.fixture(scope="module")
def gradient():
    return viz.explain(f, 3.0, transforms=[jax.grad])


def lines_with(browser, kind):
    """The texts of the lines that are lit in this way."""
    return browser.execute_script(
        f"return [...document.querySelectorAll('.columns .{kind} .text')].map(e => e.textContent.trim())"
    )


def line(browser, column, text):
    """The line of a column that has this text in it."""
    script = (
        "return [...document.querySelectorAll(`.${arguments[0]} button.line`)]"
        ".find(e => e.textContent.includes(arguments[1]))"
    )
    found = browser.execute_script(script, column, text)
    assert found, f"no line in the column {column} has {text!r}"
    return found


def press(browser, *keys):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    ActionChains(browser).send_keys(*(getattr(Keys, key) for key in keys)).perform()


def point_at(browser, element):
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser).move_to_element(element).perform()


def test_the_passes_are_gone_through_by_keys_and_show_what_changed(opened):
    browser = opened(viz.explain(lambda x: x**2 + 1.0, 3.0))
    chosen = "return document.querySelector('#passes .row.here').textContent"
    browser.find_element("id", "passes-tab").click()
    browser.find_element("css selector", "#passes .row").click()
    press(browser, "END", "DOWN", "HOME")
    assert "rewrite_rules" in browser.execute_script(chosen)
    assert "integer_pow[2] x = mul x x" in browser.find_element("css selector", ".decided").text
    assert "integer_pow[y=2]" in browser.find_element("css selector", ".diff .old").text


def test_the_address_names_the_view_also_of_an_open_page(opened, gradient):
    browser = opened(gradient)
    for view in ("steps", "passes"):
        browser.get(f"{browser.current_url.partition('#')[0]}#view={view}")
        assert browser.find_element("id", view).is_displayed(), view
        chosen = browser.find_element("css selector", "[role=tab][aria-selected=true]")
        assert chosen.get_attribute("id") == f"{view}-tab"


@pytest.mark.parametrize("width", [390, 800, 1400])
def test_the_passes_fit_the_window(opened, gradient, width):
    browser = opened(gradient, width)
    browser.find_element("id", "passes-tab").click()
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_pointing_at_a_line_lights_its_kin_in_all_columns(opened, gradient):
    browser = opened(gradient)
    point_at(browser, line(browser, "traced", "= sin"))
    assert lines_with(browser, "here") == ["b:f32[] = sin a"]
    related = lines_with(browser, "related")
    assert "return jnp.sin(x) * x" in related and "c:f32[] = cos a" in related
    assert not any("= mul b a" in text for text in related)
    assert "b:f32[] = sin a" in browser.find_element("css selector", ".trail").text


def test_nothing_is_lit_when_the_pointer_has_left(opened, gradient):
    browser = opened(gradient)
    point_at(browser, line(browser, "traced", "= sin"))
    point_at(browser, browser.find_element("css selector", "h1"))
    assert lines_with(browser, "related") == []


def test_a_click_keeps_a_line_lit_until_escape(opened, gradient):
    browser = opened(gradient)
    line(browser, "traced", "= sin").click()
    point_at(browser, line(browser, "traced", "= mul"))
    assert lines_with(browser, "here") == ["b:f32[] = sin a"]
    press(browser, "ESCAPE")
    assert lines_with(browser, "here") == []


def test_keys_do_what_the_pointer_does(opened, gradient):
    browser = opened(gradient)
    browser.execute_script("document.querySelector('[role=tab]').focus()")
    press(browser, "TAB", "TAB")  # the first column's title, then its lines
    assert lines_with(browser, "here") == ["return jnp.sin(x) * x"]
    press(browser, "ARROW_RIGHT")
    assert lines_with(browser, "here") == ["b:f32[] = sin a"]
    press(browser, "ARROW_DOWN")
    assert lines_with(browser, "here") == ["h:f32[] = mul b a"]
    assert browser.execute_script("return document.activeElement.matches(':focus-visible')")


def test_what_is_simplified_away_says_so(opened, gradient):
    browser = opened(gradient)
    point_at(browser, line(browser, "transformed", "mul b 1.0"))
    assert "simplified away" in browser.find_element("css selector", ".trail").text


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1000, 1440])
def test_no_width_makes_the_page_scroll_sideways(opened, gradient, width, scheme):
    browser = opened(gradient, width, 844, scheme)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_a_phone_shows_one_column_below_the_other(opened, gradient):
    browser = opened(gradient, 390, 844)
    lefts = browser.execute_script(
        "return [...document.querySelectorAll('.column')].map(e => e.getBoundingClientRect().left)"
    )
    assert len(lefts) == 6 and len(set(lefts)) == 1


def test_texts_of_a_program_are_never_read_as_html(opened, tmp_path, monkeypatch):
    file = tmp_path / "wicked_model.py"
    file.write_text(
        "import tinyjax.numpy as jnp\n\n"
        "def wicked(x):\n"
        "    '</script><script>document.title = 1</script><!-- <img src=x onerror=alert(1)>'\n"
        "    return jnp.sin(x)  # </script> {{name}} &amp;\n"
        "wicked.__name__ = '</script><b>bold</b>{{css}}'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from wicked_model import wicked

    browser = opened(viz.explain(wicked, 3.0))
    assert browser.title == "</script><b>bold</b>{{css}}(3.0)"
    assert (
        browser.execute_script(
            "return document.querySelectorAll(':not(#kernels *) > b, img').length"
        )
        == 0
    )
    source = browser.find_element("css selector", ".python").text
    assert "</script> {{name}} &amp;" in source and "<!-- <img" in source


# ---- widths and long texts ----


def attention_with_a_long_signature(queries, keys, values, positions, options):
    scores = jax.numpy.tanh(queries @ keys.T + positions["relative"]["bias"]) * options["rate"]
    return jax.nn.softmax(scores) @ values


@pytest.fixture(scope="module")
def attention():
    x = jax.numpy.ones((16, 16))
    options = {"relative": {"bias": x, "unused": x}}, {"temperature": 2.0, "rate": 0.1}
    return viz.explain(attention_with_a_long_signature, x, x, x, *options)


def test_a_long_signature_leaves_the_head_on_one_line(opened, attention):
    browser = opened(attention, 1400)
    boxes = browser.execute_script(
        "return ['h1', '.search', '[role=tablist]']"
        ".map(e => document.querySelector(e).getBoundingClientRect())"
    )
    assert len({round(box["top"] + box["height"] / 2) for box in boxes}) == 1
    assert browser.execute_script("return document.querySelector('h1').title") == attention.title


def test_python_is_the_widest_column_and_none_of_its_lines_is_cut(opened, attention):
    browser = opened(attention, 1400)
    assert widths(browser)[0] == max(widths(browser))
    line(browser, "python", "scores = ").click()
    hidden = (
        "const box = document.querySelector('.python .scroll');"
        "return [box.scrollLeft, box.scrollWidth - box.clientWidth]"
    )
    assert browser.execute_script(hidden) == [0, 0]


def test_equations_break_between_their_parts_and_never_within_a_name(opened, attention):
    browser = opened(attention, 1400)
    broken = browser.execute_script("""
        const names = [];
        for (const text of document.querySelectorAll('.jaxpr .text')) {
          const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) for (const found of walker.currentNode.data.matchAll(/\\w+/g)) {
            const range = document.createRange();
            range.setStart(walker.currentNode, found.index);
            range.setEnd(walker.currentNode, found.index + found[0].length);
            if (range.getClientRects().length > 1) names.push(found[0]);
          }
        }
        return names;
    """)
    assert broken == []


def test_the_columns_widths_are_remembered(opened, gradient):
    browser = opened(gradient)
    browser.execute_script("document.querySelector('.divider').focus()")
    press(browser, "ARROW_RIGHT", "ARROW_RIGHT")
    after = widths(browser)
    browser.refresh()
    assert widths(browser) == after
    browser.execute_script("localStorage.clear()")


# ---- many equations: lines are drawn as they come near ----


@pytest.fixture(scope="module")
def many():
    def deep(x):
        for _ in range(400):
            x = jax.numpy.sin(x) * 0.5
        return jax.numpy.tan(x)

    return viz.explain(deep, 3.0)


DRAWN = "return document.querySelectorAll('.transformed .line').length"


def test_of_many_equations_those_are_drawn_that_are_near_to_what_is_seen(opened, many):
    browser = opened(many)
    few = browser.execute_script(DRAWN)
    assert few < 300
    browser.execute_script("boxes[1].scrollTop = boxes[1].scrollHeight")
    assert line_appears(browser, "transformed", "= tan")
    assert few < browser.execute_script(DRAWN) < 600


def line_appears(browser, column, text):
    """The line of a column with this text, which is drawn after a scroll."""
    from selenium.webdriver.support.wait import WebDriverWait

    script = (
        "return [...document.querySelectorAll(`.${arguments[0]} .line`)]"
        ".some(e => e.textContent.includes(arguments[1]))"
    )
    return WebDriverWait(browser, 30).until(
        lambda browser: browser.execute_script(script, column, text)
    )


def test_a_search_finds_and_shows_what_is_not_drawn_yet(opened, many):
    from selenium.webdriver.common.keys import Keys

    browser = opened(many)
    field = browser.find_element("id", "search")
    field.send_keys("= tan")
    found = browser.find_element("id", "found").text
    field.send_keys(Keys.ENTER)
    assert found == "2 found"  # in the jaxpr, and in a group
    current = browser.find_element("css selector", ".current")
    assert "= tan" in current.text and current.is_displayed()


def test_a_line_lights_its_kin_when_it_is_drawn_later_and_scrolls_to_it(opened, many):
    browser = opened(many)
    line(browser, "python", "jax.numpy.tan(x)").click()
    assert line_appears(browser, "transformed", "= tan")
    assert any("= tan" in text for text in lines_with(browser, "related"))


# ---- the steps ----


def test_a_move_has_the_word_that_it_has_in_the_terminal(opened, gradient):
    browser = open_steps(opened(gradient))
    named = browser.execute_script("return MOVES.map(([name]) => name)")
    assert {"into", "next", "out"} < set(named) and {"into", "next", "out"} <= set(SHORT.values())
    for move, command in (("into", "do_into"), ("next", "do_next"), ("out", "do_out")):
        browser.execute_script("go(2)")
        browser.find_element("css selector", f".move.{move}").click()
        stepper = Stepper(gradient_recording(), lambda run_at: None, stdout=io.StringIO())
        stepper.number = 2
        getattr(stepper, command)("")
        assert place(browser) == stepper.number


def gradient_recording():
    jax.clear_caches()
    return recorded(jax.grad(f), (3.0,))


def open_steps(browser):
    browser.find_element("id", "steps-tab").click()
    return browser


def place(browser):
    """The number of the event that is shown."""
    return int(browser.find_element("css selector", "#steps .place").text.split(" / ")[0])


def lit_texts(browser, part):
    """The lit lines in a part of the page."""
    script = "return [...document.querySelectorAll(`.${arguments[0]} .here .text`)].map(e => e.textContent)"
    return [text.strip() for text in browser.execute_script(script, part)]


def test_keys_step_forward_and_back(opened, gradient):
    browser = open_steps(opened(gradient))
    assert place(browser) == 0
    press(browser, "ARROW_RIGHT", "ARROW_RIGHT")
    assert place(browser) == 2
    assert lit_texts(browser, "program") == ["return jnp.sin(x) * x"]
    assert "sin_jvp" in lit_texts(browser, "rule")[0]
    press(browser, "ARROW_LEFT")
    assert place(browser) == 1
    press(browser, "END", "ARROW_RIGHT")
    assert place(browser) == len(steps_of(gradient)["events"]) - 1
    press(browser, "HOME", "ARROW_LEFT")
    assert place(browser) == 0


def test_next_leaves_out_what_is_within_and_out_goes_to_what_is_around(opened, gradient):
    browser = open_steps(opened(gradient))
    (backward,) = numbers_of(steps_of(gradient), "trace", "backward pass")
    press(browser, "ARROW_DOWN")
    assert place(browser) == backward
    press(browser, "ARROW_RIGHT", "ARROW_RIGHT", "ARROW_RIGHT", "ARROW_RIGHT")
    press(browser, "ARROW_UP", "ARROW_UP", "ARROW_UP")
    assert place(browser) == backward


def test_buttons_do_what_keys_do(opened, gradient):
    browser = open_steps(opened(gradient))
    for name, expected in (("into", 1), ("into", 2), ("previous", 1), ("out", 0), ("last", 42)):
        browser.find_element("css selector", f".move.{name}").click()
        assert place(browser) == expected


def test_the_slider_goes_anywhere(opened, gradient):
    browser = open_steps(opened(gradient))
    browser.execute_script(
        "const slider = document.querySelector('#steps input[type=range]');"
        "slider.value = 7; slider.dispatchEvent(new Event('input'))"
    )
    assert place(browser) == 7
    assert "impl cos" in browser.find_element("css selector", ".path").text
    assert "-0.989992" in browser.find_element("css selector", ".values").text
    assert "EvalTrace" in browser.find_element("css selector", ".traces").text


def test_the_graph_lights_the_node_of_the_event_and_pales_what_is_yet_to_come(opened, gradient):
    browser = open_steps(opened(gradient))
    (cos,) = numbers_of(steps_of(gradient), "impl", "cos")
    browser.execute_script("go(arguments[0])", cos)
    lit = browser.find_elements("css selector", ".graph .lit")
    assert [node.get_attribute("id") for node in lit] == [f"event-{cos}"]
    later = browser.find_elements("css selector", ".graph .node.later")
    assert later and all(int(node.get_attribute("id").split("-")[1]) > cos for node in later)


def test_a_value_leads_to_the_event_that_made_it(opened, gradient):
    browser = open_steps(opened(gradient))
    rule = numbers_of(steps_of(gradient), "jvp rule", "mul")[0]
    browser.execute_script("go(arguments[0])", rule)
    browser.find_element("css selector", ".values .from button").click()
    assert "impl sin" in browser.find_element("css selector", ".path").text


@pytest.mark.parametrize("width", [390, 1000, 1440])
def test_steps_do_not_scroll_sideways_either(opened, gradient, width):
    browser = open_steps(opened(gradient, width))
    browser.execute_script("go(20)")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_a_step_among_2000_changes_few_elements(opened):
    """So that it is shown within a frame: what takes long is to lay out what changed."""
    browser = open_steps(opened(long_page()))
    changed, all_of_them = browser.execute_script("""
        const observer = new MutationObserver(() => {});
        observer.observe(document, { subtree: true, childList: true, attributes: true });
        const counts = [];
        for (let number = 0; number < events.length; number += 19) {
          go(number);
          const changes = observer.takeRecords();
          const added = changes.flatMap(change => [...change.addedNodes]);
          const within = added.map(node => node.querySelectorAll?.("*").length ?? 0);
          counts.push(within.reduce((a, b) => a + b, changes.length));
        }
        return [counts.sort((a, b) => a - b)[counts.length >> 1], document.querySelectorAll("*").length]
    """)
    assert changed < all_of_them / 20, f"a step changes {changed} of {all_of_them} elements"


# ---- the workbench: widths, folding, search, times ----


def widths(browser):
    return browser.execute_script(
        "return [...document.querySelectorAll('.column')].map(e => e.offsetWidth)"
    )


def test_a_title_folds_its_column_and_the_others_get_its_width(opened, gradient):
    browser = opened(gradient)
    before = widths(browser)
    browser.find_element("css selector", ".column.time .fold").click()
    folded = widths(browser)
    assert folded[-1] < 40 and all(now > was for now, was in zip(folded[:-1], before))
    browser.find_element("css selector", ".column.time .fold").click()
    assert widths(browser) == before


def test_arrow_keys_on_a_divider_give_one_column_what_the_other_loses(opened, gradient):
    browser = opened(gradient)
    before = widths(browser)
    browser.execute_script("document.querySelector('.divider').focus()")
    press(browser, "ARROW_RIGHT")
    after = widths(browser)
    assert after[0] > before[0] and after[1] < before[1] and after[2:] == before[2:]


def test_a_search_counts_what_it_finds_and_enter_goes_from_one_to_the_next(opened, gradient):
    from selenium.webdriver.common.keys import Keys

    browser = opened(gradient)
    browser.find_element("css selector", "body").send_keys("/")
    field = browser.switch_to.active_element
    field.send_keys("cos")
    found = browser.find_elements("css selector", "#stages .found")
    assert found and browser.find_element("id", "found").text == f"{len(found)} found"
    field.send_keys(Keys.ENTER, Keys.ENTER)
    assert browser.find_element("css selector", ".current") == found[1]
    field.send_keys(Keys.ESCAPE)
    assert browser.find_elements("css selector", ".found") == []


def test_letters_typed_into_the_search_are_no_moves_among_steps(opened, gradient):
    browser = open_steps(opened(gradient))
    browser.find_element("id", "search").send_keys("f")
    press(browser, "ARROW_RIGHT")
    assert place(browser) == 0


def test_an_event_folds_what_happens_within_it_and_a_step_there_unfolds_it(opened, gradient):
    browser = open_steps(opened(gradient))
    shown = "return rows.filter(row => !row.parentElement.hidden).length"
    every = browser.execute_script(shown)
    browser.find_element("css selector", ".caret[aria-expanded]").click()
    assert browser.execute_script(shown) < every
    press(browser, "ARROW_RIGHT")
    assert browser.execute_script(shown) == every


def test_the_graph_is_drawn_nearer_by_its_button(opened, gradient):
    browser = open_steps(opened(gradient))
    width = "return 1 / document.querySelector('.graph svg').viewBox.baseVal.width"
    button = browser.find_element("css selector", ".zoom")
    button.click()
    before = browser.execute_script(width)
    button.click()
    assert browser.execute_script(width) > before


def test_each_launch_is_a_bar_on_the_time_axis_and_a_line_of_the_table(opened):
    browser = opened(viz.explain(lambda x: jax.numpy.sort(x * 2.0), jax.numpy.ones(10)))
    browser.find_element("id", "times-tab").click()
    bars = [bar.text for bar in browser.find_elements("css selector", "#times .span")]
    assert "sort" in bars
    browser.find_elements("css selector", "#times .line")[bars.index("sort")].click()
    assert browser.find_element("css selector", ".span.here").text == "sort"


@pytest.mark.parametrize("width", [390, 800, 1400])
def test_the_times_fit_the_window(opened, gradient, width):
    browser = opened(gradient, width)
    browser.find_element("id", "times-tab").click()
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_search_lights_nodes_of_the_graph_too(opened, gradient):
    browser = opened(gradient)
    browser.find_element("id", "steps-tab").click()
    press(browser, "DIVIDE")
    browser.find_element("id", "search").send_keys("cos")
    lit = browser.find_elements("css selector", ".graph .node.found")
    assert lit and all("cos" in node.text for node in lit)
