"""The page of `explain`, rebuilt as the program is edited: a small server for one reader on this machine.

The server listens only on the loopback interface, and answers only requests with the token in its address,
which neither other pages of the browser nor other users of the machine have. Each version of the program is
explained in its own process, so that an endless loop ends after a minute and a crash becomes a message. Edits
in the page go to a copy; only Save writes the file. The editor is CodeMirror, bundled in page/codemirror.js
(tools/bundle_editor.py).
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tinyjax.studio.learn.atomic_files import write
from tinyjax.studio.viz.page_files import page_file

SECONDS = 60  # limit for a version
MOST_BYTES = 2**20  # of a program
POLICY = (  # the page is self-contained, and requests nothing but this server
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
    "frame-src 'self'"
)


class Live:
    """A program, its newest version that could be explained, and the error of the last one.

    `place` is file.py:function, `options` the other arguments of `python -m tinyjax explain`."""

    def __init__(self, place: str, options: Sequence[str]):
        file, _, self.function = place.rpartition(":")
        self.file = Path(file).resolve()
        self.options = list(options)
        self.folder = tempfile.TemporaryDirectory(prefix="tinyjax-live-")
        self.lock = threading.Lock()
        self.wanted = threading.Condition()
        self.text: str | None = None  # the text to explain next
        self.process: subprocess.Popen[str] | None = None  # explains the previous text
        self.seen: float | None = None  # the file's last known modification time
        self.state: dict[str, Any] = {"version": 0, "working": False, "error": "", "text": ""}
        self.page = ""
        threading.Thread(target=self._work, daemon=True).start()

    def look(self) -> None:
        """Read the file's text if it has changed."""
        try:
            changed = self.file.stat().st_mtime
            if changed != self.seen:
                self.edit(self.file.read_text(encoding="utf-8"))
                self.seen = changed
        except OSError as error:
            self._set(error=f"cannot read {self.file}: {error.strerror}")
        except UnicodeDecodeError as error:
            self._set(error=f"cannot read {self.file} as UTF-8: {error.reason}")

    def edit(self, text: str) -> None:
        """Explain this text instead of the previous one."""
        with self.wanted:
            self.text = text
            self._set(text=text, working=True)
            if self.process is not None:
                self.process.kill()
            self.wanted.notify()

    def save(self, text: str) -> None:
        """Write the text to the file atomically."""
        write(self.file, text)
        self.look()

    def _set(self, **changes: Any) -> None:
        with self.lock:
            self.state = {**self.state, **changes}

    def _work(self) -> None:
        while True:
            with self.wanted:
                self.wanted.wait_for(lambda: self.text is not None)
                text, self.text = self.text, None
            try:
                page, error = self._explained(text or "")
            except OSError as failed:  # of the folder for copies and pages
                page, error = "", str(failed)
            with self.wanted:
                if (
                    error and self.text is not None
                ):  # it was stopped, or its result is no longer needed
                    continue
                version = self.state["version"]
                if not error:
                    self.page, version = page, version + 1
                self._set(version=version, error=error, working=self.text is not None)

    def _explained(self, text: str) -> tuple[str, str]:
        """The page, or the error."""
        copy = Path(self.folder.name) / self.file.name
        copy.write_text(text, encoding="utf-8")
        output = Path(self.folder.name) / "page.html"
        words = [f"{copy}:{self.function}", *self.options, "-o", str(output)]
        found = [str(self.file.parent), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, found))}
        with subprocess.Popen(
            [sys.executable, "-m", "tinyjax", "explain", *words],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment,
        ) as process:  # fmt: skip
            with self.wanted:
                self.process = process
                if self.text is not None:  # a newer text arrived meanwhile
                    process.kill()
            try:
                _, errors = process.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                return "", f"it takes more than {SECONDS} s: is there an endless loop?"
        if process.returncode:
            said = errors.replace(str(copy), str(self.file)).strip()
            return "", said or f"it ended with status {process.returncode}"
        return output.read_text(encoding="utf-8").replace(str(copy), self.file.name), ""


class Server(ThreadingHTTPServer):
    """Answers on 127.0.0.1 for one program."""

    daemon_threads = True

    def __init__(self, live: Live, port: int = 0):
        super().__init__(("127.0.0.1", port), _Handler)
        self.live = live
        self.token = secrets.token_urlsafe(24)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/?token={self.token}"

    def is_allowed(self, host: str, token: str) -> bool:
        """Whether a request names this server as its host and has the token."""
        return host == f"127.0.0.1:{self.server_port}" and secrets.compare_digest(
            token.encode(), self.token.encode()
        )


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        """Send the workbench, the page in it, or its state."""
        live, path = self.server.live, self._allowed()
        if path == "/":
            scripts = f"{page_file('codemirror.js')}\n{page_file('live.js')}"
            self._answer(page_file("live.html").replace("{{js}}", scripts), "text/html")
        elif path == "/page":
            self._answer(live.page, "text/html")
        elif path == "/state":
            live.look()
            self._answer(json.dumps(live.state), "application/json")
        elif path:
            self.send_error(404)

    def do_POST(self) -> None:
        """Receive a text to explain, or to save."""
        path, told = self._allowed(), self.headers.get("Content-Length") or "0"
        length = int(told) if told.isdecimal() else MOST_BYTES + 1
        if path and length > MOST_BYTES:
            self.send_error(413, "a program of more than a megabyte, or of no length")
        elif path in ("/edit", "/save"):
            text = self.rfile.read(length).decode("utf-8", "replace")
            try:
                (self.server.live.edit if path == "/edit" else self.server.live.save)(text)
            except OSError as error:
                return self.send_error(500, f"cannot write the file: {error.strerror}")
            self._answer("", "text/plain")
        elif path:
            self.send_error(404)

    def _allowed(self) -> str:
        """The requested path; for a forbidden request "", after a 403 response."""
        asked = urlsplit(self.path)
        token = parse_qs(asked.query).get("token", [""])[0]
        if self.server.is_allowed(self.headers.get("Host", ""), token):
            return asked.path
        self.send_error(403, "the address needs the token that explain printed")
        return ""

    def _answer(self, text: str, kind: str) -> None:
        body = text.encode("utf-8")
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""
