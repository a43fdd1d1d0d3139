"""What to read after an exercise: right answers in other styles, and where JAX does the same."""

import tomllib

from tinyjax.studio.learn.atomic_files import read
from tinyjax.studio.learn.exercises import NAMES, ROOT, Exercise

JAX = "https://github.com/jax-ml/jax/blob/jax-v0.12.0/"


def other_answers(e: Exercise) -> list[tuple[str, str]]:
    """The right answers that the lesson's file of mutants has beside the reference: how each differs, and
    its code."""
    path = ROOT / "tutorials" / "mutants" / f"{NAMES[e.lesson]}.toml"
    entries = tomllib.loads(read(path)).get("right", []) if path.exists() else []
    return [
        (entry["why"], entry["code"].strip()) for entry in entries if entry["exercise"] == e.name
    ]


def jax_links(e: Exercise) -> list[str]:
    """The functions of JAX that do what the exercise does, each with its file on GitHub."""
    return [f"{name}  {JAX}{file}" for file, _, name in (text.partition(": ") for text in e.jax)]


def has_more(e: Exercise) -> bool:
    """Whether there is something to read beside the reference."""
    return bool(e.jax or other_answers(e))
