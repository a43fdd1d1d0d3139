"""jit: a function that remembers its jaxprs."""
