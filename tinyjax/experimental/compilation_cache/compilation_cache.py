"""The persistent compilation cache, under JAX's name; runtime/compilation_cache.py has it."""

from tinyjax.runtime.compilation_cache import reset_cache as reset_cache
from tinyjax.runtime.compilation_cache import set_cache_dir as set_cache_dir
