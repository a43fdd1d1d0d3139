"""The command `python -m tinyjax`: the subcommands are in studio/cli/."""

import sys

from tinyjax.studio.cli.commands import COMMANDS as COMMANDS
from tinyjax.studio.cli.commands import main as main

if __name__ == "__main__":
    sys.exit(main())
