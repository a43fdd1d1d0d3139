"""Where tinyjax is not yet, or on purpose not, like the recorded JAX. The tests read this list.

NOT_YET: functions that tinyjax does not have. Calls that use one are skipped, and a test fails as
    soon as the function exists, so that its line here is taken out.
DIFFERENCES: single cases (their test id) that give another result, and why that is right. They are
    expected to fail; one that passes is an error.
"""
import re

NOT_YET: dict[str, str] = {}

DIFFERENCES: dict[str, str] = {}


def not_yet(code):
    """Why a call cannot run yet, or None."""
    for name, reason in NOT_YET.items():
        if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", code):
            return f"{name}: {reason}"
    return None
