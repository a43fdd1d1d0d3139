"""Shortcuts: the same results in less time. The folder can be deleted, and each file with its line below.

A file begins with the time it saves. `@shortcut_for(function)` registers a replacement for that function
while shortcuts are on: see tinyjax/core/shortcuts.py.
"""

from tinyjax.core.config import config
from tinyjax.core.shortcuts import shortcut_modules

# Function -> the file with its shortcut, which is imported when the function is first called.
SHORTCUTS = {
    "tinyjax.transform.jit.api.PjitFunction.__call__": "tinyjax.fast.call_cache",
    "tinyjax.transform.jit.primitive.build": "tinyjax.fast.background_build",
    "tinyjax.compile.launches.launches_of": "tinyjax.fast.launch_fusion",
    "tinyjax.lax.control_flow.scan.run_eagerly": "tinyjax.fast.long_loops",
    "tinyjax.lax.selection.choose": "tinyjax.fast.blended_bits",
    "tinyjax.lax.scattering.combine_at": "tinyjax.fast.flat_updates",
}
shortcut_modules.update(SHORTCUTS)
if config.tinyjax_fast:
    from tinyjax.fast import freed_memory as freed_memory
    from tinyjax.fast import short_axes as short_axes
