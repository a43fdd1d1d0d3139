"""The teaching tools: pictures, pages, recordings, the command line, exercises."""

from tinyjax.core.missing_names import getattr_of
from tinyjax.studio import tracebacks as tracebacks

tracebacks.install()
__getattr__ = getattr_of(__name__)
