"""Where libraries register files whose frames are left out of tracebacks (studio/tracebacks.py does so)."""

from collections.abc import Callable
from types import FrameType

_exclude_paths: list[str] = []


def api_boundary(fun: Callable, **options: object) -> Callable:
    """The function itself: tracebacks are filtered where they are printed."""
    return fun


def register_exclusion(path: str) -> None:
    """Leaves the frames of files whose names begin with `path` out of printed tracebacks."""
    _exclude_paths.append(path)


def include_frame(frame: FrameType) -> bool:
    """Whether no path that was registered excludes the frame."""
    return not any(frame.f_code.co_filename.startswith(path) for path in _exclude_paths)
