"""jax.debug: looking into running programs."""

from tinyjax.debugger import breakpoint as breakpoint
from tinyjax.debugging import DebugEffect as DebugEffect
from tinyjax.debugging import OrderedDebugEffect as OrderedDebugEffect
from tinyjax.debugging import debug_callback as callback
from tinyjax.debugging import debug_log as log
from tinyjax.debugging import debug_print as print

__all__ = ["DebugEffect", "OrderedDebugEffect", "breakpoint", "callback", "log", "print"]
