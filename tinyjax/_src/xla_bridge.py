"""Where chex.set_n_cpu_devices looks whether it is too late for that."""

from typing import Any

from tinyjax.extend.backend import backends
from tinyjax.extend.backend import get_backend as get_backend
from tinyjax.runtime.devices import are_known


def __getattr__(name: str) -> Any:
    if name == "_backends":
        return backends() if are_known() else {}
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
