"""The site's tools, imported as tools/build_site.py imports them."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT / "tools") not in sys.path:
    sys.path.append(str(ROOT / "tools"))
