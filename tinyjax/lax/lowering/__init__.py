"""The lowering rules of the families of lax."""
