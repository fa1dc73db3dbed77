"""A chain whose contracts emit the logs that a test wants."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.events import BlocksReverted
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.logs import LocatedLog, logs_of_block
from entresol.chain.rules import ChainRules
from entresol.primitives.transactions import Transaction
from entresol.primitives.values import Address
from entresol.rpc.cache import LogCache
from entresol.rpc.render.chain_json import NoBatches
from entresol.storage.log_index import LogQuery
from tests.support.chain.dev_chain import ALICE, BOB, CAROL, ETHER, transaction
from tests.support.hex_data import word

SENDERS = (ALICE, BOB, CAROL)

# They emit a log without data and with as many topics, taken from the call data.
SILENT, SINGLE, DOUBLE = (Address(bytes([number]) * 20) for number in (0xA0, 0xA1, 0xA2))
_CODES = {SILENT: "5f5fa0", SINGLE: "5f355f5fa1", DOUBLE: "6020355f355f5fa2"}
EMITTERS = tuple(_CODES)

_GENESIS = Genesis.development(
    270,
    SENDERS,
    100 * ETHER,
    {
        address: GenesisAccount(code=bytes.fromhex(code), nonce=1)
        for address, code in _CODES.items()
    },
)


@cache
def emission(nonce: int, emitter: Address, topics: tuple[int, int], *, by: int) -> Transaction:
    """Return a transaction that makes `emitter` emit a log; the same ones come again and again."""
    return transaction(nonce, by=by, to=emitter, wei=0, data=b"".join(map(word, topics)))


def read(texts: Iterable[object]) -> list[dict[str, Any]]:
    return [json.loads(text) for text in texts if isinstance(text, bytes)]


class EmittingChain(Chain):
    @classmethod
    def begin(cls) -> EmittingChain:
        chain = cls.open(None, ChainRules.layer_2(), _GENESIS, clock=Clock(lambda: 1_000.0))
        chain.schedule.seal_on_request()
        return chain

    def emit(
        self, emitter: Address = DOUBLE, topics: tuple[int, int] = (1, 2), *, by: int = 0
    ) -> Transaction:
        nonce = self.pool.next_nonce(SENDERS[by])
        sent = emission(nonce, emitter, topics, by=by)
        self.add(sent)
        return sent

    def seal_emission(self, emitter: Address = DOUBLE) -> Transaction:
        sent = self.emit(emitter)
        self.builder.seal()
        return sent

    def all_logs(self) -> list[LocatedLog]:
        return [
            log for record in self.blocks.records() for log in logs_of_block(record, LogQuery())
        ]

    def log_cache(self, **options: int) -> LogCache:
        """Return the chain's logs as clients read them, invalidated as in a node when blocks are reverted."""
        log_cache = LogCache(self.blocks, NoBatches(), **options)

        def follow() -> None:
            for event in events.take()[0]:
                if isinstance(event, BlocksReverted):
                    log_cache.invalidate_above(event.head)

        events = self.events.subscribe(wake=follow)
        return log_cache
