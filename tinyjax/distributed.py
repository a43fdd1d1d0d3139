"""`jax.distributed`: several processes; many_devices/distributed/ has how they meet.

Source: https://docs.jax.dev/en/latest/jax.distributed.html
"""

from tinyjax.core.missing_names import dir_of, getattr_of

_LAZY_NAMES = {
    "many_devices.distributed.initialize": ("initialize", "shutdown"),
    "many_devices.distributed.processes": ("is_initialized",),
}
__getattr__, __dir__ = getattr_of(__name__), dir_of(__name__)
