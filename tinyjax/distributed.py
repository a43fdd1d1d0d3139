"""`jax.distributed`: several processes; runtime/distributed/ has how they meet.

Source: https://docs.jax.dev/en/latest/jax.distributed.html
"""

from tinyjax.many_devices.distributed.initialize import initialize as initialize
from tinyjax.many_devices.distributed.initialize import shutdown as shutdown
from tinyjax.many_devices.distributed.processes import is_initialized as is_initialized
