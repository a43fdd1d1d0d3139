import pytest

from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.vector_lanes import NotVectorizable, lanes_of_chunk

CHUNK = index_var("i1", 0, 9)
NEXT = lanes_of_chunk(CHUNK, 150, 16)
E = NEXT.variable


def test_what_does_not_depend_on_the_element_is_uniform():
    assert NEXT.stride(CHUNK * 3 + 1) == 0


def test_contiguous_memory_begins_at_the_first_lane_and_ends_at_the_last():
    start, end = NEXT.span(index_var("i2", 0, 3) * 150 + E)
    assert str(start) == "i2 * 150 + i1 * 16"
    assert str(end) == "i2 * 150 + 150"


def test_whole_chunks_have_no_end():
    assert lanes_of_chunk(CHUNK, 160, 16).end is None


@pytest.mark.parametrize("at", [E * 2, index(149) - E])
def test_elements_that_are_apart_are_not_vectorized(at):
    with pytest.raises(NotVectorizable, match="apart"):
        NEXT.span(at)


@pytest.mark.parametrize("at", [E // 3, E % 3, E.min(7), E * E])
def test_an_index_that_is_not_linear_in_the_lane_has_no_stride(at):
    with pytest.raises(NotVectorizable, match="not the same"):
        NEXT.stride(at)
