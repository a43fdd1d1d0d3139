"""Facts for a bug report: versions, devices, platform.

Source: https://docs.jax.dev/en/latest/_autosummary/jax.print_environment_info.html
"""

from __future__ import annotations

import platform
import sys
from collections import Counter
from importlib import metadata

from tinyjax.many_devices.distributed.processes import process_count
from tinyjax.runtime.devices import devices
from tinyjax.version import __version__


def print_environment_info(return_string: bool = False) -> str | None:
    """Print the versions of the packages in use and the devices; or return them as text."""
    kinds = Counter(device.device_kind for device in devices())
    found = {
        "jax": f"{__version__}, as tinyjax has it",
        "numpy": metadata.version("numpy"),
        "python": sys.version.replace("\n", " "),
        "device info": ", ".join(f"{kind}-{count}" for kind, count in kinds.items()),
        "process_count": process_count(),
        "platform": platform.uname(),
    }
    text = "\n".join(f"{name + ':':<14} {value}" for name, value in found.items())
    if return_string:
        return text
    print(text)
    return None
