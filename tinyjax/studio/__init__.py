"""What shows and teaches: pictures, pages, recordings, the command line, exercises."""

from tinyjax.core.missing_names import getattr_of

__getattr__ = getattr_of(__name__)
