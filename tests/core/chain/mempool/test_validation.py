"""What is rejected before it reaches the pool, and in which words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol import errors
from entresol._native import Checks, Rules, Snapshot, TxEnv, execute
from entresol.chain.mempool import SCHEDULES, Mempool, ValidationRules, intrinsic_gas
from entresol.errors import IntrinsicGasTooLow
from entresol.primitives.bytecode import byte_counts
from entresol.primitives.interop_bundles import INTEROP_HANDLER
from entresol.primitives.l2_to_l1_logs import BOOTLOADER
from entresol.primitives.transactions import (
    Access,
    AccessListTransaction,
    Authorization,
    FeeMarketTransaction,
    LegacyTransaction,
    Payload,
    Paymaster,
    PriorityTransaction,
    SetCodeTransaction,
)
from entresol.primitives.values import Address, Hash32
from tests.support.chain.dev_chain import fee_market
from tests.support.chain.mempool_accounts import (
    ANN,
    BASE_FEE,
    BEN,
    CHAIN_ID,
    RULES,
    Accounts,
    transfer,
    wrap,
)
from tests.support.contracts.accounts import fill
from tests.support.evm.in_memory_state import ALICE, BLOCK, BOB, ETHER, InMemoryState

LEGACY = LegacyTransaction(nonce=0, gas_limit=21_000, to=BEN, gas_price=BASE_FEE, chain_id=CHAIN_ID)
ACCESS = AccessListTransaction(
    nonce=0, gas_limit=21_000, to=BEN, gas_price=BASE_FEE, chain_id=CHAIN_ID
)
MARKET = fee_market(0, BEN, chain_id=CHAIN_ID, gas=60_000, fee=BASE_FEE, tip=1)
SET_CODE = SetCodeTransaction(
    nonce=0,
    gas_limit=60_000,
    to=BEN,
    chain_id=CHAIN_ID,
    max_priority_fee_per_gas=1,
    max_fee_per_gas=BASE_FEE,
    authorizations=(Authorization(0, BEN, 0, 0, 1, 1),),
)
ZK = fill(
    ANN,
    gas_limit=60_000,
    to=BEN,
    chain_id=CHAIN_ID,
    max_priority_fee_per_gas=1,
    max_fee_per_gas=BASE_FEE,
)
PRIORITY = PriorityTransaction(
    sender=ANN, to=BEN, gas_limit=60_000, gas_per_pubdata_limit=800, max_fee_per_gas=1, nonce=0
)

replace = msgspec.structs.replace


def pool_of(rules: ValidationRules = RULES, accounts: Accounts | None = None) -> Mempool:
    return Mempool(rules, (accounts or Accounts()).state, base_fee=BASE_FEE)


@pytest.mark.parametrize("payload", [LEGACY, ACCESS, MARKET, SET_CODE, ZK])
def test_every_user_transaction_type_is_accepted(payload: Payload) -> None:
    assert pool_of().add(wrap(payload)).is_pending


def rejected(payload: Payload, rules: ValidationRules = RULES, *, size: int = 110) -> str:
    """Return the words with which a payload is rejected."""
    pool = pool_of(rules)
    with pytest.raises(errors.InvalidTransaction) as rejection:
        pool.add(wrap(payload, size=size))
    assert len(pool) == 0
    return str(rejection.value)


@pytest.mark.parametrize(
    ("payload", "rules", "expected"),
    [
        (PRIORITY, RULES, "transaction type not supported: 0xff"),
        (
            ZK,
            replace(RULES, accepted_types=frozenset({0, 1, 2, 4})),
            "transaction type not supported: 0x71",
        ),
        (replace(MARKET, chain_id=1), RULES, "invalid chain id for signer: have 1 want 270"),
        (
            replace(MARKET, max_priority_fee_per_gas=BASE_FEE + 1),
            RULES,
            (
                "max priority fee per gas higher than max fee per gas: "
                "maxPriorityFeePerGas 101, maxFeePerGas 100"
            ),
        ),
        (
            MARKET,
            replace(RULES, min_tip=2),
            "transaction underpriced: gas tip cap 1, minimum needed 2",
        ),
        (
            replace(MARKET, data=b"\1", gas_limit=21_039),
            RULES,
            "intrinsic gas too low: gas 21039, minimum needed 21040",
        ),
        (replace(SET_CODE, authorizations=()), RULES, "set code transaction with empty auth list"),
        (replace(ZK, gas_per_pubdata_limit=0), RULES, "gas per pub data limit is zero"),
        (replace(MARKET, nonce=2**64 - 1), RULES, "nonce has max value"),
    ],
)
def test_a_transaction_that_breaks_a_rule_is_rejected_in_these_words(
    payload: Payload, rules: ValidationRules, expected: str
) -> None:
    assert rejected(payload, rules) == expected


def test_an_account_that_does_not_exist_has_nothing() -> None:
    pool = Mempool(RULES, Snapshot(InMemoryState()))
    assert pool.add(transfer(fee_cap=0, tip=0)).is_pending
    with pytest.raises(errors.InsufficientFunds):
        pool.add(transfer(nonce=1, fee_cap=1))


def test_an_unprotected_transaction_is_accepted_unless_the_rules_forbid_it() -> None:
    anywhere = replace(LEGACY, chain_id=None)
    assert pool_of().add(wrap(anywhere)).is_pending
    expected = "only replay-protected (EIP-155) transactions allowed over RPC"
    assert rejected(anywhere, replace(RULES, accepts_unprotected=False)) == expected


def test_a_transaction_has_at_most_128_kib() -> None:
    assert pool_of().add(wrap(MARKET, size=131_072)).is_pending
    expected = "oversized data: transaction size 131073, limit 131072"
    assert rejected(MARKET, size=131_073) == expected


def test_a_transaction_that_executes_a_bundle_may_be_as_large_as_the_rules_say() -> None:
    rules = replace(RULES, bundle_limit_bytes=230_000)
    execution = replace(MARKET, to=INTEROP_HANDLER)
    assert pool_of(rules).add(wrap(execution, size=230_000)).is_pending
    expected = "oversized data: transaction size 230001, limit 230000"
    assert rejected(execution, rules, size=230_001) == expected
    expected = "oversized data: transaction size 131073, limit 131072"
    assert rejected(MARKET, rules, size=131_073) == expected


def test_factory_dependencies_have_at_most_4_mib_and_all_else_128_kib() -> None:
    deps = (bytes(2 * 1024 * 1024 - 32), bytes(2 * 1024 * 1024 - 32), bytes(64))
    largest = replace(ZK, factory_deps=deps)
    whole = 4 * 1024 * 1024 + 131_072
    assert pool_of().add(wrap(largest, size=whole)).is_pending
    expected = "oversized data: transaction size 131073, limit 131072"
    assert rejected(largest, size=whole + 1) == expected
    larger = replace(ZK, factory_deps=(*deps, bytes(32)))
    expected = "oversized data: transaction size 4194336, limit 4194304"
    assert rejected(larger, size=whole) == expected


def test_the_sender_has_to_pay_itself() -> None:
    expected = (
        "failed paymaster validation: paymasters are not supported, and "
        f"{BEN} is named as one; the sender has to pay"
    )
    assert rejected(replace(ZK, paymaster=Paymaster(BEN, b"please"))) == expected
    nobody = replace(ZK, paymaster=Paymaster(Address.zero()))
    assert pool_of().add(wrap(nobody)).is_pending


def test_init_code_has_at_most_48_kib() -> None:
    creation = replace(MARKET, to=None, data=bytes(49_152), gas_limit=10_000_000)
    assert pool_of().add(wrap(creation)).is_pending
    expected = "max initcode size exceeded: code size 49153, limit 49152"
    assert rejected(replace(creation, data=bytes(49_153))) == expected


@pytest.mark.parametrize(
    ("single", "cap", "expected"),
    [
        (None, 2**25, "exceeds block gas limit: gas 33554433, maximum 33554432"),
        (2**24, 2**24, "transaction gas limit too high (cap: 16777216, tx: 16777217)"),
    ],
)
def test_gas_is_limited_by_block_and_by_transaction(
    single: int | None, cap: int, expected: str
) -> None:
    rules = replace(RULES, gas_limit=2**25, transaction_gas_limit=single)
    assert pool_of(rules).add(wrap(replace(MARKET, gas_limit=cap))).is_pending
    assert rejected(replace(MARKET, gas_limit=cap + 1), rules) == expected


def test_gas_and_value_must_be_affordable() -> None:
    pool = pool_of()
    with pytest.raises(errors.InsufficientFunds) as rejection:
        pool.add(transfer(value=ETHER - 21_000_000 + 1))
    expected = f"insufficient funds for gas * price + value: have {ETHER} want {ETHER + 1}"
    assert str(rejection.value) == expected
    assert pool.add(transfer(value=ETHER - 21_000_000)).is_pending


def test_what_a_zk_transaction_lacks_is_told_in_the_words_of_zksync_era() -> None:
    sent, fee = wrap(replace(ZK, value=ETHER)), ZK.gas_limit * BASE_FEE
    pool = pool_of(accounts=Accounts(balances={ANN: ETHER}))
    with pytest.raises(errors.NotEnoughBalanceForFeeValue) as rejection:
        pool.add(sent)
    assert str(rejection.value) == (
        f"insufficient funds for gas + value. balance: {ETHER}, fee: {fee}, value: {ETHER}"
    )
    assert isinstance(rejection.value, errors.InsufficientFunds)
    assert rejection.value.cost == ETHER + fee


def test_less_than_a_constant_base_fee_is_rejected() -> None:
    with pytest.raises(
        errors.TransactionRuleBroken, match="max fee per gas less than block base fee"
    ):
        pool_of().add(transfer(fee_cap=BASE_FEE - 1))


def test_less_than_a_changing_base_fee_is_accepted() -> None:
    pool = pool_of(replace(RULES, accepts_below_base_fee=True))
    pool.add(transfer(fee_cap=BASE_FEE - 1))
    assert list(pool.best()) == []
    pool.base_fee = BASE_FEE - 1
    assert list(pool.best()) == list(pool)


@pytest.mark.parametrize("code", [b"", b"\xef\x01\x00" + bytes(20)])
def test_a_sender_has_no_code_or_a_delegation(code: bytes) -> None:
    assert pool_of(accounts=Accounts(codes={ANN: code})).add(transfer()).is_pending


@pytest.mark.parametrize("code", [b"\x5f", b"\xef\x01\x00" + bytes(21)])
def test_a_contract_sends_nothing(code: bytes) -> None:
    with pytest.raises(errors.TransactionRuleBroken, match="sender not an eoa"):
        pool_of(accounts=Accounts(codes={ANN: code})).add(transfer())


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


@given(data, st.just(b"") | data, st.sampled_from([None, TO]), st.sampled_from(sorted(SCHEDULES)))
def test_what_is_published_costs_the_same_in_pool_and_engine_under_every_fork(
    content: bytes, code: bytes, to: Address | None, fork: str
) -> None:
    payload = LegacyTransaction(nonce=0, gas_limit=0, to=to, data=content, gas_price=0)
    needed = intrinsic_gas(payload, SCHEDULES[fork], (code,))
    if to is not None:
        sent = msgspec.structs.replace(payload, data=content + code)
        assert needed == intrinsic_gas(sent, SCHEDULES[fork])
    with pytest.raises(IntrinsicGasTooLow) as rejection:
        attempt(payload, needed - 1, fork, code)
    assert rejection.value.needed == needed
    attempt(payload, needed, fork, code)


def test_without_its_dependencies_a_zk_transaction_pays_like_a_fee_market_one() -> None:
    payload = fill(
        TO,
        max_fee_per_gas=0,
        gas_limit=0,
        to=TO,
        data=b"\1",
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
