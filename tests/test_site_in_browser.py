"""The site in a browser: read, run, judged, stopped; by keyboard alone; with texts that would do harm."""

import base64
import json
import os
import re
import shutil
import time

import pytest
import website_tools  # noqa: F401  (makes the next imports possible)
from browser import chromium, messages, resize
from judge_in_browser import answers
from render_tutorials import nearly
from site_in_browser import (
    FOUND_FIRST,
    IN_VIEW,
    JUDGE,
    NO_BAR_IS_HIDDEN,
    OF_COLOURS,
    OVERFLOW,
    as_recorded,
    empty_editor,
    is_as_wide_as_the_screen,
    links,
    press,
    ran,
    run_cell,
    served,
    texts,
    type_in,
    unseen_focus,
    until,
    violations,
    write,
)
from site_links import dead_links
from website.lessons import lessons, need_driver

from tinyjax.studio.learn.atomic_files import read
from tinyjax.studio.learn.cells import read_cells
from tinyjax.studio.learn.exercises import ROOT, load

pytestmark = pytest.mark.slow
HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def keep(tmp_path_factory):
    """Where npm's tarballs stay while the tests run."""
    return tmp_path_factory.mktemp("npm")


@pytest.fixture(scope="module")
def built(tmp_path_factory, keep):
    """The folder of the site, with Pyodide from registries."""
    pytest.importorskip("sphinx", reason="the site needs Sphinx: pip install -e .[site]")
    pytest.importorskip("furo", reason="the site needs Furo: pip install -e .[site]")
    if not shutil.which("npm"):
        pytest.skip("npm fetches what the site loads, and is not there")
    folder = tmp_path_factory.mktemp("site")
    pyodide = os.environ.get("TINYJAX_PYODIDE")  # a folder that is there already
    if not pyodide:
        pyodide = folder / "fetched"
        ran(ROOT / "tools/fetch_pyodide.py", "-o", pyodide, "--keep", keep)
    ran(ROOT / "tools/build_site.py", "-o", folder / "site", "--pyodide", pyodide, "--keep", keep)
    return folder / "site"


@pytest.fixture(scope="module")
def site(built):
    """The address of the site, on the loopback interface."""
    with served(built) as address:
        yield address


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        resize(browser, 1400, 1000)
        yield browser


@pytest.fixture
def opened(browser, site):
    """Opens a page; fails if anything was written to the console."""

    def opened(page):
        browser.get("about:blank")  # a fragment alone would load nothing
        browser.get(site + page)
        until(browser, NO_BAR_IS_HIDDEN)
        return browser

    yield opened
    assert messages(browser) == []


# ---- reading ----


def test_all_links_lead_somewhere(built):
    assert dead_links(built) == []


def test_reading_a_lesson_takes_less_than_320_kilobytes(opened, browser, site):
    """With all of its pictures, which come as one scrolls."""
    for page in sorted(
        {page for page in links(opened("lessons/index.html")) if "/lessons/" in page}
    ):
        browser.get(page)
        browser.execute_script("for (const image of document.images) image.loading = 'eager'")
        until(browser, "return [...document.images].every((image) => image.complete)")
        until(browser, NO_BAR_IS_HIDDEN)
        sizes = (
            "return performance.getEntries().reduce((sum, e) => sum + (e.encodedBodySize || 0), 0)"
        )
        assert 100_000 < browser.execute_script(sizes) < 320_000, page


@pytest.mark.parametrize("page", ["lessons/02_jvp", "exercises/02_jvp", "source/tinyjax.core.bind"])
def test_pages_can_be_read_without_scripts(browser, site, page):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(f"{site}{page}.html")
        shown = browser.find_element("css selector", "article").text
        programs = browser.find_elements("css selector", "article pre.code")
        assert programs and all(p.is_displayed() for p in programs)
        assert len(shown) > 2000
        assert not any(b.is_displayed() for b in browser.find_elements("css selector", ".bar"))
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_the_search_finds_functions_of_the_source(opened, browser):
    opened("search.html?q=backward_pass")
    until(browser, "return [...document.links].some((a) => a.href.includes('transposition.html'))")


