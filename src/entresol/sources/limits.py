"""How much of an execution is recorded to find where it failed."""

from typing import Final

MAX_STEP_BYTES: Final = 32 << 20
"""Bytes of struct logs of one execution: about 400,000 steps."""
