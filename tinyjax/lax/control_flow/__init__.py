"""Structured control flow: a file each for cond, while_loop and scan, all public in jax.lax."""
