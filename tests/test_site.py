"""The site's pages, before Sphinx makes HTML of them."""

import html
import re

import pytest
import website_tools  # noqa: F401  (makes the next imports possible)
from site_links import dead_links
from slow_params import slow_params
from website.assets import NPM, with_files_for_names
from website.exercises import exercise_html, files_html
from website.front import SHOWN, speed_html
from website.heads import add_heads, description, head
from website.kernels import examples, write_kernels, write_players
from website.lessons import lesson_page, lessons, need_driver
from website.names import entry
from website.pages import Pages, prose
from website.policy import policy_of
from website.sources import STEPS, file_of, pieces, source_html
from website.taught import lessons_of_names

from tinyjax.studio.learn.cells import read_cells
from tinyjax.studio.learn.exercises import ROOT, lesson_number, load

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> & `</code>`"


@pytest.mark.parametrize("name", ["02_jvp", *slow_params(*(n for n in lessons() if n != "02_jvp"))])
def test_every_program_of_a_lesson_is_a_cell_with_its_text(name, tmp_path):
    page = lesson_page(name, Pages(tmp_path))
    shown = re.findall(r'class="cell".*?<pre class="code"[^>]*>(.*?)</pre>', page, re.DOTALL)
    texts = [html.unescape(re.sub(r"<[^>]+>", "", code)) for code in shown]
    cells = read_cells((ROOT / "tutorials" / f"{name}.py").read_text())
    assert texts == [cell.text.strip("\n").rstrip() for cell in cells if cell.kind != "markdown"]
    assert page.count('class="output"') == len(texts) + page.count('class="command"')
    assert page.count("\n```python\n") == (1 if name == "18_devices" else 0)  # part of a text there


def test_programs_need_a_driver_if_they_use_what_pyopencl_made():
    programs = [
        "import numpy as np\nx = 1",
        "import pyopencl as cl",
        "x = y = cl.f()",
        "x + 1",
        "x = 2",
    ]
    assert need_driver([*programs, "x + np.pi", "y"]) == {1, 2, 3, 6}


def test_an_exercise_has_what_is_handed_out_and_hides_its_hints(tmp_path):
    exercise = load()[0]
    page = exercise_html(Pages(tmp_path), exercise, "exercises/01_primitives")
    assert page.count('class="function"') == len(exercise.functions)
    assert page.count("<li hidden>") == len(exercise.hints)
    assert "raise" in page and "NotImplementedError" in page


def test_files_of_the_practice_are_shown_with_each_exercise_emptied():
    lab = [exercise for exercise in load() if exercise.lesson == lesson_number("19")]
    page = files_html(lab)
    assert page.count("### practice/") == 3
    for exercise in lab:
        for _, name in exercise.places:
            assert exercise.message(name) in page


def test_words_between_stars_are_stressed_and_code_is_as_it_is():
    assert prose("a *word*, `x * y * z`, f(*args)") == (
        '<p class="words">a <em>word</em>, <code>x * y * z</code>, f(*args)</p>'
    )


@pytest.mark.parametrize(("name", "lesson"), [
    ("grad", "08_grad"), ("jit", "10_jit"), ("vmap", "05_vmap"), ("jvp", "02_jvp"), ("vjp", "08_grad"),
    ("linearize", "07_linearize"), ("scan", "14_scan"), ("cond", "13_cond_and_while"),
    ("while_loop", "13_cond_and_while"), ("custom_jvp", "09_custom_rules"), ("custom_vjp", "09_custom_rules"),
    ("pytree", "04_pytrees"), ("tree_map", "04_pytrees"), ("jax.tree.map", "04_pytrees"),
    ("jax.random.split", "15_random"), ("shard_map", "18_devices"), ("make_jaxpr", "06_jaxprs"),
    ("checkpoint", "14_scan"), ("jacrev", "08_grad"),
])  # fmt: skip
def test_a_public_name_belongs_to_the_lesson_that_teaches_it(name, lesson):
    assert lessons_of_names()[name] == lesson


def test_a_function_that_all_lessons_use_belongs_to_none():
    assert not {"jax.numpy.sum", "jax.numpy.where", "jax.numpy.split"} & lessons_of_names().keys()


@pytest.mark.parametrize("step", [STEPS[0], *slow_params(*STEPS[1:])])
def test_a_source_beside_its_docstrings_leaves_nothing_out(step):
    source = (ROOT / file_of(step)).read_text()
    found = "\n".join(f"{piece.said}\n{piece.code}" for piece in pieces(source))
    words = set(re.findall(r"\w+", source)) - {"r"}
    assert words <= set(re.findall(r"\w+", found))


def test_hostile_docstrings_and_programs_are_text():
    shown = source_html(f'def f():\n    """{HOSTILE}"""\n    return "{HOSTILE}"\n')

    def g():
        pass

    g.__doc__ = HOSTILE
    for page in (shown, entry("jax.g", g)):
        assert "<script" not in page and "<img" not in page
        assert "&lt;script&gt;" in page


