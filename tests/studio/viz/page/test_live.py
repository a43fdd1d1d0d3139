"""The server of `explain --live`: who may ask it, and what an edit sets off."""

import http.client
import json
import runpy
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest
from browser import chromium, messages, resize

from tinyjax.__main__ import main
from tinyjax.studio.viz import live as live_module
from tinyjax.studio.viz.live import Live, Server

ROOT = Path(__file__).parents[4]
ENDLESS = "def f(x):\n    while True: pass\n"
PROGRAM = "import tinyjax.numpy as jnp\n\ndef f(x):\n    return jnp.sin(x) * x\n"


@pytest.fixture
def server(tmp_path):
    (tmp_path / "model.py").write_text(PROGRAM)
    server = Server(Live(f"{tmp_path / 'model.py'}:f", ["--args", "3.0"]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def ask(server, path, body=None, token=None, host=None):
    """The answer's status and text."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    headers = {"Host": host} if host else {}
    token = server.token if token is None else token
    connection.request(
        "POST" if body is not None else "GET", f"{path}?token={token}", body, headers
    )
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def state_when_done(server):
    for _ in range(600):
        state = json.loads(ask(server, "/state")[1])
        if not state["working"] and (state["version"] or state["error"]):
            return state
        time.sleep(0.2)
    raise AssertionError(f"it never ends: {state}")


@pytest.fixture
def explained(monkeypatch):
    """In place of a process that explains: the text it was given, or an error if it has "wrong" in it."""
    monkeypatch.setattr(
        Live, "_explained", lambda self, text: ("", "wrong") if "wrong" in text else (text, "")
    )


def test_who_does_not_know_the_token_is_refused(explained, server):
    for path in ("/", "/page", "/state"):
        assert ask(server, path, token="guess")[0] == 403
    assert ask(server, "/save", body="x", token="guess")[0] == 403
    assert server.live.file.read_text() == PROGRAM


def test_another_host_name_for_this_machine_is_refused(explained, server):
    assert ask(server, "/state", host=f"evil.example:{server.server_port}")[0] == 403


def test_the_server_listens_on_the_loopback_interface_alone(explained, server):
    assert server.server_address[0] == "127.0.0.1"


def test_a_change_of_the_file_is_a_new_version(explained, server):
    assert state_when_done(server)["version"] == 1
    server.live.file.write_text(PROGRAM + "# more\n")
    server.live.seen = 0.0  # file systems' clocks are coarse
    assert ask(server, "/state")[0] == 200
    while server.live.state["version"] < 2:
        time.sleep(0.01)
    assert ask(server, "/page")[1].endswith("# more\n")


def test_an_edit_changes_the_page_but_not_the_file(explained, server):
    state_when_done(server)
    assert ask(server, "/edit", body="edited")[0] == 200
    state_when_done(server)
    assert ask(server, "/page")[1] == "edited" and server.live.file.read_text() == PROGRAM


def test_a_wrong_program_leaves_the_last_page_and_says_what_is_wrong(explained, server):
    state_when_done(server)
    ask(server, "/edit", body="wrong")
    state = state_when_done(server)
    assert (state["version"], state["error"]) == (1, "wrong")
    assert ask(server, "/page")[1] == PROGRAM


def test_what_is_saved_is_in_the_file(explained, server):
    assert ask(server, "/save", body="saved")[0] == 200
    assert server.live.file.read_text() == "saved"
    assert [path.name for path in server.live.file.parent.iterdir()] == ["model.py"]


def test_a_file_that_is_no_text_is_said_and_read_when_it_is_one(explained, server):
    server.live.file.write_bytes(b"\xff")
    assert "as UTF-8" in json.loads(ask(server, "/state")[1])["error"]
    server.live.file.write_text("fixed")
    assert state_when_done(server)["text"] == "fixed"


def test_a_saved_file_keeps_its_mode(explained, server):
    server.live.file.chmod(0o700)
    ask(server, "/save", body="saved")
    assert server.live.file.stat().st_mode & 0o777 == 0o700


def test_a_program_of_more_than_a_megabyte_is_refused(explained, server, monkeypatch):
    monkeypatch.setattr(live_module, "MOST_BYTES", 3)
    assert ask(server, "/edit", body="long")[0] == 413


def test_live_needs_a_file(capsys):
    assert main(["explain", "math:sin", "--live"]) == 2
    assert "name it as in model.py:loss" in capsys.readouterr().err


@pytest.mark.slow
def test_the_page_names_the_file_and_not_the_copy_that_is_explained(server):
    state_when_done(server)
    page = ask(server, "/page")[1]
    assert '"title":"model.py: f"' in page and server.live.folder.name not in page


@pytest.mark.slow
def test_a_program_that_never_ends_is_ended(server, monkeypatch):
    state_when_done(server)  # of the file, which is looked at first
    monkeypatch.setattr(live_module, "SECONDS", 5)
    server.live.edit(ENDLESS)
    assert "endless loop" in state_when_done(server)["error"]


@pytest.mark.slow
def test_a_new_version_ends_the_one_before(server):
    state_when_done(server)
    server.live.edit(ENDLESS)
    while server.live.process.poll() is not None:
        time.sleep(0.01)
    server.live.edit(PROGRAM)  # long before SECONDS
    assert (state_when_done(server)["version"], server.live.state["error"]) == (2, "")


@pytest.mark.slow
def test_a_program_that_crashes_says_how_it_ended(server):
    state_when_done(server)
    server.live.edit("import os\nos.abort()\n")
    assert "it ended with status -6" in state_when_done(server)["error"]


@pytest.mark.slow
def test_a_file_that_is_wrong_at_first_is_said_in_the_page_and_can_be_mended(tmp_path):
    (tmp_path / "model.py").write_text("def f(x:\n")
    command = [sys.executable, "-m", "tinyjax", "explain", f"{tmp_path / 'model.py'}:f"]
    with subprocess.Popen(
        [*command, "--args", "1.0", "--live"], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            address = urlsplit(process.stdout.readline().strip())
            server = SimpleNamespace(
                server_port=address.port, token=parse_qs(address.query)["token"][0]
            )
            assert "SyntaxError" in state_when_done(server)["error"]
            ask(server, "/save", body=PROGRAM)
            while not (state := state_when_done(server))["version"]:
                time.sleep(0.1)
            assert state["error"] == ""
        finally:
            process.kill()


@pytest.fixture
def workbench(explained, server, tmp_path):
    with chromium(tmp_path / "profile") as browser:
        resize(browser, 1400, 900)
        browser.get(server.address)
        for _ in range(100):
            if "sin" in browser.find_element("css selector", ".cm-content").text:
                break
            time.sleep(0.1)
        yield browser
        assert messages(browser) == []


@pytest.mark.slow
def test_the_editor_indents_by_tab_and_colours_python(workbench, server):
    from selenium.webdriver.common.keys import Keys

    editor = workbench.find_element("css selector", ".cm-content")
    editor.send_keys(Keys.CONTROL, Keys.END)
    editor.send_keys(Keys.TAB, "y = 1")
    assert workbench.switch_to.active_element == editor
    assert "def" in [e.text for e in workbench.find_elements("css selector", ".cm-content .k")]
    workbench.find_element("id", "save").click()
    while server.live.file.read_text() == PROGRAM:
        time.sleep(0.05)
    assert server.live.file.read_text() == PROGRAM + "    y = 1"


@pytest.mark.slow
def test_a_change_of_the_file_is_in_the_editor_and_is_not_sent_back(workbench, server):
    server.live.file.write_text("# elsewhere\n")
    server.live.seen = 0.0  # file systems' clocks are coarse
    for _ in range(100):
        if "elsewhere" in workbench.find_element("css selector", ".cm-content").text:
            break
        time.sleep(0.1)
    assert not workbench.find_element("id", "save").is_enabled()


def test_the_editor_is_of_the_versions_that_the_site_has():
    tool = runpy.run_path(str(ROOT / "tools" / "bundle_editor.py"))
    assets = runpy.run_path(str(ROOT / "tools" / "website" / "assets.py"))
    head = tool["BUNDLE"].read_text(encoding="utf-8").partition("*/")[0]
    assert tool["listed"](tool["codemirror"](assets["NPM"])) in head, "run tools/bundle_editor.py"
    assert "Permission is hereby granted" in head


@pytest.mark.slow
def test_what_is_typed_beside_the_page_is_explained_and_the_tab_stays(server, tmp_path):
    def wait_for(text):
        for _ in range(300):
            if text in browser.find_element("id", "status").text:
                return
            time.sleep(0.2)
        raise AssertionError(browser.find_element("id", "status").text)

    with chromium(tmp_path / "profile") as browser:
        resize(browser, 1400, 900)
        browser.get(server.address)
        wait_for("version 1")
        browser.switch_to.frame(browser.find_element("id", "page"))
        browser.find_element("id", "passes-tab").click()
        browser.switch_to.default_content()
        browser.find_element("css selector", ".cm-content").send_keys("\n# more")
        wait_for("version 2")
        time.sleep(1)
        browser.switch_to.frame(browser.find_element("id", "page"))
        chosen = browser.find_element("css selector", "[role=tab][aria-selected=true]")
        assert chosen.get_attribute("id") == "passes-tab"
        assert messages(browser) == []
