"""The hardfork of a remote block: by `eth_config`, else by a table of public chains, else by what its header has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import msgspec

NEWEST: Final = "osaka"

Marks: TypeAlias = frozenset[str]
"""The hardforks that a header has the fields of."""

_BEFORE: Final = {
    "london": "berlin",
    "paris": "london",
    "shanghai": "paris",
    "cancun": "shanghai",
    "prague": "cancun",
}
"""The hardforks that headers show, the earliest first, and what a block without the field has at most."""
_ORDER: Final = ("berlin", *_BEFORE, NEWEST)

_MERGE: Final = 1_663_224_179
"""The timestamp of mainnet's first block without proof of work."""

_TIMES: Final[Mapping[int, tuple[tuple[int, str], ...]]] = {
    # Mainnet: the forks before Shanghai by the timestamps of their first blocks.
    1: (
        (1_508_131_331, "byzantium"),
        (1_551_383_524, "petersburg"),
        (1_575_764_709, "istanbul"),
        (1_618_481_223, "berlin"),
        (1_628_166_822, "london"),
        (_MERGE, "paris"),
        (1_681_338_455, "shanghai"),
        (1_710_338_135, "cancun"),
        (1_746_612_311, "prague"),
        (1_764_798_551, "osaka"),
    ),
    11_155_111: (  # Sepolia
        (0, "london"),
        (1_677_557_088, "shanghai"),
        (1_706_655_072, "cancun"),
        (1_741_159_776, "prague"),
        (1_760_427_360, "osaka"),
    ),
    17_000: (  # Holesky
        (0, "paris"),
        (1_696_000_704, "shanghai"),
        (1_707_305_664, "cancun"),
        (1_740_434_112, "prague"),
        (1_759_308_480, "osaka"),
    ),
    560_048: (  # Hoodi
        (0, "cancun"),
        (1_742_999_832, "prague"),
        (1_761_677_592, "osaka"),
    ),
}

_NO_DIFFICULTY: Final = ("0x0", "0x", "0x00", "0", 0)
_PRECOMPILES: Final = (
    ("P256VERIFY", "osaka"),
    ("BLS12_G1ADD", "prague"),
    ("KZG_POINT_EVALUATION", "cancun"),
)
"""Precompiles and the hardforks that brought them, the newest first (EIP-7910)."""


class Hardforks(msgspec.Struct, frozen=True):
    """The hardforks of one remote chain, by block.

    A chain that no table knows may never have had some fields (rollups and sidechains leave them out, and have the
    opcodes). So only a field that the chain has now, and a block has not, says that the block is of an earlier hardfork.
    """

    chain_id: int
    config: bytes | None = None
    head: Marks = frozenset()
    """The marks of the newest block that is known."""

    def of(self, timestamp: int, marks: Marks) -> str:
        """Return the hardfork of a block of this time, whose header has these fields."""
        current = _by_config(self.config)
        if current is not None and timestamp >= current[0]:
            return current[1]
        known = _by_time(self.chain_id, timestamp)
        if known is not None:
            # The table has the time of the merge for mainnet alone.
            return "paris" if known == "london" and "paris" in marks else known
        newest = NEWEST if current is None else current[1]
        missing = next((mark for mark in _BEFORE if mark in self.head - marks), None)
        if missing is None:
            return newest
        return min(newest, _BEFORE[missing], key=_ORDER.index)


def marks_of(block: Mapping[str, Any]) -> Marks:
    """Return which hardforks the header of a block, as JSON, has the fields of."""
    has_blobs = any(
        block.get(member) is not None for member in ("parentBeaconBlockRoot", "blobGasUsed")
    )
    found = {
        "london": block.get("baseFeePerGas") is not None,
        "paris": block.get("difficulty") in _NO_DIFFICULTY,
        "shanghai": block.get("withdrawalsRoot") is not None,
        "cancun": has_blobs,
        "prague": block.get("requestsHash") is not None,
    }
    return frozenset(name for name, is_there in found.items() if is_there)


def marks_of_json(json: bytes) -> Marks:
    """Return the same of a block that is not decoded."""
    try:
        block = msgspec.json.decode(json)
    except (msgspec.DecodeError, RecursionError):
        return frozenset()
    return marks_of(block) if isinstance(block, dict) else frozenset()


def is_before_london(hardfork: str) -> bool:
    """Return whether blocks of a hardfork have no base fee."""
    return hardfork not in _ORDER[1:]


def _by_config(config: bytes | None) -> tuple[int, str] | None:
    """Return since when the remote has which hardfork."""
    if config is None:
        return None
    try:
        fields: Any = msgspec.json.decode(config)
        current = fields["current"]
        activated, names = current["activationTime"], set(current["precompiles"])
    except (msgspec.DecodeError, RecursionError, KeyError, TypeError):
        return None
    if not isinstance(activated, int):
        return None
    return activated, next(
        (name for precompile, name in _PRECOMPILES if precompile in names), "shanghai"
    )


def _by_time(chain_id: int, timestamp: int) -> str | None:
    times = _TIMES.get(chain_id)
    if times is None:
        return None
    return next((name for since, name in reversed(times) if timestamp >= since), times[0][1])