KINDS = (
    "index.html", "lessons/00_story.html", "lessons/index.html", "lessons/05_vmap.html", "playground.html",
    "exercises/01_primitives.html", "exercises/index.html", "source/index.html", "benchmarks.html",
    "source/tinyjax.core.bind.html", "api/index.html", "api/jax.nn.html", "glossary.html",
    "examples/index.html", "search.html?q=vmap",
)  # fmt: skip


def test_axe_finds_nothing_and_no_page_is_wider_than_the_screen(opened, browser, keep):
    """On a phone the colours are the same: there, the playground's are looked at, below."""
    looks = (
        (1400, "light", {}),
        (1400, "dark", {"rules": OF_COLOURS}),  # only colours differ
        (390, "light", {"without": OF_COLOURS}),
    )
    for page in KINDS:
        opened(page)
        if "?q=" in page:
            until(browser, FOUND_FIRST)
        for width, scheme, chosen in looks:
            resize(browser, width, 1000, scheme)
            found = violations(browser, keep, **chosen)
            assert (page, width, scheme, found) == (page, width, scheme, [])
            assert is_as_wide_as_the_screen(browser), (page, width, scheme)
        resize(browser, 1400, 1000)


def test_programs_are_shown_in_their_full_width_on_a_wide_screen(opened):
    for page in (
        "exercises/05_vmap",
        "exercises/12_fusion",
        "lessons/00_story",
        "lessons/12_fusion",
    ):
        browser = opened(f"{page}.html")
        cut = (
            "[...document.querySelectorAll('pre.code')].some((p) => p.scrollWidth > p.clientWidth)"
        )
        assert (page, browser.execute_script(f"return {cut}")) == (page, False)


@pytest.mark.parametrize(("asked", "page"), [
    ("vmap", "lessons/05_vmap"), ("grad", "lessons/08_grad"), ("custom_vjp", "lessons/09_custom_rules"),
    ("random.split", "lessons/15_random"), ("jax.checkpoint", "lessons/14_scan"),
    ("pytree", "lessons/04_pytrees"),
])  # fmt: skip
def test_the_search_finds_first_the_lesson_that_teaches_a_name(opened, browser, asked, page):
    opened(f"search.html?q={asked}")
    assert until(browser, FOUND_FIRST) == f"{page}.html"


@pytest.mark.parametrize("width", [1400, 390])
def test_the_focus_is_seen(opened, width):
    browser = opened("exercises/02_jvp.html")
    resize(browser, width, 1000)
    assert unseen_focus(browser, 60) == []
    resize(browser, 1400, 1000)


# ---- running ----


def cells_run(built, site, browser, names):
    """By lesson, of each cell: whether it ran, whether it failed, what it showed before, and then. All are on
    one page, so that Python starts once."""
    pages = [(built / "lessons" / f"{name}.html").read_text() for name in names]
    articles = [re.search("<article.*</article>", page, re.DOTALL)[0] for page in pages]
    page = built / "lessons" / "together.html"
    page.write_text(pages[0].replace(articles[0], "".join(articles)))
    browser.get(f"{site}lessons/together.html")
    page.unlink()
    until(browser, NO_BAR_IS_HIDDEN)
    recorded = texts(browser)
    run_cell(browser, len(recorded) - 1)
    of_cell = """return [...document.querySelectorAll('.cell')].map((cell) => [cell.dataset.name,
        cell.querySelector('.output').matches('.live'), !!cell.querySelector('.output .error')])"""
    found = {name: [] for name in names}
    for told, before, now in zip(
        browser.execute_script(of_cell), recorded, texts(browser), strict=True
    ):
        found[told[0]].append((*told[1:], before, now))
    pictures = "[...document.querySelectorAll('.cell .live img')].every((i) => i.naturalWidth > 0)"
    assert until(browser, f"return {pictures}")
    assert messages(browser) == []
    return found


