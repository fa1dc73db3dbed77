"""The `config` object of a geth genesis: chain id and forks."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

FORKS: Final = (
    "byzantium", "petersburg", "istanbul", "berlin", "london", "paris", "shanghai", "cancun",
    "prague", "osaka",
)  # fmt: skip
"""The forks that a chain may have, in order."""

_BLOCKS: Final = {
    "byzantium": (
        "homesteadBlock", "eip150Block", "eip155Block", "eip158Block", "byzantiumBlock",
    ),
    "petersburg": ("constantinopleBlock", "petersburgBlock"),
    "istanbul": ("istanbulBlock", "muirGlacierBlock"),
    "berlin": ("berlinBlock",),
    "london": ("londonBlock", "arrowGlacierBlock", "grayGlacierBlock"),
    "paris": ("terminalTotalDifficulty",),
    "shanghai": ("shanghaiTime",),
    "cancun": ("cancunTime",),
    "prague": ("pragueTime",),
    "osaka": ("osakaTime",),
}  # fmt: skip


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


def chain_config(chain_id: int, fork: str) -> dict[str, Any]:
    """Return the configuration of a chain that has had all forks up to `fork` since genesis."""
    active = FORKS[: FORKS.index(fork) + 1]
    config: dict[str, Any] = {"chainId": chain_id}
    config |= {name: 0 for it in active for name in _BLOCKS[it]}
    blobs = {it: _blob_config(BLOB_SCHEDULES[it]) for it in active if it in BLOB_SCHEDULES}
    return config | ({"blobSchedule": blobs} if blobs else {})


def _blob_config(schedule: BlobSchedule) -> dict[str, int]:
    return {
        "target": schedule.target,
        "max": schedule.max,
        "baseFeeUpdateFraction": schedule.base_fee_update_fraction,
    }
