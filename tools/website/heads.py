"""What search engines and shared links show of the site: each page's title, description and picture.

Also a list of all pages, and the page that is shown where there is none.
"""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path

from website.pages import ROOT

FRONT = "tinyjax: JAX that you can read"  # the title of index.html
MOST = 160  # characters of a description that search engines show
CARD = "card.png"  # 1200 x 630, made by tools/picture_explain.py


def add_heads(site: Path, address: str) -> None:
    """Write a description into the head of each page but the search. If the site's address is known, also a
    picture for shared links, sitemap.xml and 404.html: these need whole addresses."""
    listed = []
    for page in sorted(site.rglob("*.html")):
        name = page.relative_to(site).as_posix()
        if name.startswith(("_static/", "pyodide/")) or name == "search.html":
            continue
        text = page.read_text(encoding="utf-8")
        if name == "index.html":
            text = re.sub("<title>.*?</title>", f"<title>{FRONT}</title>", text, count=1)
        page.write_text(
            text.replace("</title>", f"</title>\n{head(text, name, address)}", 1), encoding="utf-8"
        )
        listed.append(address + name.removesuffix("index.html"))
    if address:
        shutil.copy(ROOT / "docs" / CARD, site / "_static" / CARD)
        (site / "sitemap.xml").write_text(sitemap(listed), encoding="utf-8")
        write_not_found(site, address)


def head(text: str, name: str, address: str) -> str:
    """The elements of a page's head that say what it is; https://ogp.me has those of shared links."""
    found = re.search("<title>(.*?)</title>", text, re.DOTALL)
    assert found is not None, name
    title = found[1].removesuffix(" - tinyjax").strip()
    said = description(text, title)
    lines = [f'<meta name="description" content="{said}">']
    properties = {"type": "website", "site_name": "tinyjax", "title": title, "description": said}
    if address:
        properties |= {
            "url": address + name.removesuffix("index.html"),
            "image": f"{address}_static/{CARD}",
        }
        lines.append('<meta name="twitter:card" content="summary_large_image">')
    lines += [f'<meta property="og:{name}" content="{of}">' for name, of in properties.items()]
    return "\n".join(lines)


def description(text: str, title: str) -> str:
    """The first paragraph of a page's article, after its title, as far as it is shown."""
    article = text.partition("<article")[2]
    paragraphs = re.findall(r"<p(?: class=\"words\")?>(.*?)</p>", article, re.DOTALL)
    said = " ".join(re.sub("<[^>]+>", "", paragraphs[0] if paragraphs else "").split())
    words = html.unescape(": ".join(part for part in (title, said) if part and part != FRONT))
    if len(words) > MOST:
        words = words[: MOST - 2].rpartition(" ")[0] + " …"
    return html.escape(words)


def sitemap(addresses: list[str]) -> str:
    """All pages, as https://www.sitemaps.org has them."""
    urls = "".join(f"<url><loc>{html.escape(address)}</loc></url>\n" for address in addresses)
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{space}">\n{urls}</urlset>\n'


def write_not_found(site: Path, address: str) -> None:
    """404.html, which a server shows at any address: so its links are whole ones."""
    text = (ROOT / "tools" / "website" / "404.html").read_text(encoding="utf-8")
    (site / "404.html").write_text(text.replace("@address@", address), encoding="utf-8")
