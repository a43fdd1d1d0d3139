"""Plain English: no word or name that only this project has, where the field or a dictionary has one."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("tinyjax", "tests", "tools", "benchmarks", "examples", "tutorials", "docs")
#: Recorded from JAX, written from other files, or not ours.
NOT_READ = re.compile(r"tests/golden/|tutorials/rendered/|codemirror|test_prose\.py")

WORDS = {  # in docstrings, comments, messages and pages: what to write instead
    "fix": "mend, mends, mended, mending",
    "related": "kin",
    "similar, and so on": "its like, the like",
    "without effect": "in vain",
    "anyway": "all the same., all the same;, all the same)",
    "respect": "heed, heeds, heeded",
    "expensive": "dear",
    "again": "anew",
    "must": "shall",
    "don't have to": "need not",
    "custom, user-defined": "of one's own",
    "unused": "nobody asks, nobody needs, nobody wants, nobody reads",
    "if it is needed": "somebody asks, somebody needs, somebody wants, somebody reads",
    "name, refer to": "speak of, speaks of",
    "given, reported, described": "is said, are said, was said, be said, is told, are told, be told,"
    " said of, told of",
    "release": "let go of, lets go of, letting go of",
    "return, release": "give back, gives back, given back, giving back",
    "reuse the buffer": "take over memory, takes over memory, takes over the memory",
    "what the file is": "After this file you can",
}
NAMES = {  # in code: the better name
    "said_of": "sharding_params",
    "told_params": "visible_params",
    "UNSAID_PARAMS": "IGNORED_JAX_PARAMS",
    "Routine": "StepProgram",
    "BodyPrimitive": "HigherOrderPrimitive",
    "FORWARDS": "IDENTITY_PRIMITIVES",
    "OPENED": "custom_inline_rules",
    "_Fitting": "PatternRule",
    "one_axis": "fuse_axes",
    "without_divisions": "fuse_contiguous_axes",
    "_far_apart": "_schedule_gpu_map",
    "can_be_vectors": "can_vectorize",
    "are_apart": "needs_gather",
    "have_room": "is_in_bounds",
    "MeetStep": "CollectiveStep",
    "home_of": "compile_device",
    "Asked": "PlacementRequest",
    "runs_in_parts": "multi_device_executors",
    "spread_anew": "reshard_array",
    "whole_everywhere": "replicated",
    "own_parts": "local_parts",
    "from_own_lines": "with_user_source_info",
    "shown_zero": "to_symbolic_zero",
    "rest_of_powers": "reduce_argument",
}


def files() -> list[Path]:
    paths = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    for folder in FOLDERS:
        paths += [
            p for p in (ROOT / folder).rglob("*.*") if p.suffix in (".py", ".md", ".toml", ".js")
        ]
    return [p for p in sorted(paths) if not NOT_READ.search(p.relative_to(ROOT).as_posix())]


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The comments and strings of a Python file, with their lines."""
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in kinds:
            yield from enumerate(token.string.split("\n"), token.start[0])


BETTER = {word: instead for instead, words in WORDS.items() for word in words.split(", ")} | NAMES
PARTS = {word: set(re.findall(r"\w+", word)) for word in BETTER}


def private_words(text: str, is_python: bool) -> list[tuple[int, str, str]]:
    """(line, word, what to write) of each private word and name."""
    there = set(re.findall(r"\w+", text))
    present = [word for word, parts in PARTS.items() if parts <= there]
    pattern = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, present))})(?!\w)")
    if not present or not pattern.search(text):
        return []
    lines = list(enumerate(text.split("\n"), 1))
    of_words = prose(text) if is_python else lines
    found = [(n, m[0]) for n, line in lines for m in pattern.finditer(line) if m[0] in NAMES]
    found += [(n, m[0]) for n, line in of_words for m in pattern.finditer(line)]
    return sorted({(n, word, BETTER[word]) for n, word in found})


def test_there_are_no_private_words():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {word}: write {instead}"
        for path in files()
        for line, word, instead in private_words(path.read_text(), path.suffix == ".py")
    ]
    assert not found, "\n".join(found)


def test_a_private_word_is_found_with_its_line_and_the_word_to_use():
    text = '"""Runs.\n\nMended anew."""\nanew = 1  # in vain\nhome_of(x)\n'
    assert private_words(text.replace("Mended", "mended"), True) == [
        (3, "anew", "again"),
        (3, "mended", "fix"),
        (4, "in vain", "without effect"),
        (5, "home_of", "compile_device"),
    ]
