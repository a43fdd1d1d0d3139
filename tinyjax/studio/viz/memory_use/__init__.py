"""The memory of a compiled call over time: the lifetime of each array, and the arrays at the peak."""
