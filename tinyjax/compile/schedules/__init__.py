"""How the work of a kernel is laid out: loops, vectors, work-items."""