@pytest.fixture(scope="module")
def shown(built, site, browser):
    """What all cells show; a lesson that chooses the number of devices needs a Python that has none yet."""
    alone = {n for n in lessons() if "num_cpu_devices" in read(ROOT / f"tutorials/{n}.py")}
    others = [name for name in lessons() if name not in alone]
    found = cells_run(built, site, browser, others)
    for name in alone:
        found |= cells_run(built, site, browser, [name])
    return found


@pytest.mark.parametrize("lesson", lessons())
def test_cells_show_what_the_rendered_page_shows(shown, lesson):
    cells = read_cells(read(ROOT / f"tutorials/{lesson}.py"))
    cells = [cell for cell in cells if cell.kind != "markdown"]
    left_out = need_driver([cell.text for cell in cells])
    for place, (cell, (has_run, failed, before, now)) in enumerate(
        zip(cells, shown[lesson], strict=True)
    ):
        assert (place, has_run, failed) == (place, place not in left_out, False), now
        if cell.kind != "varies":  # times, names of devices
            (old, old_numbers), (new, new_numbers) = map(as_recorded, (before, now))
            assert (place, new) == (place, old)
            assert all(map(nearly, old_numbers, new_numbers))


def test_an_endless_loop_is_stopped_what_was_typed_stays_and_errors_are_text(opened):
    browser = opened("lessons/02_jvp.html")
    write(browser, ".cell .edit", "while True: pass")
    press(browser, ".cell .run")
    until(browser, "return document.querySelector('.cell .run').textContent == 'Stop'")
    until(
        browser, "return document.querySelector('.cell .state').textContent == '...'"
    )  # Python is there
    press(browser, ".cell .run")
    until(browser, "return document.querySelector('.cell .output').textContent == 'stopped'")
    assert (
        browser.execute_script("return document.querySelector('.cm-content').innerText")
        == "while True: pass"
    )
    browser.refresh()
    kept = "return document.querySelector('.cell pre.code').textContent == 'while True: pass'"
    until(browser, kept)
    write(browser, ".cell .edit", f"print('{HOSTILE}')\nraise ValueError('{HOSTILE}')")
    shown = run_cell(browser, 0)
    assert shown.count(HOSTILE) == 3  # printed, in the line, in the message
    assert not browser.execute_script(
        "return document.querySelector('.cell').querySelector('img, script')"
    )
    press(browser, ".cell .reset")
    assert "step" in run_cell(browser, 0)


def test_an_error_names_the_line_of_the_cell_and_folds_the_other_frames(opened):
    browser = opened("lessons/05_vmap.html")
    write(browser, ".cell .edit", "import tinyjax as jax\n\njax.vmap(1.0)")
    lines = run_cell(browser, 0).splitlines()
    assert lines[0] == "cell 1, line 3: jax.vmap(1.0)"
    folded = browser.find_element("css selector", ".cell .output details")
    assert folded.text == "All frames" and "batching.py" in folded.get_attribute("textContent")
    press(browser, ".cell .reset")


def test_a_run_keeps_the_place_of_the_text_below_and_ends_in_view(opened):
    browser = opened("lessons/08_grad.html")
    place = "return document.querySelectorAll('.cell')[1].getBoundingClientRect().top + scrollY"
    run_cell(browser, 0)
    write(browser, ".cell .edit", "import time\ntime.sleep(1)\nfor i in range(40): print(i)")
    run_cell(browser, 0)
    before = browser.execute_script(place)
    browser.execute_script("document.querySelector('.cell .bar').scrollIntoView({block: 'end'})")
    press(browser, ".cell .run")
    until(browser, "return document.querySelector('.running')")
    assert browser.execute_script(place) == before
    until(browser, "return !document.querySelector('.running')")
    assert browser.execute_script(place) == before
    until(browser, IN_VIEW, ".cell .output")
    press(browser, ".cell .reset")


