"""The traces of any chain agree with its receipts and its states, whatever the type of a transaction."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from entresol._native import Overlay, address_of, keccak256, public_key, rlp_encode
from entresol._native import sign as sign_digest
from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.rules import ChainRules
from entresol.errors import InvalidTransaction, PoolRejection
from entresol.execution.tracing import SealedBlock, TraceBudget, TraceLimits, trace_block
from entresol.primitives.transactions import (
    AccessListTransaction,
    Authorization,
    FeeMarketTransaction,
    LegacyTransaction,
    PriorityTransaction,
    SetCodeTransaction,
    SignedPayload,
    ZkTransaction,
    sign,
)
from entresol.primitives.values import Address
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import priority_transaction
from tests.support.differential import contracts
from tests.support.hex_data import hexed, word
from tests.support.run.examples import examples

FEE = 200_000_000
ETHER = 10**18
SECRETS = [bytes([number]) * 32 for number in range(1, 6)]
SENDERS = [Address(address_of(public_key(secret))) for secret in SECRETS]
CODES = (
    contracts.STORE,
    contracts.LOAD,
    contracts.FORWARD,
    contracts.FAULTY,
    contracts.RECURSE,
    contracts.TRANSIENT,
    contracts.FACTORY,
    contracts.BOMB,
)
PLACES = [Address(b"\xc0" * 19 + bytes([n])) for n in range(len(CODES))]
TARGETS = [*PLACES, *SENDERS, Address(b"\xee" * 20), Address(bytes(19) + b"\x04")]
GENESIS = Genesis.development(
    270,
    SENDERS,
    100 * ETHER,
    {
        place: GenesisAccount(code=code, nonce=1, balance=7)
        for place, code in zip(PLACES, CODES, strict=True)
    },
)
CALLS = {"tracer": "callTracer", "tracerConfig": {"withLog": True}}
DIFFERENCE = {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}}


@settings(max_examples=examples(15), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_traces_agree_with_receipts_and_states(seed: int) -> None:
    with closing(random_chain(Random(seed))) as chain:
        for number in range(1, chain.number + 1):
            check_block(chain, number)


def random_chain(random: Random) -> Chain:
    chain = Chain.open(None, ChainRules.layer_2(), GENESIS, clock=Clock(lambda: 1_000.0))
    chain.schedule.seal_on_request()
    deposits = 0
    for _ in range(3):
        if random.random() < 0.5:
            edited = random.choice(TARGETS)
            chain.edit(edited, partial(rich, edited))
        for _ in range(random.randrange(4)):
            chain.enqueue(deposit(random, deposits))
            deposits += 1
        for _ in range(random.randrange(8)):
            by = random.randrange(len(SECRETS))
            payload = transaction(random, by, chain.pool.next_nonce(SENDERS[by]))
            try:
                InlineSequencer(chain).submit(sign(payload, SECRETS[by]).raw)
            except (InvalidTransaction, PoolRejection):
                continue
        chain.builder.seal()
    return chain


def rich(address: Address, overlay: Overlay) -> None:
    overlay.set_balance(address, 50 * ETHER)


def deposit(random: Random, number: int) -> PriorityTransaction:
    gas_limit = random.choice([20_000, 60_000, 500_000])
    value = random.choice([0, 5, ETHER])
    return priority_transaction(
        number,
        sender=random.choice(SENDERS),
        to=random.choice(TARGETS),
        value=value,
        data=call_data(random),
        gas_limit=gas_limit,
        fee=FEE,
        to_mint=random.choice([None, None, 0, value + gas_limit * FEE + 9]),
        refund_recipient=random.choice(TARGETS),
    )


def transaction(random: Random, by: int, nonce: int) -> SignedPayload:
    common: dict[str, Any] = {
        "nonce": nonce,
        "gas_limit": random.choice([100_000, 1_000_000]),
        "to": random.choice(TARGETS),
        "value": random.choice([0, 1, ETHER]),
        "data": call_data(random),
        "chain_id": 270,
    }
    capped: dict[str, Any] = {
        "max_fee_per_gas": FEE,
        "max_priority_fee_per_gas": random.choice([0, 1_000]),
    }
    kind = random.randrange(6)
    if kind == 0:
        return LegacyTransaction(**common, gas_price=FEE)
    if kind == 1:
        return AccessListTransaction(**common, gas_price=FEE)
    if kind == 2:
        return SetCodeTransaction(**common, **capped, authorizations=(authorization(random),))
    if kind == 3:
        return ZkTransaction(**common, **capped, sender=SENDERS[by], gas_per_pubdata_limit=50_000)
    if kind == 4:
        common |= {"to": None, "data": random.choice([contracts.BOMB, b"\x5f\x5f\xfd", b""])}
    return FeeMarketTransaction(**common, **capped)


def authorization(random: Random) -> Authorization:
    at = random.choice(PLACES)
    digest = keccak256(b"\x05" + rlp_encode([(270).to_bytes(2), at, b""]))
    signature = sign_digest(digest, random.choice(SECRETS))
    r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:64])
    return Authorization(270, at, 0, signature[64], r, s)


def call_data(random: Random) -> bytes:
    """Return words that the contracts may understand: small numbers and addresses."""
    words = [
        word(random.choice([0, 1, 2, 3, 16, 100_000])),
        word(random.choice([1, 5, 50_000])),
        bytes(12) + random.choice(TARGETS),
        word(random.choice([0, 1])),
        bytes(12) + random.choice(TARGETS),
        random.randbytes(32),
    ]
    return b"".join(words[: random.randrange(len(words) + 1)])


def check_block(chain: Chain, number: int) -> None:
    ledger = chain.ledger
    record, parent = ledger.record(number), ledger.header(number - 1)
    rules, before = ledger.rules.evm_rules(), ledger.state_after(number - 1)
    block = SealedBlock(record, parent, rules, before)
    struct_logs = list(traces(block, {}))
    differences = list(traces(block, DIFFERENCE))
    logs_before = 0
    for index, frame in enumerate(traces(block, CALLS)):
        result = record.results[index]
        assert int(frame["gasUsed"], 16) == struct_logs[index]["gas"] == result.gas_used
        failed = not result.succeeded
        assert ("error" in frame, struct_logs[index]["failed"]) == (failed, failed)
        assert sorted(logs_of(frame)) == [
            (number, (hexed(address), [hexed(topic) for topic in topics], hexed(data)))
            for number, (address, topics, data) in enumerate(result.logs, logs_before)
        ]
        logs_before += len(result.logs)
    check_states(chain, block, differences)


def check_states(chain: Chain, block: SealedBlock, differences: list[Any]) -> None:
    """Check that the edits and the differences lead from the state before the block to that after it."""
    state = block.replay().overlay
    for difference in differences:
        for address, account in difference["pre"].items():
            at = bytes.fromhex(address[2:])
            assert balance(state, at) == int(account.get("balance", "0x0"), 16)
            if address not in difference["post"]:
                state.set_account(at, None)
        for address, account in difference["post"].items():
            at = bytes.fromhex(address[2:])
            if "balance" in account:
                state.set_balance(at, int(account["balance"], 16))
            if "nonce" in account:
                state.set_nonce(at, account["nonce"])
            if "code" in account:
                state.set_code(at, bytes.fromhex(account["code"][2:]))
    after = chain.ledger.state_after(block.parent.number + 1)
    for change in block.record.changes:
        assert state.account(change.address) == after.account(change.address)


def balance(state: Any, address: bytes) -> int:
    account = state.account(address)
    return 0 if account is None else account.balance


def traces(block: SealedBlock, options: dict[str, Any]) -> Iterator[Any]:
    budget = TraceBudget(TraceLimits())
    for traced in trace_block(block, json.dumps(options).encode(), budget):
        assert not isinstance(traced.outcome, Exception)
        yield json.loads(traced.outcome.trace or b"")


def logs_of(frame: dict[str, Any]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    for log in frame.get("logs", ()):
        yield int(log["index"], 16), (log["address"], log["topics"], log.get("data", "0x"))
    for inner in frame.get("calls", ()):
        yield from logs_of(inner)
