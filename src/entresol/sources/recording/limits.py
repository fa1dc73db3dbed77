"""How much of an execution is recorded for a debugger."""

from typing import Final

MAX_STEPS: Final = 20_000
"""Steps that are kept; of more, as many of the first as of the last."""

MAX_FOLLOWED: Final = 250_000
"""Steps of an execution that is followed to its end; of a longer one, only the first that are kept."""

MAX_TRACE_BYTES: Final = 64 << 20
"""Bytes of struct logs that are followed: with stacks about 200,000 steps, without them more than are followed."""

MAX_STACK_BYTES: Final = 24 << 20
"""Bytes of the stacks that are kept of one execution, as JSON."""

MAX_FRAMES: Final = 5_000
"""Call frames that are kept; steps of others belong to the frame around them."""

MAX_DATA_BYTES: Final = 4 << 20
"""Bytes of the inputs and the outputs of frames that are kept."""

MAX_ACCESSES: Final = 20_000
"""Accesses to storage that are kept."""

MAX_FILES: Final = 200
MAX_TEXT_BYTES: Final = 4 << 20
"""Files, and bytes of their texts, that an execution is shown with."""

MAX_RECORDINGS: Final = 16
MAX_RECORDED_BYTES: Final = 64 << 20
"""Recordings that are kept at the same time, and the bytes of all of them; the last one is always kept."""
