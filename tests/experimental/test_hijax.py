"""User-defined types: libraries can define them, and get an error when they use them."""

import pytest

from tinyjax.experimental import hijax


def test_an_operation_on_such_types_says_that_there_are_none():
    class Get(hijax.HiPrim):
        pass

    with pytest.raises(
        NotImplementedError, match="'Get' was called: tinyjax has no user-defined types"
    ):
        Get()(1.0)
