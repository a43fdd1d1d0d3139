"""Where libraries say which of their files are to be cut from tracebacks: tinyjax cuts none."""

from collections.abc import Callable
from types import FrameType

_exclude_paths: list[str] = []


def api_boundary(fun: Callable, **options: object) -> Callable:
    """The function as it is."""
    return fun


def register_exclusion(path: str) -> None:
    """Notes the path, and that is all."""
    _exclude_paths.append(path)


def include_frame(frame: FrameType) -> bool:
    """Whether the frame is of no file that was noted: Equinox shows such alone."""
    return not any(frame.f_code.co_filename.startswith(path) for path in _exclude_paths)
