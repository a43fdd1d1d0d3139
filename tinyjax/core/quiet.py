"""NumPy without its warnings: inf and nan are values here, as on any device.

NumPy keeps its error state in a context variable. Each thread has a context in which warnings are off, and
runs NumPy there: entering it costs less than switching the warnings off and on.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

_is_quiet = contextvars.ContextVar("_is_quiet", default=False)


class _Quiet(threading.local):
    """A context per thread, in which NumPy does not warn."""

    def __init__(self) -> None:
        self.context = contextvars.copy_context()
        self.context.run(np.seterr, all="ignore")
        self.context.run(_is_quiet.set, True)


_quiet = _Quiet()


def run_quietly(impl: Callable[..., Any], /, *values: Any, **params: Any) -> Any:
    """Calls an impl rule without NumPy's warnings."""
    if _is_quiet.get():  # an impl rule that calls others: the context can't be entered twice
        return impl(*values, **params)
    return _quiet.context.run(impl, *values, **params)
