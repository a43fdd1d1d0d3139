"""Types of one's own: libraries can define them, and are told that there are none."""

import pytest

from tinyjax.experimental import hijax


def test_an_operation_on_such_types_says_that_there_are_none():
    class Get(hijax.HiPrim):
        pass

    with pytest.raises(
        NotImplementedError, match="'Get' was called: tinyjax has no user-defined types"
    ):
        Get()(1.0)
