"""The forks that a chain may have, and the blobs of their blocks."""

from __future__ import annotations

from typing import Final, NamedTuple

FORKS: Final = (
    "byzantium", "petersburg", "istanbul", "berlin", "london", "paris", "shanghai", "cancun",
    "prague", "osaka",
)  # fmt: skip
"""The forks that a chain may have, in order."""


class BlobSchedule(NamedTuple):
    """How many blobs a block has, and how their price moves (EIP-7840)."""

    target: int
    max: int
    base_fee_update_fraction: int


BLOB_SCHEDULES: Final = {
    "cancun": BlobSchedule(3, 6, 3_338_477),
    "prague": BlobSchedule(6, 9, 5_007_716),
    "osaka": BlobSchedule(6, 9, 5_007_716),
}