def test_what_is_typed_over_a_selection_takes_its_place(opened):
    browser = opened("lessons/02_jvp.html")
    write(browser, ".cell .edit", "x = 1\ny = 2")
    text = "return document.querySelector('.cm-content').innerText"
    type_in(browser, "a", control=True)
    for key, expected in (("(", "(x = 1\ny = 2)"), ("z", "(z)")):  # what was selected, still is
        type_in(browser, key)
        assert browser.execute_script(text) == expected
    press(browser, ".cell .reset")


def test_a_program_that_asks_the_network_or_exits_is_told_so(opened):
    browser = opened("lessons/02_jvp.html")
    write(
        browser,
        ".cell .edit",
        "import urllib.request\nurllib.request.urlopen('http://example.org')",
    )
    assert "cannot use the network" in run_cell(browser, 0)
    write(browser, ".cell .edit", "import os\nos._exit(1)")
    assert "Python itself stopped" in run_cell(browser, 0)
    press(browser, ".cell .reset")
    assert "step" in run_cell(browser, 0)


ALL_DONE = "return ![...document.querySelectorAll('.run')].some((b) => b.textContent == 'Stop')"


def test_presses_while_a_cell_runs_wait_and_a_double_click_is_one_press(opened):
    browser = opened("lessons/02_jvp.html")
    for place in (1, 1, 0, 2):
        press(browser, ".cell .run", place)
    until(browser, ALL_DONE)
    assert browser.execute_script("return document.querySelectorAll('.cell .live').length") == 3


def test_what_another_tab_writes_is_shown(opened, browser):
    opened("lessons/02_jvp.html")
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    opened("lessons/02_jvp.html")
    write(browser, ".cell .edit", "2 + 3")
    browser.close()
    browser.switch_to.window(first)
    until(browser, "return document.querySelector('.cell pre.code').textContent == '2 + 3'")
    press(browser, ".cell .reset")


EXPLAIN = "import jax\nprint('once')\njax.viz.explain(jax.numpy.sin, 1.0)"
SHOWN_STEPS = "return document.querySelector('#steps .graph-box svg')"


def test_a_command_walks_through_a_function_in_the_page_and_explain_shows_it(opened):
    browser = opened("lessons/02_jvp.html")
    press(browser, ".command .run")
    until(browser, "return document.querySelector('.command iframe')")
    browser.switch_to.frame(0)
    until(browser, SHOWN_STEPS)
    browser.switch_to.default_content()
    write(browser, ".cell .edit", EXPLAIN)
    assert run_cell(browser, 0).strip() == "once"
    browser.switch_to.frame(browser.find_element("css selector", ".cell iframe"))
    assert until(browser, "return document.querySelectorAll('.line').length")
    browser.switch_to.default_content()
    press(browser, ".cell .reset")


SHOW = "import jax\njax.viz.show(jax.numpy.arange(600.0).reshape(20, 30))"


def test_a_picture_of_an_array_has_a_frame_as_high_as_it_is(opened):
    browser = opened("lessons/02_jvp.html")
    write(browser, ".cell .edit", SHOW)
    run_cell(browser, 0)
    frame = until(browser, "return document.querySelector('.cell iframe.picture[style]')")
    assert 250 < frame.size["height"] < 450
    browser.switch_to.frame(frame)
    assert until(browser, "return document.querySelector('.frame img')?.naturalWidth") == 30
    browser.switch_to.default_content()
    press(browser, ".cell .reset")


def test_a_browser_that_keeps_nothing_says_so(opened):
    browser = opened("lessons/02_jvp.html")
    browser.execute_script("Storage.prototype.setItem = () => { throw new Error() }")
    write(browser, ".cell .edit", "1")
    assert "keeps nothing" in until(browser, "return document.querySelector('.told').textContent")


