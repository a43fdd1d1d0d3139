"""Typical mistakes, and what JAX and tinyjax say of them: writes docs/mistakes.md.

    python tools/render_mistakes.py             # the page, from what was recorded of JAX
    python tools/render_mistakes.py --record    # first record what JAX says: needs a Python that has JAX

The programs are in tests/mistakes.toml. Of JAX, the exception's class and the first line are recorded.
"""

import argparse
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
PAGE = ROOT / "docs" / "mistakes.md"
RECORDED = TESTS / "golden" / "mistakes.json"
sys.path[:0] = [str(TESTS), str(ROOT)]

import mistakes  # type: ignore[import-not-found]  # noqa: E402

HEADING = """# Typical mistakes, and what their errors say

Written by `python tools/render_mistakes.py`. Each program follows these lines:

```python
{preamble}
```

Below it is what tinyjax says, and the first line of what JAX {version} says. Tracebacks end in the program.
"""


def record() -> None:
    """Writes {what is wrong: [class, first line]} as JAX has it."""
    import jax

    said = {}
    for mistake in mistakes.MISTAKES:
        error = mistakes.error_of(mistakes.PREAMBLE + mistake["program"])
        first_line = (str(error).splitlines() or [""])[0]
        said[mistake["what"]] = [mistakes.class_name(error), without_addresses(first_line)]
    text = json.dumps({"version": jax.__version__, "said": said}, indent=1)
    RECORDED.write_text(text + "\n")


def page() -> str:
    """The whole page, from the programs run on tinyjax and what was recorded."""
    recorded = json.loads(RECORDED.read_text())
    preamble = mistakes.PREAMBLE.rstrip()
    parts = [HEADING.format(preamble=preamble, version=recorded["version"])]
    section = None
    for mistake in mistakes.MISTAKES:
        if mistake["section"] != section:
            section = mistake["section"]
            parts.append(f"## {section}\n")
        kind, first_line = recorded["said"][mistake["what"]]
        error = mistakes.error_of(mistakes.on_tinyjax(mistakes.PREAMBLE + mistake["program"]))
        parts.append(
            f"**{mistake['what']}**\n\n```python\n{mistake['program'].rstrip()}\n```\n\n"
            f"```text\n{ours(error)}\n```\n\n"
            f"JAX: {as_code(f'{kind}: {first_line}')}\n"
        )
    return "\n".join(parts)


def ours(error: BaseException) -> str:
    """The exception's class and message, without what differs from run to run."""
    said = re.sub(rf"{re.escape(str(ROOT))}/([\w/.]+)(:\d+)?", r"\1", mistakes.message(error))
    if not isinstance(error, AttributeError):  # only some versions of Python suggest other names
        said = re.sub(r"\. Did you mean:? '\w+'\?$", "", said)
    return without_addresses(said)


def as_code(text: str) -> str:
    """Markdown's inline code, also of a text that has backticks."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def without_addresses(text: str) -> str:
    """Without memory addresses, and the folders in which packages are."""
    text = re.sub(r"/\S*/site-packages/", "", text)
    return re.sub(r"0x[0-9a-f]{6,}", "0x...", text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--record", action="store_true", help="record what JAX says")
    if parser.parse_args().record:
        record()
    else:
        PAGE.write_text(page())
