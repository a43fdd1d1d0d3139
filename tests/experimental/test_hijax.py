"""Types of one's own: libraries can define them, and are told that there are none."""

import pytest

from tinyjax.experimental import hijax


def test_a_primitive_on_such_types_says_that_there_are_none():
    class Get(hijax.HiPrimitive):
        pass

    with pytest.raises(
        NotImplementedError, match="'get' was bound: tinyjax has no types of one's own"
    ):
        Get("get").bind(1.0)