def test_the_keyboard_is_enough(opened):
    browser = opened("lessons/03_nesting.html")
    for _ in range(80):
        type_in(browser, "@TAB")
        if browser.execute_script("return document.activeElement.matches('pre.code')"):
            break
    type_in(browser, "@ENTER")
    empty_editor(browser)
    type_in(browser, "print(6 * 7)")
    type_in(browser, "@ENTER", control=True)
    until(browser, "return document.querySelector('.cell .output').textContent.trim() == '42'")
    type_in(browser, "@ESCAPE", "@TAB")
    assert browser.execute_script("return document.activeElement.matches('.cell .run')")


def test_a_page_that_loads_the_wheel_says_import_jax(opened, built):
    if not list((built / "pyodide").glob("micropip-*")):
        pytest.skip(
            "this folder of Pyodide has no micropip: tools/fetch_pyodide.py makes one that has"
        )
    browser = opened("import_jax.html")
    printed = until(
        browser,
        "const { textContent } = output; return textContent.includes('in (g,)') && textContent",
    )
    assert printed.startswith("-2.8288574\n[0.84147096 1.8185948")


# ---- exercises, and the playground ----


def test_a_right_answer_passes_a_wrong_one_does_not_and_progress_is_kept(opened, site):
    browser = opened("exercises/02_jvp.html")
    press(browser, ".exercise > .bar .run")
    until(browser, "return document.querySelector('.verdict.empty')")
    assert (
        "write Dual.__mul__, Dual.__truediv__ first"
        in browser.find_element("css selector", ".verdict.empty").text
    )
    judged = (
        "const verdict = document.querySelectorAll('.verdict')[1];"
        "return verdict.className != 'verdict' && verdict.textContent"
    )
    given = browser.execute_script(
        "return [...document.querySelectorAll('.exercise')[1].querySelectorAll('.function')]"
        ".map((f) => f.dataset.function)"
    )
    from tinyjax.studio.learn.exercises import in_clone, place_of
    from tinyjax.studio.learn.functions import function_text

    texts = {name: function_text(in_clone(file).read_text(), function) for name in given
             for file, function in [place_of(name)]}  # fmt: skip
    for right in (False, True):
        mine = (
            texts
            if right
            else {**texts, given[0]: texts[given[0]].replace("return", "return None and")}
        )
        browser.execute_script(
            "for (const [name, text] of Object.entries(arguments[0]))"
            "  localStorage.setItem(`tinyjax:function:${name}`, JSON.stringify(text))", mine
        )  # fmt: skip
        browser.refresh()
        until(browser, "return !document.querySelector('.exercise .bar').hidden")
        press(browser, ".exercise > .bar .run", 1)
        found = until(browser, judged)
        assert found.startswith("Passed." if right else "Not yet")
        until(browser, IN_VIEW, ".verdict.passed" if right else ".verdict.failed")
    press(browser, ".exercise button.hint")
    assert (
        browser.execute_script("return document.querySelectorAll('.hints li:not([hidden])').length")
        == 1
    )
    browser.get(f"{site}lessons/index.html")
    assert until(browser, "return document.getElementById('progress').textContent").startswith(
        "1 of "
    )
    assert until(browser, "return document.querySelectorAll('#lesson-map .begun').length") == 1


def test_the_first_exercise_of_each_lesson_is_judged_right_and_wrong(opened):
    """In one Python; tools/judge_in_browser.py tries all exercises, in Node."""
    browser = opened("exercises/index.html")
    for exercise in {e.lesson: e for e in reversed(load())}.values():
        for state, answer in answers(exercise):
            found = browser.execute_async_script(JUDGE, exercise.number, answer)
            assert (exercise.number, found["state"]) == (exercise.number, state), found


