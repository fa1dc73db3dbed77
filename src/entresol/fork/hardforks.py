"""Which hardfork a remote block has: by `eth_config`, else by a table of public chains, else the newest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from entresol.primitives.headers import Header

NEWEST: Final = "osaka"

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

_PRECOMPILES: Final = (
    ("P256VERIFY", "osaka"),
    ("BLS12_G1ADD", "prague"),
    ("KZG_POINT_EVALUATION", "cancun"),
)
"""Which precompile a hardfork has brought, the newest first (EIP-7910)."""


def hardfork_of(chain_id: int, header: Header, config: bytes | None) -> str:
    """Return the hardfork of a block; `config` is what `eth_config` responded, if it did."""
    return _by_config(config, header.timestamp) or _by_time(chain_id, header.timestamp) or NEWEST


def _by_config(config: bytes | None, timestamp: int) -> str | None:
    """Return the hardfork that the remote has now, if the block is not older than that."""
    if config is None:
        return None
    try:
        fields: Any = msgspec.json.decode(config)
        current = fields["current"]
        activated, precompiles = current["activationTime"], current["precompiles"]
        if not isinstance(activated, int) or timestamp < activated:
            return None
        names = set(precompiles)
    except (msgspec.DecodeError, RecursionError, KeyError, TypeError):
        return None
    return next((name for it, name in _PRECOMPILES if it in names), "shanghai")


def _by_time(chain_id: int, timestamp: int) -> str | None:
    times = _TIMES.get(chain_id)
    if times is None:
        return None
    return next((name for since, name in reversed(times) if timestamp >= since), times[0][1])
