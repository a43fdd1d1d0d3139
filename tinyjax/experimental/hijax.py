"""The names of jax.experimental.hijax, so that libraries can define types of their own in it.

Flax's NNX does, and uses them if its flag `flax_hijax_variable` is set. There are no such types here: calling
one of their operations is an error that says so. The names are those that libraries import.
"""

from __future__ import annotations

from typing import Any, NoReturn

from tinyjax.core.array import ShapedArray as AbstractValue  # noqa: F401
from tinyjax.core.missing_names import getattr_of
from tinyjax.transform.jvp import Zero as Zero
from tinyjax.transform.jvp import instantiate_zeros as instantiate_zeros
from tinyjax.transform.transposition import is_undefined_primal as is_undefined_primal


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(
        f"{what}: tinyjax has no user-defined types (jax.experimental.hijax). A pytree of arrays and Refs "
        "can mostly stand for one; of Flax's NNX, leave the flag flax_hijax_variable unset"
    )


class HiPrim:
    """An operation on values of such types: it can be made, and not called."""

    def __call__(self, *args: Any) -> NoReturn:
        _refuse(f"'{type(self).__name__}' was called")


class HiType:
    """A user-defined type."""


class aval_property:  # noqa: N801  (JAX's name)
    """A property that tracers have from their type."""

    def __init__(self, fget: Any):
        self.fget = fget


class aval_method:  # noqa: N801  (JAX's name)
    """A method that tracers have from their type."""

    def __init__(self, fun: Any):
        self.fun = fun


def register_hitype(val_cls: type, typeof: Any) -> None:
    """Says what the type of values of a class is; here, they have none."""


__getattr__ = getattr_of(__name__)
