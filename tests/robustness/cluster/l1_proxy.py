"""A proxy before an L1 that can be away, or some blocks behind, as one of many nodes behind a provider's URL."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator

from tests.robustness.lies import Answer, Request, behind
from tests.robustness.lying_l1 import LyingL1


class L1Proxy(LyingL1):
    """Forwards requests to an L1, unless it is away."""

    def __init__(self, upstream: str, oldest: int) -> None:
        super().__init__(upstream, seed=0)
        self.oldest = oldest
        self.is_away = False
        self.lag = 0
        """How many blocks it is behind."""

    def _answer(self, request: Request, choice: random.Random) -> Answer:
        if self.is_away:
            return Answer(None)
        if not self.lag:
            return super()._answer(request, choice)
        head = int(request.ask("eth_blockNumber", [])["result"], 16)
        return behind(request, max(head - self.lag, self.oldest))

    @contextlib.contextmanager
    def running(self) -> Iterator[L1Proxy]:
        """Close it at the end."""
        try:
            yield self
        finally:
            self.close()
