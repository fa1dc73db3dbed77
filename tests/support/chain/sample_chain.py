"""A chain in which a block has transactions of every type, with the objects that clients see."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from entresol._native import address_of, keccak256, public_key, rlp_encode
from entresol._native import sign as sign_digest
from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.rules import ChainRules
from entresol.primitives.l2_to_l1_logs import L1_MESSAGE_SENT, L1_MESSENGER
from entresol.primitives.records import BlockRecord
from entresol.primitives.transactions import (
    Access,
    AccessListTransaction,
    Authorization,
    FeeMarketTransaction,
    LegacyTransaction,
    PriorityTransaction,
    SetCodeTransaction,
    SignedPayload,
    Transaction,
    ZkTransaction,
    sign,
)
from entresol.primitives.values import Address, Hash32
from entresol.rpc.cache import RenderedCache
from entresol.rpc.render.chain_json import CONTRACT_DEPLOYED, CONTRACT_DEPLOYER, BatchReader
from entresol.rpc.services.rendered_chain import PendingTransactions, RenderedChain, Result
from entresol.sequencer.sequencer import InlineSequencer
from entresol.storage.log_index import LogQuery
from tests.support.chain.dev_chain import ETHER, LOG_CODE, LOGGER, NOBODY, priority_transaction

CHAIN_ID = 270
FEE = 200_000_000
TIP = 1_000
SECRETS = [bytes([number]) * 32 for number in range(1, 10)]
SENDERS = [Address(address_of(public_key(secret))) for secret in SECRETS]
REVERTER = Address(b"\xbb" * 20)
MADE = Address(b"\xdd" * 20)
CREATE = keccak256(b"create(bytes32,bytes32,bytes)")[:4]
SLOT = Hash32(bytes(31) + b"\x07")

REVERT_CODE = bytes.fromhex("5f5ffd")
MESSENGER_CODE = bytes.fromhex("365f5f37 365f20 33 7f") + L1_MESSAGE_SENT + bytes.fromhex("365fa3")
# Logs the deployment of a contract for another account, then of one for the caller.
DEPLOYER_CODE = (
    b"\x73" + NOBODY + bytes.fromhex("5f 5f 7f") + CONTRACT_DEPLOYED + bytes.fromhex("5f5fa4")
) + (b"\x73" + MADE + bytes.fromhex("5f 33 7f") + CONTRACT_DEPLOYED + bytes.fromhex("5f5fa4"))

GENESIS = Genesis.development(
    CHAIN_ID,
    SENDERS,
    100 * ETHER,
    {
        LOGGER: GenesisAccount(code=LOG_CODE, nonce=1),
        REVERTER: GenesisAccount(code=REVERT_CODE, nonce=1),
        L1_MESSENGER: GenesisAccount(code=MESSENGER_CODE, nonce=1),
        CONTRACT_DEPLOYER: GenesisAccount(code=DEPLOYER_CODE, nonce=1),
    },
)


def authorization() -> Authorization:
    digest = keccak256(b"\x05" + rlp_encode([CHAIN_ID.to_bytes(2), LOGGER, b""]))
    signature = sign_digest(digest, SECRETS[-1])
    r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:64])
    return Authorization(CHAIN_ID, LOGGER, 0, signature[64], r, s)


def payloads() -> dict[str, SignedPayload]:
    """Return a payload of each type and purpose; each has a sender of its own."""
    capped: dict[str, Any] = {
        "chain_id": CHAIN_ID,
        "max_fee_per_gas": FEE,
        "max_priority_fee_per_gas": TIP,
        "gas_limit": 200_000,
        "nonce": 0,
    }
    priced: dict[str, Any] = {"gas_price": FEE, "gas_limit": 200_000, "nonce": 0}
    accesses = (Access(LOGGER, (SLOT,)), Access(NOBODY))
    return {
        "legacy": LegacyTransaction(**priced, chain_id=CHAIN_ID, to=NOBODY, value=5),
        "unprotected": LegacyTransaction(**priced, to=NOBODY, value=6),
        "access_list": AccessListTransaction(
            **priced, chain_id=CHAIN_ID, to=LOGGER, data=b"\x12\x34", access_list=accesses
        ),
        "fee_market": FeeMarketTransaction(**capped, to=L1_MESSENGER, data=b"hello"),
        "set_code": SetCodeTransaction(**capped, to=LOGGER, authorizations=(authorization(),)),
        "creation": FeeMarketTransaction(**capped, to=None, data=bytes.fromhex("5f5ff3")),
        "failure": FeeMarketTransaction(**capped, to=REVERTER, access_list=accesses),
        "deployment": ZkTransaction(
            **capped,
            sender=SENDERS[7],
            to=CONTRACT_DEPLOYER,
            data=CREATE + bytes(96),
            gas_per_pubdata_limit=50_000,
        ),
    }


def deposit() -> PriorityTransaction:
    return priority_transaction(7, sender=SENDERS[8], to=LOGGER, value=9, fee=FEE, to_mint=ETHER)


class SampleChain:
    """A chain with an empty block 1 and, in block 2, a transaction of each name, and its rendered objects."""

    def __init__(self, *, batches: BatchReader | None = None) -> None:
        self.chain = Chain.open(None, ChainRules.layer_2(), GENESIS, clock=Clock(lambda: 1_000.0))
        self.chain.schedule.seal_on_request()
        self.chain.builder.seal()
        self.hashes: dict[str, Hash32] = {"deposit": self.chain.enqueue(deposit())}
        self.sent: dict[str, Transaction] = {}
        for (name, payload), secret in zip(payloads().items(), SECRETS, strict=False):
            self.sent[name] = sign(payload, secret)
            self.hashes[name] = InlineSequencer(self.chain).submit(self.sent[name].raw)
        self.chain.builder.seal()
        self.cache = RenderedCache(1 << 20)
        self.rendered = RenderedChain(
            CHAIN_ID,
            self.chain.blocks,
            PendingTransactions(self.chain.pool, self.chain.filler.priority),
            self.chain.builder.pending_block,
            batches=batches,
            cache=self.cache,
        )

    @property
    def record(self) -> BlockRecord:
        return self.chain.blocks.record(2)

    def index(self, name: str) -> int:
        place = self.chain.blocks.locate_transaction(self.hashes[name])
        assert place is not None
        assert place[0] == 2
        return place[1]

    def logs(self) -> list[bytes]:
        logs = self.rendered.log_cache.logs_of(2)
        assert logs is not None
        return list(logs.matching(LogQuery()))

    def transaction(self, name: str) -> dict[str, Any]:
        shown: dict[str, Any] = parsed(self.rendered.transaction(self.hashes[name]))
        return shown

    def receipt(self, name: str) -> dict[str, Any]:
        shown: dict[str, Any] = parsed(self.rendered.receipt(self.hashes[name]))
        return shown

    def block(self, number: int = 2, *, full: bool = False) -> dict[str, Any]:
        shown: dict[str, Any] = parsed(self.rendered.block(number, full=full))
        return shown


@contextmanager
def sample_chain() -> Iterator[SampleChain]:
    sample = SampleChain()
    try:
        yield sample
    finally:
        sample.chain.close()


def parsed(result: Result) -> Any:
    """Decode a result with another JSON library, and reject duplicate keys."""
    assert isinstance(result, msgspec.Raw)
    return json.loads(bytes(result), object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({key for key, _ in pairs}) == len(pairs)
    return dict(pairs)
