"""exp, sin, pow and others, written in the kernel language."""
