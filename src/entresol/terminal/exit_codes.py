"""Exit codes of the commands, and the line that reports an error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from entresol.errors import EntresolError

SUCCEEDED: Final = 0
FAILED: Final = 1
USAGE_ERROR: Final = 2
ALARM: Final = 3
"""The published data does not give what L1 says: of `derive` alone."""
INTERRUPTED: Final = 130
OUTPUT_CLOSED: Final = 141
"""As of a process that SIGPIPE has ended."""


def print_error(error: EntresolError, code: int, where: str = "") -> int:
    """Print an error, and return the exit code."""
    print(f"error: {where}{error}", file=sys.stderr)
    return code
