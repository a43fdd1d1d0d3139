"""A call of every primitive of Refs, for tests/primitive_examples.py."""

from typing import Any

import tinyjax as jax
from tinyjax import lax


def with_refs(a: Any) -> Any:
    r = jax.new_ref(a)
    r[...] = lax.sin(r[...]) * a
    jax.ref.addupdate(r, ..., a * a)
    jax.free_ref(jax.new_ref(a))
    return jax.freeze(r)


def emptied(a: Any) -> Any:
    r = jax.empty_ref(jax.typeof(a))
    r[...] = lax.sin(a)
    return r[...]


EXAMPLES = {
    **dict.fromkeys(("new_ref", "get", "swap", "addupdate", "freeze", "free_ref"), with_refs),
    "empty_ref": emptied,
}
