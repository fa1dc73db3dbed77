"""What is rejected before it reaches the pool, and in which words."""

from __future__ import annotations

import msgspec
import pytest

from entresol import errors
from entresol._native import Snapshot
from entresol.chain.mempool import Mempool, ValidationRules
from entresol.primitives.interop_bundles import INTEROP_HANDLER
from entresol.primitives.transactions import (
    AccessListTransaction,
    Authorization,
    FeeMarketTransaction,
    LegacyTransaction,
    Payload,
    Paymaster,
    PriorityTransaction,
    SetCodeTransaction,
    ZkTransaction,
    sign,
)
from entresol.primitives.values import Address
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
from tests.support.evm.in_memory_state import ETHER

LEGACY = LegacyTransaction(nonce=0, gas_limit=21_000, to=BEN, gas_price=BASE_FEE, chain_id=CHAIN_ID)
ACCESS = AccessListTransaction(
    nonce=0, gas_limit=21_000, to=BEN, gas_price=BASE_FEE, chain_id=CHAIN_ID
)
MARKET = FeeMarketTransaction(
    nonce=0,
    gas_limit=60_000,
    to=BEN,
    chain_id=CHAIN_ID,
    max_priority_fee_per_gas=1,
    max_fee_per_gas=BASE_FEE,
)
SET_CODE = SetCodeTransaction(
    nonce=0,
    gas_limit=60_000,
    to=BEN,
    chain_id=CHAIN_ID,
    max_priority_fee_per_gas=1,
    max_fee_per_gas=BASE_FEE,
    authorizations=(Authorization(0, BEN, 0, 0, 1, 1),),
)
ZK = ZkTransaction(
    nonce=0,
    gas_limit=60_000,
    to=BEN,
    chain_id=CHAIN_ID,
    max_priority_fee_per_gas=1,
    max_fee_per_gas=BASE_FEE,
    sender=ANN,
    gas_per_pubdata_limit=50_000,
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


def test_a_signed_transaction_has_its_signer_as_sender() -> None:
    transaction = sign(MARKET, bytes([7] * 32))
    pool = pool_of()
    pool.add(transaction)
    assert pool.find(transaction.sender, 0) is transaction


def rejected(payload: Payload, rules: ValidationRules = RULES, *, size: int = 110) -> str:
    """Return the words with which a payload is rejected."""
    pool = pool_of(rules)
    with pytest.raises(errors.InvalidTransaction) as rejection:
        pool.add(wrap(payload, size=size))
    assert len(pool) == 0
    return str(rejection.value)


def test_a_priority_transaction_does_not_come_through_the_pool() -> None:
    assert rejected(PRIORITY) == "transaction type not supported: 0xff"


def test_the_rules_define_the_accepted_types() -> None:
    ethereum = replace(RULES, accepted_types=frozenset({0, 1, 2, 4}))
    assert rejected(ZK, ethereum) == "transaction type not supported: 0x71"


def test_a_transaction_of_another_chain_is_rejected() -> None:
    expected = "invalid chain id for signer: have 1 want 270"
    assert rejected(replace(MARKET, chain_id=1)) == expected


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


def test_a_call_may_carry_more_data_than_init_code() -> None:
    call = replace(MARKET, data=bytes(49_153), gas_limit=10_000_000)
    assert pool_of().add(wrap(call)).is_pending


def test_a_tip_stays_below_the_fee_cap() -> None:
    assert rejected(replace(MARKET, max_priority_fee_per_gas=BASE_FEE + 1)) == (
        "max priority fee per gas higher than max fee per gas: "
        "maxPriorityFeePerGas 101, maxFeePerGas 100"
    )


def test_a_pool_can_require_a_tip() -> None:
    expected = "transaction underpriced: gas tip cap 1, minimum needed 2"
    assert rejected(MARKET, replace(RULES, min_tip=2)) == expected


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


def test_the_gas_limit_covers_the_intrinsic_gas() -> None:
    expected = "intrinsic gas too low: gas 21039, minimum needed 21040"
    assert rejected(replace(MARKET, data=b"\1", gas_limit=21_039)) == expected


def test_a_set_code_transaction_names_an_authorization() -> None:
    expected = "set code transaction with empty auth list"
    assert rejected(replace(SET_CODE, authorizations=())) == expected


def test_a_zk_transaction_allows_gas_for_published_data() -> None:
    assert rejected(replace(ZK, gas_per_pubdata_limit=0)) == "gas per pub data limit is zero"


def test_the_last_nonce_is_never_used() -> None:
    assert rejected(replace(MARKET, nonce=2**64 - 1)) == "nonce has max value"


def test_a_used_nonce_is_rejected() -> None:
    with pytest.raises(errors.NonceTooLow, match="nonce too low: next nonce 5, tx nonce 4"):
        pool_of(accounts=Accounts(nonces={ANN: 5})).add(transfer(nonce=4))


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


def test_all_transactions_of_a_sender_must_be_affordable_together() -> None:
    pool = pool_of(accounts=Accounts(balances={ANN: 42_000_000}))
    pool.add(transfer(nonce=0))
    pool.add(transfer(nonce=1))
    with pytest.raises(errors.InsufficientFunds, match="have 42000000 want 63000000"):
        pool.add(transfer(nonce=2))


def test_the_cost_of_a_replaced_transaction_does_not_count() -> None:
    pool = pool_of(accounts=Accounts(balances={ANN: 42_000_000}))
    pool.add(transfer(nonce=0))
    pool.add(transfer(nonce=1, fee_cap=900))
    assert pool.add(transfer(nonce=1, fee_cap=1_000, tip=2)).is_pending


def test_less_than_a_constant_base_fee_is_rejected() -> None:
    with pytest.raises(errors.FeeCapTooLow, match="max fee per gas less than block base fee"):
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
    with pytest.raises(errors.SenderNotEOA, match="sender not an eoa"):
        pool_of(accounts=Accounts(codes={ANN: code})).add(transfer())


def test_an_account_that_does_not_exist_has_nothing() -> None:
    class Nobody:
        def account(self, address: bytes) -> None:
            assert address == ANN

        def code(self, code_hash: bytes) -> bytes:
            raise AssertionError(code_hash)

        def slot(self, address: bytes, _slot: bytes) -> bytes:
            raise AssertionError(address)

        def block_hash(self, number: int) -> bytes:
            raise AssertionError(number)

    pool = Mempool(RULES, Snapshot(Nobody()))
    assert pool.add(transfer(fee_cap=0, tip=0)).is_pending
    with pytest.raises(errors.InsufficientFunds):
        pool.add(transfer(nonce=1, fee_cap=1))


def test_a_rejection_leaves_no_trace() -> None:
    pool = pool_of(accounts=Accounts(balances={ANN: 0}))
    with pytest.raises(errors.InsufficientFunds):
        pool.add(transfer())
    assert (len(pool), pool.pending(), pool.next_nonce(ANN)) == (0, {}, 0)
