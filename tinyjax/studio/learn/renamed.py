"""Earlier names in tinyjax.

Moved or renamed files and functions of exercises need no line here, as exercises list them.
"""

from __future__ import annotations

import re

RENAMED = {  # those in the lessons' files
    "Context": "LoweringRuleContext",
    "HostStep": "OnHost",
    "hidden_zero": "from_symbolic_zero",
    "Lanes": "PrivateArray",
    "Reach": "BackwardSlice",
    "Source": "ValueOrigin",
    "meaning": "cse_key",
    "merge": "merge_lists",
    "dies": "last_uses",
    "inlined_fun": "eager_jaxpr_fun",
    "takes_arrays": "impl_binds_primitives",
    "takes_over": "reuses_buffer_of",
}


def with_names_of_today(text: str, fresh: str) -> str:
    """A function's text with older names replaced by those of the fresh file."""
    words = set(re.findall(r"\w+", fresh))
    for old, new in RENAMED.items():
        if new in words and old not in words:
            text = re.sub(rf"\b{old}\b", new, text)
    return text
