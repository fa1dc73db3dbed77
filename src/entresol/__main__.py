"""Run the command line: `python -m entresol`."""

import sys

from entresol.cli import main

sys.exit(main())