def test_links_lead_to_pages_and_pictures_are_copied(tmp_path):
    pages = Pages(tmp_path)
    text = (
        "[a](../glossary.md#bind) [b](../../tinyjax/core/bind.py) [c](01_primitives.md) [d](../practice) "
        "![e](figures/map.svg) [f](https://x.org) `[g](h.md)`"
    )
    assert pages.with_links(text, "tutorials/rendered/02_jvp.md", "lessons/02_jvp") == (
        "[a](../glossary.html#bind) [b](../source/tinyjax.core.bind.html) [c](01_primitives.html) d "
        '<img loading="lazy" src="../_static/pictures/map.svg" alt="e"> [f](https://x.org) `[g](h.md)`'
    )
    assert (tmp_path / "_static" / "pictures" / "map.svg").exists()
    assert pages.sources == {"tinyjax/core/bind.py"}


def test_the_label_of_a_link_may_be_code(tmp_path):
    text = "[`a`](../glossary.md#a) and `b`, [the `c` of](../glossary.md), `d`"
    assert Pages(tmp_path).with_links(text, "tutorials/rendered/02_jvp.md", "lessons/02_jvp") == (
        "[`a`](../glossary.html#a) and `b`, [the `c` of](../glossary.html), `d`"
    )


def test_dead_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="here"></p><a href="#here"></a><a href="b.html#there"></a><a href="https://x.org"></a>'
        '<a href="#gone"></a><a href="c.md"></a><img src="c.svg">'
    )
    (tmp_path / "b.html").write_text('<p id="there">')
    (tmp_path / "c.md").touch()
    assert dead_links(tmp_path) == ["a.html: #gone", "a.html: c.md", "a.html: c.svg"]


def test_a_policy_names_the_scripts_that_a_page_has_and_no_others():
    policy = policy_of("<script>one()</script><style>a{}</style>", "")
    assert "'unsafe-inline'" not in policy and "'unsafe-eval'" not in policy
    assert policy.count("'sha256-") == 2
    assert "https:" not in policy
    assert "connect-src 'self' https://cdn.org/p/;" in policy_of("", "https://cdn.org/p/")


def test_imports_of_packages_become_imports_of_files():
    text = 'import { a,\n  b } from "@codemirror/state";\nexport * from "crelt"\nimport x from "./y.js"'
    assert with_files_for_names(text) == (
        'import { a,\n  b } from "./state.js";\nexport * from "./crelt.js"\nimport x from "./y.js"'
    )
    assert all(len(digest) == 88 for _, digest, _, _ in NPM.values())


def test_kernels_at_work_are_pages_that_their_list_links_to(tmp_path):
    write_kernels(Pages(tmp_path))
    (tmp_path / "kernels").mkdir(exist_ok=True)
    write_players(tmp_path, examples()[3:4])
    assert "[stencil](stencil.html)" in (tmp_path / "kernels" / "index.md").read_text()
    assert "a_in[i1 + 2]" in (tmp_path / "kernels" / "stencil.html").read_text()


FOUND = (
    "<head><title>Vmap &amp; co. - tinyjax</title></head>"
    '<article><p class="order">step 1</p><p>It <b>"maps"</b>.</p></article>'
)


def test_a_page_says_in_its_head_what_it_is():
    said = head(FOUND, "lessons/05_vmap.html", "https://x.org/tinyjax/")
    assert 'name="description" content="Vmap &amp; co.: It &quot;maps&quot;."' in said
    assert 'property="og:title" content="Vmap &amp; co."' in said
    assert 'property="og:url" content="https://x.org/tinyjax/lessons/05_vmap.html"' in said
    assert 'property="og:image" content="https://x.org/tinyjax/_static/card.png"' in said
    assert "og:image" not in head(FOUND, "lessons/05_vmap.html", "")
    assert len(description(f"<article><p>{'word ' * 100}</p>", "Title")) <= 160


def test_a_site_whose_address_is_known_has_a_list_of_pages_and_one_for_those_not_found(tmp_path):
    (tmp_path / "_static").mkdir()
    for name in ("index", "glossary", "search"):
        (tmp_path / f"{name}.html").write_text(FOUND)
    add_heads(tmp_path, "https://x.org/tinyjax/")
    listed = re.findall("<loc>(.*)</loc>", (tmp_path / "sitemap.xml").read_text())
    assert listed == ["https://x.org/tinyjax/glossary.html", "https://x.org/tinyjax/"]
    assert 'href="https://x.org/tinyjax/lessons/index.html"' in (tmp_path / "404.html").read_text()
    assert (tmp_path / "_static" / "card.png").exists()


def test_the_chart_of_the_front_page_has_the_recorded_ratios():
    table = "| workload | | | | JAX / tinyjax |\n| --- | --- | --- | --- | --- |\n"
    table += "".join(f"| {name} | 1 | 1 | 1 | {n}.50 |\n" for n, name in enumerate(SHOWN))
    shown = speed_html(f"{table}\n| softmax | 9 |\nGeometric mean of those jitted: 2.21 times as")
    assert re.findall(r"<td>(\d\.\d\d)</td>", shown) == [f"{n}.50" for n in reversed(range(8))]
    assert shown.count('class="behind"') == 1 and "2.21 times" in shown
