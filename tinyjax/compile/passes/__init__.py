"""Jaxpr to jaxpr: the same function, in fewer and simpler equations."""
