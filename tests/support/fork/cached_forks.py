"""Forks and values for tests of the cache."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Final

from entresol.features.fork.cache.fork_cache import CacheSettings, ForkCache, open_cache
from entresol.features.fork.cache.fork_database import CachedAccount, Fork, StartAnswers

FORK: Final = Fork(1, 19_000_000, b"\xaa" * 32)
OTHER: Final = Fork(1, 19_000_001, b"\xbb" * 32)
ANSWERS: Final = StartAnswers(FORK, b'{"number": "0x121eac0"}', {"eth_config": b'{"current": {}}'})
ADDRESS: Final = b"\x11" * 20
SLOT: Final = bytes(31) + b"\x07"
ACCOUNT: Final = CachedAccount(5, 10**18, b"\x60\x01")


def cache_at(
    place: Path,
    fork: Fork | None = FORK,
    *,
    reports: list[str] | None = None,
    is_offline: bool = False,
) -> ForkCache:
    """Open the cache at a place, for a fork unless it is None."""
    settings = CacheSettings(place=place, is_offline=is_offline)
    cache = open_cache(settings, {}, ([] if reports is None else reports).append)
    if fork is not None:
        cache.bind(fork)
    return cache


def fill(cache: ForkCache, fork: Fork = FORK) -> None:
    cache.put_start(StartAnswers(fork, ANSWERS.anchor, ANSWERS.answers))
    cache.put_accounts(fork.hash, {ADDRESS: ACCOUNT, b"\x22" * 20: CachedAccount(0, 0, b"")})
    cache.put_slots(fork.hash, {(ADDRESS, SLOT): b"\x2a"})
    cache.put_slots(b"\xcc" * 32, {(ADDRESS, SLOT): b""})
    cache.put_hashes({fork.number - 1: b"\xdd" * 32})
    cache.put_response("eth_getBlockByNumber", b'["0x1", false]', b'{ "number": "0x1" }')
    cache.put_absent("eth_getTransactionByHash", b'["0x02"]')


def main(place: str, first: int, count: int, step: int) -> None:
    """Write without end, or a number of values: slots with the numbers `first`, `first + step`, …, and print each once it is in the file."""
    cache = cache_at(Path(place))
    numbers = (
        itertools.count(first, step) if count == 0 else range(first, first + count * step, step)
    )
    for number in numbers:
        key = (ADDRESS, number.to_bytes(32, "big"))
        cache.put_slots(FORK.hash, {key: (number + 1).to_bytes(32, "big")})
        if number % 50 == 0:
            cache.flush()
            print(number, flush=True)  # noqa: T201
    cache.close()


if __name__ == "__main__":
    main(sys.argv[1], *(int(entry) for entry in sys.argv[2:]))
