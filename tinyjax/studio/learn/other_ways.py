"""Further reading after an exercise: right answers in other styles, and the same code in JAX."""

import tomllib

from tinyjax.studio.learn.atomic_files import read
from tinyjax.studio.learn.exercises import NAMES, ROOT, Exercise

JAX = "https://github.com/jax-ml/jax/blob/jax-v0.12.0/"


def other_answers(e: Exercise) -> list[tuple[str, str]]:
    """The right answers in the lesson's file of mutants besides the reference: how each differs, and its
    code. Those that change a few lines of the reference have none, and are left out."""
    path = ROOT / "tutorials" / "mutants" / f"{NAMES[e.lesson]}.toml"
    entries = tomllib.loads(read(path)).get("right", []) if path.exists() else []
    return [
        (entry["why"], entry["code"].strip())
        for entry in entries
        if entry["exercise"] == e.name and "code" in entry
    ]


def jax_links(e: Exercise) -> list[str]:
    """The JAX functions with the exercise's purpose, each with its file on GitHub."""
    return [f"{name}  {JAX}{file}" for file, _, name in (text.partition(": ") for text in e.jax)]


def has_more(e: Exercise) -> bool:
    """Whether there is further reading."""
    return bool(e.jax or other_answers(e))
