"""What runs before a program ends. Equinox (https://docs.kidger.site/equinox) waits at exit by this name."""

from tinyjax.lax.debugging import effects_barrier as wait_for_tokens  # noqa: F401