def test_work_goes_out_as_a_folder_and_comes_back(opened, browser, tmp_path):
    browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    opened("exercises/index.html")
    name, mine = (
        "tinyjax.core.bind:Primitive.bind",
        "def bind(self, *args, **params):\n    return 7",
    )
    browser.execute_script("localStorage.clear()")
    keeps = "localStorage.setItem(arguments[0], JSON.stringify(arguments[1]))"
    browser.execute_script(keeps, f"tinyjax:function:{name}", mine)
    choose = (
        "const box = document.getElementById('lesson'); box.value = arguments[0]; return box.value"
    )
    until(browser, choose, "01_primitives")  # it has its lessons a moment after the page is there
    press(browser, "#export")
    until(browser, "return document.getElementById('said').textContent.includes('unpack it')")
    packed = tmp_path / "01_primitives.zip"
    while not packed.exists():
        time.sleep(0.1)
    browser.execute_script("localStorage.clear()")
    browser.find_element("css selector", "#import").send_keys(str(packed))
    until(browser, "return document.getElementById('said').textContent.includes('are here now')")
    back = "return JSON.parse(localStorage.getItem(arguments[0]))"
    assert browser.execute_script(back, f"tinyjax:function:{name}") == mine


def test_a_link_s_program_is_shown_and_runs_at_a_press_alone(opened):
    carried = {
        "text": f"# {HOSTILE}\ndef f(x):\n    return x * x",
        "function": "",
        "args": "3.0",
        "transforms": "grad",
    }
    code = base64.urlsafe_b64encode(json.dumps(carried).encode()).decode().rstrip("=")
    browser = opened(f"playground.html#program={code}")
    assert (
        browser.execute_script("return document.querySelector('pre.code').textContent")
        == carried["text"]
    )
    loaded = "return performance.getEntriesByType('resource').map((entry) => entry.name).join(' ')"
    assert "pyodide" not in browser.execute_script(loaded)
    press(browser, ".playground .run")
    until(browser, "return !document.getElementById('stages').hidden")
    browser.switch_to.frame("stages")
    lines = "return [...document.querySelectorAll('.line')].map((line) => line.textContent).join()"
    assert "mul" in until(browser, lines)
    assert not browser.execute_script("return document.querySelector('img')")
    browser.switch_to.default_content()


def test_the_playground_marks_the_page_that_an_error_leaves_and_shows_times_on_a_phone(
    opened, keep
):
    browser = opened("playground.html")
    resize(browser, 390, 1000, "dark")
    press(browser, ".playground .run")
    stale = "return document.querySelector('iframe.stages').matches('.stale')"
    until(browser, "return !document.getElementById('stages').hidden")
    assert not browser.execute_script(stale)
    browser.switch_to.frame("stages")
    until(browser, "return document.querySelector('#times .runs')")
    press(browser, "[role=tab]", 2)
    assert browser.execute_script(OVERFLOW, "#times .scroll") == 0
    browser.switch_to.default_content()
    write(browser, ".playground .edit", "def f(x):\n    return x + y")
    press(browser, ".playground .run")
    until(browser, stale)
    shown = browser.execute_script(
        "return document.querySelector('.playground .output').textContent"
    )
    assert shown.startswith("line 2, in f: return x + y") and "before this error" in shown
    assert violations(browser, keep) == [] and is_as_wide_as_the_screen(browser)
    write(browser, ".playground .edit", "def f(x):\n    return x + x")
    until(browser, f"return !({stale.removeprefix('return ')})")
    resize(browser, 1400, 1000)


def test_a_link_that_is_too_long_or_no_program_is_told(opened):
    for code in ("%%", "A" * 20_000, base64.urlsafe_b64encode(b"{}").decode().rstrip("=")):
        browser = opened(f"playground.html#program={code}")
        assert "could not be read" in browser.execute_script(
            "return document.getElementById('shared').textContent"
        )
