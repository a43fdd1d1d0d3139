"""What tracing and compiling report to Python's `logging`, under the names of JAX's loggers.

`with jax.log_compiles():` shows each trace, each compilation and the time of each stage as warnings; without
it they are there at the level DEBUG, as in `logging.getLogger("jax").setLevel(logging.DEBUG)`.
"""

from __future__ import annotations

import logging
import time

from tinyjax.core.config import config

stages_logger = logging.getLogger("jax._src.dispatch")
compiling_logger = logging.getLogger("jax._src.interpreters.pxla")
misses_logger = logging.getLogger("jax._src.interpreters.partial_eval")
cache_logger = logging.getLogger("jax._src.compilation_cache")


def log_level() -> int:
    """The level of what jax_log_compiles shows."""
    return logging.WARNING if config.jax_log_compiles else logging.DEBUG


class logged_time:  # noqa: N801 (used as a statement is)
    """Logs how long the block took; nothing if it raises."""

    def __init__(self, stage: str):
        self.stage = stage

    def __enter__(self) -> None:
        self.began = time.perf_counter()

    def __exit__(self, error: object, *_: object) -> None:
        if error is None:
            seconds = time.perf_counter() - self.began
            stages_logger.log(log_level(), "Finished %s in %.6f sec", self.stage, seconds)
