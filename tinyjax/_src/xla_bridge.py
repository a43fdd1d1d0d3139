"""Where chex.set_n_cpu_devices looks whether it is too late for that. Builds on devices."""

from typing import Any

from tinyjax.devices import are_known, client_of, default_backend


def __getattr__(name: str) -> Any:
    if name == "_backends":
        return {default_backend(): client_of(default_backend())} if are_known() else {}
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def get_backend(platform: str | None = None) -> Any:
    """What the devices of a platform have in common."""
    return client_of(platform or default_backend())
