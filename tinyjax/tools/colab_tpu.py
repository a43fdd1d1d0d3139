"""The setup call of older notebooks for Colab's TPUs. JAX removed it; here it warns with the devices."""

import warnings

from tinyjax.runtime.devices import devices


def setup_tpu(tpu_driver_version: str | None = None) -> None:
    """Warns that there is no TPU to set up, and says on which devices the program runs instead."""
    there = ", ".join(map(str, devices()))
    warnings.warn(
        f"jax.tools.colab_tpu.setup_tpu() does nothing: tinyjax runs on OpenCL devices, here on {there}. "
        "Today's JAX finds TPUs by itself: leave the call out",
        stacklevel=2,
    )
