"""Functions that exist only for JAX's names. `import tinyjax` imports only the flags."""

from tinyjax.compat import other_flags as other_flags
