"""Where libraries say which of their files are to be left out of lines that are told to users.

tinyjax tells the line of the program that it runs, and leaves out its own alone.
"""

from tinyjax.core.missing_names import getattr_of


def register_exclusion(path: str) -> None:
    """Nothing: no line is told of a file that is not the user's."""


__getattr__ = getattr_of(__name__)
