"""What exists only because JAX has the name. Only the flags are imported by `import tinyjax`."""

from tinyjax.compat import other_flags as other_flags
