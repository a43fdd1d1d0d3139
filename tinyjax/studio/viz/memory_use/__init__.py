"""The memory of a compiled call over time: which array is where, and what lives at the peak."""
