"""`jax.distributed`: several processes; runtime/distributed/ has how they meet.

Source: https://docs.jax.dev/en/latest/jax.distributed.html
"""

from tinyjax.runtime.distributed.initialize import initialize as initialize
from tinyjax.runtime.distributed.initialize import shutdown as shutdown
from tinyjax.runtime.distributed.processes import is_initialized as is_initialized
