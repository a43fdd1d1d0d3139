"""The chapters of recorded cases: the files in the folders here, each with data files of its own.

A chapter is named as the module of tinyjax that it records: scipy/stats/kde.py records what
tinyjax/scipy/stats/kde.py gives. One that is about several modules of a folder has the folder's name:
scipy/stats/stats.py. A new file is a new chapter; nothing lists them.

A chapter's module may have

- `jaxprs(jax, jnp, lax)`: {name: thunk}, recorded as `str(thunk())` in golden/<chapter>.jaxprs.txt,
- `GROUPS`: a list of codec.Group, whose calls are recorded in golden/<chapter>.values.json,
- `ERRORS`: {section: [(bad call, texts that the message names)]}, in golden/<chapter>.errors.json,
- `names(jax, jnp, lax)`: what the calls may use besides inputs.names: functions, mostly.
"""

import importlib
from pathlib import Path

HERE = Path(__file__).parent
CHAPTERS = [
    path.relative_to(HERE).with_suffix("").as_posix() for path in sorted(HERE.glob("*/**/*.py"))
]


def modules():
    """{chapter: its module}"""
    return {
        name: importlib.import_module(f"golden_cases.{name.replace('/', '.')}") for name in CHAPTERS
    }


def names(chapter, jax, jnp, lax):
    """What a chapter's calls may use besides inputs.names."""
    return getattr(modules()[chapter], "names", lambda *_: {})(jax, jnp, lax)


def having(attribute):
    """{chapter: the attribute of its module}, of the modules that have it."""
    return {
        chapter: getattr(module, attribute)
        for chapter, module in modules().items()
        if hasattr(module, attribute)
    }
