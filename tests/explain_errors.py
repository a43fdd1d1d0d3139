"""Where a wrong answer to an exercise would crash somewhere inside of tinyjax, a test explains the mistake.

with explain_errors("the branches must agree on which results have a tangent"):
    jax.jvp(f, (x,), (1.0,))
"""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def explain_errors(promise: str) -> Iterator[None]:
    """An error within fails the test with these words, which name the promise that is broken, and its own.
    What assertions say, and what exercises say that are not written yet, stays."""
    try:
        yield
    except (AssertionError, NotImplementedError):
        raise
    except Exception as error:
        raise AssertionError(
            f"{promise}. It ended with\n{type(error).__name__}: {error}"
        ) from error
