"""A process that writes to a fork's cache without end, or a number of values: for tests of kills and of many processes."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

from tests.support.fork.cached_forks import ADDRESS, FORK, cache_at


def main(place: str, first: int, count: int, step: int) -> None:
    """Put slots with the numbers `first`, `first + step`, …, and print each once it is in the file."""
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
