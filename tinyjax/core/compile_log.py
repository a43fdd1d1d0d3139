"""What tracing and compiling report to Python's `logging`, under the names of JAX's loggers.

After this file you can watch a program compile: `with jax.log_compiles():` shows each trace, each
compilation and the time of each stage as warnings; without it they are there at the level DEBUG, as in
`logging.getLogger("jax").setLevel(logging.DEBUG)`. Builds on config.

Source: https://docs.jax.dev/en/latest/_autosummary/jax.log_compiles.html
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator

from tinyjax.core.config import config

stages_logger = logging.getLogger("jax._src.dispatch")
compiling_logger = logging.getLogger("jax._src.interpreters.pxla")
misses_logger = logging.getLogger("jax._src.interpreters.partial_eval")
cache_logger = logging.getLogger("jax._src.compilation_cache")


def log_level() -> int:
    """The level of what jax_log_compiles shows."""
    return logging.WARNING if config.jax_log_compiles else logging.DEBUG


@contextlib.contextmanager
def logged_time(stage: str) -> Iterator[None]:
    """Logs how long the block took; nothing if it raises."""
    began = time.perf_counter()
    yield
    seconds = time.perf_counter() - began
    stages_logger.log(log_level(), "Finished %s in %.6f sec", stage, seconds)
