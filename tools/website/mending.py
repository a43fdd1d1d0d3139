"""What the theme leaves out for those who hear a page or go through it by keyboard, put in."""

from pathlib import Path

WORDS = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="On this page">',
    '<th class="head"><p></p></th>': '<th class="head"><p class="unseen">row</p></th>',
    '<div id="search-results">': "<h1>Search</h1>"
    '<form class="bar" action="search.html"><label>for <input name="q"></label>'
    '<button class="run">Search</button></form><div id="search-results">',
}


def mend(site: Path) -> None:
    """Put these words into each page that lacks them."""
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for before, after in WORDS.items():
            text = text.replace(before, after)
        page.write_text(text, encoding="utf-8")
