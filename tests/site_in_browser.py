"""What tests of the site ask of a browser: wait, press, type, run a cell; and a web server for its files."""

import contextlib
import functools
import http.server
import re
import subprocess
import sys
import threading
import time

import pytest
import website_tools  # noqa: F401  (makes the next import possible)
from render_tutorials import without_fractions

AXE = (
    "axe-core",
    "4.14.1",
    "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
    "axe.min.js",
)
# The rules of axe that depend on colours.
OF_COLOURS = ("color-contrast", "link-in-text-block")
# A page that is there, and whose scripts have run: what is pressed before is lost.
NO_BAR_IS_HIDDEN = """return location.href != "about:blank" && document.readyState == "complete"
    && ![...document.querySelectorAll('.bar')].some((bar) => bar.hidden)"""
FOUND_FIRST = "return document.querySelector('#search-results li a')?.getAttribute('href')"
# Whether an element can be seen: all of it, or the beginning of a long one.
IN_VIEW = """const { top, bottom } = document.querySelector(arguments[0]).getBoundingClientRect();
    return top >= 0 && Math.min(bottom, top + innerHeight / 2) <= innerHeight"""
OVERFLOW = (
    "const box = document.querySelector(arguments[0]); return box.scrollWidth - box.clientWidth"
)


class Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript"} | {
        ".css": "text/css", ".wasm": "application/wasm", ".svg": "image/svg+xml", ".json": "application/json"
    }  # fmt: skip

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def served(folder):
    """The address of a server of the folder's files."""
    handler = functools.partial(Handler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def ran(*command):
    """Runs a program of the tools, or skips where what it fetches cannot be had."""
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{command[0]} did not find what it needs: {done.stderr.strip()[-300:]}")


def until(browser, script, *arguments, seconds=120):
    """Waits until the script gives something; gives it."""
    end = time.monotonic() + seconds
    while not (found := browser.execute_script(script, *arguments)):
        assert time.monotonic() < end, f"it never came: {script}"
        time.sleep(0.1)
    return found


def press(browser, selector, place=0):
    browser.execute_script(
        "document.querySelectorAll(arguments[0])[arguments[1]].click()", selector, place
    )


def type_in(browser, *keys, control=False):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    chain = ActionChains(browser)
    chain = chain.key_down(Keys.CONTROL) if control else chain
    chain = chain.send_keys(*(getattr(Keys, key[1:]) if key[0] == "@" else key for key in keys))
    (chain.key_up(Keys.CONTROL) if control else chain).perform()


def unseen_focus(browser, n):
    """Press Tab n times; the focused elements that are off the screen or have no outline."""
    seen = """const element = document.activeElement, { left, right } = element.getBoundingClientRect();
        return element == document.body || getComputedStyle(element).outlineStyle != 'none'
            && left > -1 && right < innerWidth + 1 || element.outerHTML.slice(0, 100)"""
    found = []
    for _ in range(n):
        type_in(browser, "@TAB")
        end = time.monotonic() + 1  # what slides in takes a quarter of a second
        while browser.execute_script(seen) is not True and time.monotonic() < end:
            time.sleep(0.05)
        found.append(browser.execute_script(seen))
    return [element for element in found if element is not True]


def run_cell(browser, place):
    """Presses Run and waits; what the cell shows."""
    press(browser, ".cell .run", place)
    time.sleep(0.2)
    until(browser, "return !document.querySelector('.running')")
    return texts(browser)[place]


def texts(browser):
    """What all cells of the page show."""
    return browser.execute_script(
        "return [...document.querySelectorAll('.cell .output')].map((output) => output.textContent)"
    )


def write(browser, selector, text):
    """Opens the first such editor and puts the text in place of what is there."""
    press(browser, selector)
    empty_editor(browser)
    browser.execute_cdp_cmd("Input.insertText", {"text": text})


def empty_editor(browser):
    """Waits for an editor to be entered, and deletes what is in it: else Chromium itself would style what it
    puts in another's place. It is ready when it answers the keys."""
    until(browser, "return document.activeElement.closest('.cm-editor')")
    for _ in range(50):
        type_in(browser, "a", control=True)
        type_in(browser, "@DELETE")
        if browser.execute_script("return document.activeElement.innerText.trim() == ''"):
            return
        time.sleep(0.1)
    raise AssertionError("the editor keeps its text")


def links(browser):
    return browser.execute_script(
        "return [...document.querySelectorAll('article a')].map((a) => a.href.split('#')[0])"
    )


def violations(browser, keep, rules=(), without=()):
    """What axe finds on the page, by all rules, by these, or by all others, each with its elements."""
    from website.assets import from_npm

    if not browser.execute_script("return 'axe' in window"):  # it stays until the page is left
        browser.execute_script(from_npm(*AXE, keep))
    # Only a rule that is off by default needs to load the style sheets again.
    options = {"resultTypes": ["violations"], "preload": False}
    options["rules"] = {rule: {"enabled": False} for rule in without}
    if rules:
        options["runOnly"] = {"type": "rule", "values": rules}
    return browser.execute_async_script(
        "const [options, done] = arguments; axe.run(document, options).then(({ violations }) =>"
        "  done(violations.map((v) => `${v.id}: ${v.nodes.map((node) => node.target)}`)))",
        options,
    )


def is_as_wide_as_the_screen(browser):
    return browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")


def as_recorded(text):
    """The text without what may differ from the rendered page: spaces, addresses, the size of Python's int,
    and a warning that the page does not show."""
    text = re.sub(r"NumPy runs the jaxprs: there is no OpenCL here.*", "", text)
    text = re.sub(r"0x\w+", "0x", re.sub(r"np\.int(32|64)", "np.int", text))
    text, numbers = without_fractions(text.strip())
    return text.split(), numbers


JUDGE = """
const [number, texts, done] = arguments;
window.judge ??= import(new URL("../_static/python.js", location)).then(({ Python }) => new Python(() => {}));
const asked = judge.then((python) => python.call("judge", { number, texts }));
asked.then(done, (error) => done({ state: error.message }));
"""
