"""Random programs for shard_map give what devices in NumPy give, as in tools/check_random_shard_maps.py."""

import pytest
from random_shard_maps import disagreement, draw


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_random_program_gives_what_devices_in_numpy_give(seed):
    program = draw(seed)
    assert disagreement(program) is None, str(program)
