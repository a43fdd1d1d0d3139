"""jax.debug: looking into running programs."""

from tinyjax.core.missing_names import getattr_of
from tinyjax.lax.debugging import DebugEffect as DebugEffect
from tinyjax.lax.debugging import OrderedDebugEffect as OrderedDebugEffect
from tinyjax.lax.debugging import debug_callback as callback
from tinyjax.lax.debugging import debug_log as log
from tinyjax.lax.debugging import debug_print as print

__all__ = ["DebugEffect", "OrderedDebugEffect", "breakpoint", "callback", "log", "print"]
_VISUALIZE = ("inspect_array_sharding", "visualize_array_sharding", "visualize_sharding")
_LAZY_NAMES = {"studio.debugger": ("breakpoint",), "studio.viz.shardings": _VISUALIZE}
__getattr__ = getattr_of(__name__)
