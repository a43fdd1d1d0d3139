"""Sphinx's settings; build_site.py copies this file beside the pages."""

import functools

project = "tinyjax"
html_title = "tinyjax"
extensions = ["myst_parser"]
myst_heading_anchors = 3
myst_all_links_external = True  # links are written as HTML has them
html_theme = "furo"
html_static_path = ["_static"]
html_favicon = "_static/icon.svg"
html_css_files = ["site.css"]
html_js_files = [("page.js", {"type": "module"})]
html_show_copyright = False
html_show_sphinx = True
html_copy_source = False
html_show_sourcelink = False
html_use_index = False
html_domain_indices = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
language = "en"


def setup(app):
    """Add sources, which are no pages of Sphinx, and the lesson of each name to the search."""
    from sphinx.search.en import SearchEnglish

    from website.sources import add_to_search
    from website.taught import add_to_index

    SearchEnglish.stem = functools.cache(SearchEnglish.stem)  # else once for each page
    app.connect("html-collect-pages", add_to_search)
    app.connect("doctree-read", add_to_index)


suppress_warnings = ["myst.header", "myst.xref_missing", "misc.highlighting_failure"]
