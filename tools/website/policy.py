"""What a page may load and run: a Content-Security-Policy in its head.

Scripts come from the site's files alone, and the few lines that the theme writes into each page are named by
their hashes. (The nonce is no secret: it lets the editor write its styles, which cannot act.) Runs are in a
worker that is made of a blob, for which the page's policy holds too.
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path


def add_policies(site: Path, pyodide: str) -> None:
    """Put a policy into each page; `pyodide` is where it is loaded from, if not from the site."""
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        policy = policy_of(text, pyodide)
        head = f'<meta charset="utf-8">\n    <meta http-equiv="Content-Security-Policy" content="{policy}">'
        assert '<meta charset="utf-8">' in text, page
        page.write_text(text.replace('<meta charset="utf-8">', head, 1), encoding="utf-8")


def policy_of(text: str, pyodide: str) -> str:
    scripts = hashes(r"<script>(.*?)</script>", text)
    styles = hashes(r"<style>(.*?)</style>", text) + hashes(r'\sstyle="(.*?)"', text)
    elsewhere = f" {pyodide}" if pyodide else ""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src 'self' 'wasm-unsafe-eval'{elsewhere}{scripts}",
            f"style-src 'self' 'nonce-editor' 'unsafe-hashes'{styles}",
            "img-src 'self' data: blob:",
            f"connect-src 'self'{elsewhere}",
            "worker-src blob:",
            "frame-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
        ]
    )


def hashes(element: str, text: str) -> str:
    """As a policy names what stands between these tags."""
    found = dict.fromkeys(re.findall(element, text, re.DOTALL))
    digests = [hashlib.sha256(inside.encode()).digest() for inside in found]
    return "".join(f" 'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
