"""Where libraries say which of their files are to be cut from tracebacks: tinyjax cuts none."""

from collections.abc import Callable

_exclude_paths: list[str] = []


def api_boundary(fun: Callable, **options: object) -> Callable:
    """The function as it is."""
    return fun


def register_exclusion(path: str) -> None:
    """Notes the path, and that is all."""
    _exclude_paths.append(path)
