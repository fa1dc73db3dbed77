"""Intrinsic gas, against what the engine rejects."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol._native import Checks, Rules, Snapshot, TxEnv, execute
from entresol.chain.mempool import SCHEDULES, intrinsic_gas
from entresol.errors import IntrinsicGasTooLow
from entresol.primitives.bytecode import byte_counts
from entresol.primitives.l2_to_l1_logs import BOOTLOADER
from entresol.primitives.transactions import (
    Access,
    Authorization,
    FeeMarketTransaction,
    LegacyTransaction,
    Payload,
    SetCodeTransaction,
    ZkTransaction,
)
from entresol.primitives.values import Address, Hash32
from tests.support.evm.in_memory_state import ALICE, BLOCK, BOB, InMemoryState

CHARGING = InMemoryState.with_contract("")
CHARGING.slots[BOOTLOADER, (1).to_bytes(32)] = (1).to_bytes(32)
STATE = Snapshot(CHARGING)
UNPAID = Checks(fees=False, balance=False, base_fee=False, gas_cap=False)
TO = Address(BOB)

addresses = st.binary(min_size=20, max_size=20).map(Address)
slots = st.lists(st.binary(min_size=32, max_size=32).map(Hash32), max_size=5).map(tuple)
access_lists = st.lists(st.builds(Access, addresses, slots), max_size=4).map(tuple)
authorizations = st.lists(
    st.builds(Authorization, st.just(0), addresses, st.just(0), st.just(0), st.just(1), st.just(1)),
    min_size=1,
    max_size=4,
).map(tuple)
# Long stretches of one byte, so that the floor and the ordinary price both come to count.
data = st.lists(st.tuples(st.sampled_from([b"\0", b"\1"]), st.integers(0, 3_000)), max_size=3).map(
    lambda runs: b"".join(byte * length for byte, length in runs)
)


@st.composite
def payloads(draw: st.DrawFn) -> Payload:
    """Draw a payload of type 2 or 4, some of them creations."""
    fields: dict[str, Any] = {
        "nonce": 0,
        "gas_limit": 0,
        "chain_id": 270,
        "max_priority_fee_per_gas": 0,
        "max_fee_per_gas": 0,
        "data": draw(data),
        "access_list": draw(access_lists),
    }
    if draw(st.booleans()):
        return SetCodeTransaction(to=TO, authorizations=draw(authorizations), **fields)
    return FeeMarketTransaction(to=draw(st.sampled_from([None, TO])), **fields)


@given(payloads())
def test_the_engine_rejects_less_than_the_intrinsic_gas(payload: Payload) -> None:
    needed = intrinsic_gas(payload)
    with pytest.raises(IntrinsicGasTooLow) as rejection:
        attempt(payload, needed - 1)
    assert rejection.value.needed == needed
    attempt(payload, needed)


@given(data, st.sampled_from([None, TO]), st.sampled_from(sorted(SCHEDULES)))
def test_it_is_the_engines_under_every_fork(content: bytes, to: Address | None, fork: str) -> None:
    payload = LegacyTransaction(nonce=0, gas_limit=0, to=to, data=content, gas_price=0)
    needed = intrinsic_gas(payload, SCHEDULES[fork])
    with pytest.raises(IntrinsicGasTooLow) as rejection:
        attempt(payload, needed - 1, fork)
    assert rejection.value.needed == needed
    attempt(payload, needed, fork)


def test_every_fork_has_a_schedule() -> None:
    with pytest.raises(ValueError, match="osaka") as rejection:
        Rules(1, "no such fork")
    assert all(fork in str(rejection.value) for fork in SCHEDULES)


@given(data, data, st.sampled_from(sorted(SCHEDULES)))
def test_what_is_published_costs_the_same_in_pool_and_engine(
    content: bytes, code: bytes, fork: str
) -> None:
    payload = LegacyTransaction(nonce=0, gas_limit=0, to=TO, data=content, gas_price=0)
    needed = intrinsic_gas(payload, SCHEDULES[fork], (code,))
    sent = msgspec.structs.replace(payload, data=content + code)
    assert needed == intrinsic_gas(sent, SCHEDULES[fork])
    with pytest.raises(IntrinsicGasTooLow) as rejection:
        attempt(payload, needed - 1, fork, code)
    assert rejection.value.needed == needed
    attempt(payload, needed, fork, code)


def test_without_its_dependencies_a_zk_transaction_pays_like_a_fee_market_one() -> None:
    payload = ZkTransaction(
        nonce=0,
        max_priority_fee_per_gas=0,
        max_fee_per_gas=0,
        gas_limit=0,
        to=TO,
        data=b"\1",
        chain_id=270,
        sender=TO,
        gas_per_pubdata_limit=1,
        factory_deps=(bytes(32),),
    )
    assert intrinsic_gas(payload) == 21_000 + 40
    assert intrinsic_gas(payload, also=payload.factory_deps) == 21_000 + 40 + 320


def attempt(payload: Payload, gas_limit: int, fork: str = "osaka", code: bytes = b"") -> None:
    """Run a payload that publishes `code` with this gas limit, on a chain that charges for it."""
    is_legacy = isinstance(payload, LegacyTransaction)
    message = TxEnv(
        sender=ALICE,
        gas_limit=gas_limit,
        to=payload.to,
        data=payload.data,
        priority_fee=None if is_legacy else 0,
        access_list=None if is_legacy else [(a.account, a.slots) for a in payload.access_list],
        authorizations=[
            (a.chain_id, a.address, a.nonce, a.y_parity, a.r, a.s) for a in payload.authorizations
        ]
        or None,
        published=byte_counts((code,)),
    )
    execute(STATE, Rules(270, fork), BLOCK, message, checks=UNPAID)
