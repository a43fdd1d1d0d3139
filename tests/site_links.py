"""The links of a folder of HTML pages that lead nowhere in it."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to or loads, and the places in it that a link can name."""

    def __init__(self, file):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name == "id":
                self.places.add(value)


def dead_links(folder):
    """Those of all pages, as "page: link". Links to other sites are not looked at."""
    folder = Path(folder).resolve()
    pages = {file: Page(file) for file in folder.rglob("*.html")}
    return [
        f"{file.relative_to(folder)}: {link}"
        for file, page in pages.items()
        for link in page.links
        if not leads_somewhere(link, file, pages)
    ]


def leads_somewhere(link, file, pages):
    address = urlsplit(link)
    if address.scheme or address.netloc:
        return True
    there = (file.parent / unquote(address.path)).resolve() if address.path else file
    if there in pages:
        return not address.fragment or unquote(address.fragment) in pages[there].places
    return there.is_file() and there.suffix != ".md"
