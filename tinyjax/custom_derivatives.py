"""Derivative rules of one's own. Builds on jit."""
