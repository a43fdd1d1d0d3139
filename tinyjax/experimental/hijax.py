"""The names of jax.experimental.hijax, so that libraries can define types of their own in it.

Flax's NNX does, and uses them if its flag `nnx_use_hijax` is set. There are no such types here: binding one
of their primitives is an error that says so.

Source: https://docs.jax.dev/en/latest/jax.experimental.hijax.html
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
        f"{what}: tinyjax has no types of one's own (jax.experimental.hijax). A pytree of arrays and Refs "
        "can mostly stand for one; of Flax's NNX, leave the flag nnx_use_hijax unset"
    )


class HiPrimitive:
    """A primitive on values of such types: it has a name, and can't be bound."""

    def __init__(self, name: str):
        self.name = name

    def bind(self, *args: Any, **params: Any) -> NoReturn:
        _refuse(f"'{self.name}' was bound")


class HiType:
    """A type of one's own."""


class MutableHiType(HiType):
    """One whose values change."""


class AvalQDD:
    """A type, and what is known of its value at one point of a program."""

    def __init__(self, aval: Any, qdd: Any):
        self.aval = aval
        self.qdd = qdd


class AvalMutableQDD(AvalQDD):
    """The same, of a value that changes."""


class aval_property:  # noqa: N801  (JAX's name)
    """A property that tracers have from their type."""

    def __init__(self, fget: Any):
        self.fget = fget


class aval_method:  # noqa: N801  (JAX's name)
    """A method that tracers have from their type."""

    def __init__(self, fun: Any):
        self.fun = fun


class _Effects:
    """A list of kinds of effects, which nobody reads."""

    def add_type(self, effect: type) -> None:
        """Adds one."""


control_flow_allowed_effects = _Effects()


def register_hitype(val_cls: type, typeof: Any) -> None:
    """Says what the type of values of a class is; here, they have none."""


__getattr__ = getattr_of(__name__)
