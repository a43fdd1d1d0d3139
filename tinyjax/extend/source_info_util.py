"""Where libraries register their files for exclusion from the source lines shown to users.

tinyjax shows the line of the program that it runs, and excludes only its own files.
"""

from tinyjax.core.missing_names import getattr_of


def register_exclusion(path: str) -> None:
    """Does nothing: only lines of the user's program are shown."""


__getattr__ = getattr_of(__name__)
