"""What publishes bytes costs what calldata of their size costs: factory dependencies, and on chains with data on L1 all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from entresol.chain.mempool.validation import intrinsic_gas
from entresol.errors import IntrinsicGasTooLow
from entresol.execution.calls import CallRequest, estimate_gas, estimate_l1_to_l2_gas
from entresol.primitives.bytecode import eravm_hash
from entresol.primitives.transactions import (
    Access,
    Authorization,
    FeeMarketTransaction,
    LegacyTransaction,
    Paymaster,
    PriorityTransaction,
    SetCodeTransaction,
    SignedPayload,
    Transaction,
    ZkTransaction,
)
from entresol.primitives.values import Address, Hash32
from entresol.rollup.system_contracts import TESTNET_PAYMASTER
from entresol.rpc.types.call_request import Eip712Meta, PaymasterParams
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.contracts.accounts import GENERAL, NOBODY, ScriptedWorld, fill, sign_by
from tests.support.contracts.layer_two import ALICE, BOB, FEE, SECRETS

CODE = bytes(100 * 32) + b"\x5b" * (9 * 32)
DEPS = (CODE, b"\x01" * 32)
TOKENS = 100 * 32 + 4 * (9 * 32 + 32)
NEEDED = 21_000 + 10 * TOKENS


@pytest.fixture
def multisig(l2: ScriptedWorld) -> Address:
    """Deploy an account of Alice's."""
    return l2.multisig(ALICE, threshold=1)


def senders(l2: ScriptedWorld, multisig: Address, gas_limit: int) -> dict[str, Transaction]:
    """Return transactions that publish: of a key, with a paymaster, and of a contract account."""
    own = fill(multisig, factory_deps=DEPS, gas_limit=gas_limit)
    return {
        "key": l2.from_key(factory_deps=DEPS, gas_limit=gas_limit),
        "paymaster": l2.from_key(
            factory_deps=DEPS, gas_limit=gas_limit, paymaster=TESTNET_PAYMASTER
        ),
        "account": l2.from_contract(
            multisig,
            sign_by(own, SECRETS[0]).custom_signature,
            factory_deps=DEPS,
            gas_limit=gas_limit,
        ),
    }


def priority(gas_limit: int, *deps: bytes) -> PriorityTransaction:
    return PriorityTransaction(
        sender=ALICE,
        to=NOBODY,
        gas_limit=gas_limit,
        gas_per_pubdata_limit=800,
        max_fee_per_gas=FEE,
        nonce=0,
        to_mint=gas_limit * FEE,
        refund_recipient=BOB,
        factory_dep_hashes=tuple(map(eravm_hash, deps)),
        factory_deps=deps,
    )


def test_they_cost_what_calldata_costs(l2: ScriptedWorld) -> None:
    published = l2.include(l2.from_key(factory_deps=DEPS))
    sent = l2.include(l2.from_key(data=b"".join(DEPS)))
    assert published.gas_used == sent.gas_used == NEEDED


@pytest.mark.parametrize("kind", ["key", "paymaster", "account"])
def test_a_block_rejects_a_gas_limit_that_does_not_cover_them(
    l2: ScriptedWorld, multisig: Address, kind: str
) -> None:
    transaction = senders(l2, multisig, NEEDED - 1)[kind]
    with pytest.raises(IntrinsicGasTooLow) as in_block:
        l2.include(transaction)
    with pytest.raises(IntrinsicGasTooLow) as in_pool:
        InlineSequencer(l2.chain).submit(transaction.raw)
    assert in_block.value.needed == in_pool.value.needed


@pytest.mark.parametrize("kind", ["key", "paymaster", "account"])
def test_whoever_publishes_pays_for_them(l2: ScriptedWorld, multisig: Address, kind: str) -> None:
    before = {address: l2.balance(address) for address in (ALICE, TESTNET_PAYMASTER, multisig)}
    InlineSequencer(l2.chain).submit(senders(l2, multisig, 500_000)[kind].raw)
    result = l2.last()
    assert result.succeeded
    assert result.gas_used >= NEEDED
    payer = {"key": ALICE, "paymaster": TESTNET_PAYMASTER, "account": multisig}[kind]
    assert l2.balance(payer) == before[payer] - result.gas_used * FEE


@pytest.mark.parametrize("kind", ["key", "paymaster", "account"])
def test_the_estimate_covers_them(l2: ScriptedWorld, multisig: Address, kind: str) -> None:
    meta = Eip712Meta(factory_deps=list(DEPS))  # type: ignore[arg-type]
    if kind == "paymaster":
        params = PaymasterParams(paymaster=TESTNET_PAYMASTER, paymaster_input=GENERAL)  # type: ignore[arg-type]
        meta = msgspec.structs.replace(meta, paymaster_params=params)
    sender = multisig if kind == "account" else ALICE
    request = CallRequest(sender=sender, to=NOBODY, zk=meta.call())
    gas = estimate_gas(l2.evm_env(), request).gas
    assert gas >= NEEDED
    InlineSequencer(l2.chain).submit(senders(l2, multisig, gas)[kind].raw)
    assert l2.last().succeeded


def test_a_deposit_pays_for_them(l2: ScriptedWorld) -> None:
    result = l2.take(priority(500_000, *DEPS))
    assert result.succeeded
    assert result.gas_used == NEEDED


def test_a_deposit_that_cannot_pay_for_them_fails_and_uses_its_gas(l2: ScriptedWorld) -> None:
    result = l2.take(priority(NEEDED - 1, *DEPS))
    assert not result.succeeded
    assert result.gas_used == NEEDED - 1


def test_the_estimate_of_a_deposit_covers_them(l2: ScriptedWorld) -> None:
    code = b"\x5b" * (1_001 * 32)
    gas = estimate_l1_to_l2_gas(l2.evm_env(), priority(0, code))
    assert gas >= 21_000 + 40 * len(code)
    assert l2.take(priority(gas, code)).succeeded


def test_what_fills_a_disk_costs_more_than_a_block_has(l2: ScriptedWorld) -> None:
    transaction = l2.from_key(factory_deps=(b"\x01" * (65_535 * 32),), gas_limit=30_000_000)
    with pytest.raises(IntrinsicGasTooLow):
        InlineSequencer(l2.chain).submit(transaction.raw)


# --- A chain that publishes its data ---


UNREAD = bytes(100) + b"\x01" * 900
UNREAD_COST = 21_000 + 10 * (100 + 4 * 900)
NO_ADDRESS = Address.zero()


@pytest.fixture
def publishing() -> Iterator[ScriptedWorld]:
    """Return a chain that publishes."""
    layer = ScriptedWorld(publishes=True)
    yield layer
    layer.close()


@pytest.fixture
def before() -> Iterator[ScriptedWorld]:
    """Return a chain that publishes nothing."""
    layer = ScriptedWorld()
    yield layer
    layer.close()


def unread(publishing: ScriptedWorld, gas_limit: int, kind: str = "key") -> Transaction:
    """Return a transaction with an input of no paymaster."""
    fields: dict[str, Any] = {
        "paymaster": NO_ADDRESS,
        "paymaster_input": UNREAD,
        "gas_limit": gas_limit,
    }
    if kind == "key":
        return publishing.from_key(**fields)
    account = publishing.multisig(ALICE, threshold=1)
    signature = sign_by(fill(account, **fields), SECRETS[0]).custom_signature
    return publishing.from_contract(account, signature, **fields)


def test_the_input_of_no_paymaster_costs_what_calldata_costs(publishing: ScriptedWorld) -> None:
    published = publishing.include(unread(publishing, 200_000))
    sent = publishing.include(publishing.from_key(data=UNREAD))
    assert published.gas_used == sent.gas_used == UNREAD_COST


@pytest.mark.parametrize("kind", ["key", "account"])
def test_pool_and_block_reject_the_same_gas_limit(publishing: ScriptedWorld, kind: str) -> None:
    transaction = unread(publishing, UNREAD_COST - 1, kind)
    with pytest.raises(IntrinsicGasTooLow) as in_block:
        publishing.include(transaction)
    with pytest.raises(IntrinsicGasTooLow) as in_pool:
        InlineSequencer(publishing.chain).submit(transaction.raw)
    assert in_block.value.needed == in_pool.value.needed >= UNREAD_COST


def test_the_estimate_covers_it(publishing: ScriptedWorld, before: ScriptedWorld) -> None:
    params = PaymasterParams(paymaster=NO_ADDRESS, paymaster_input=UNREAD)  # type: ignore[arg-type]
    request = CallRequest(sender=ALICE, to=NOBODY, zk=Eip712Meta(paymaster_params=params).call())
    plain = CallRequest(sender=ALICE, to=NOBODY, zk=Eip712Meta().call())
    with_input, without = (estimate_gas(publishing.evm_env(), it).gas for it in (request, plain))
    assert with_input - without >= UNREAD_COST - 21_000
    assert estimate_gas(before.evm_env(), request) == estimate_gas(before.evm_env(), plain)
    InlineSequencer(publishing.chain).submit(unread(publishing, with_input).raw)
    assert publishing.last().succeeded


LARGE: dict[str, Any] = {"nonce": 2**64 - 2, "gas_limit": 2**64 - 1, "value": 2**256 - 1}
SIGNED: dict[str, Any] = {"r": 2**256 - 1, "s": 2**256 - 1}
PRICED: dict[str, Any] = {"max_fee_per_gas": 2**128 - 1, "max_priority_fee_per_gas": 2**128 - 1}
ANYBODY = Address(b"\x11" * 20)
ACCESSED = tuple(Access(ANYBODY, (Hash32(b"\x11" * 32),) * 3) for _ in range(100))


@pytest.mark.parametrize(
    ("payload", "charged"),
    [
        (
            LegacyTransaction(
                chain_id=2**62, to=ANYBODY, gas_price=2**128 - 1, y_parity=1, **LARGE, **SIGNED
            ),
            (),
        ),
        (
            FeeMarketTransaction(
                chain_id=2**64 - 1,
                to=ANYBODY,
                access_list=ACCESSED,
                y_parity=1,
                **LARGE,
                **PRICED,
                **SIGNED,
            ),
            (),
        ),
        (
            SetCodeTransaction(
                chain_id=2**64 - 1,
                to=ANYBODY,
                authorizations=tuple(
                    Authorization(2**256 - 1, ANYBODY, 2**64 - 1, 1, 2**256 - 1, 2**256 - 1)
                    for _ in range(100)
                ),
                y_parity=1,
                **LARGE,
                **PRICED,
                **SIGNED,
            ),
            (),
        ),
        (
            ZkTransaction(
                chain_id=2**64 - 1,
                to=ANYBODY,
                sender=ANYBODY,
                gas_per_pubdata_limit=2**64 - 1,
                v=28,
                custom_signature=b"\x11" * 65,
                factory_deps=(b"\x11" * 32,) * 32,
                paymaster=Paymaster(ANYBODY),
                **LARGE,
                **PRICED,
                **SIGNED,
            ),
            (b"\x11" * 32,) * 32,
        ),
    ],
    ids=["legacy", "fee market", "set code", "0x71"],
)
def test_the_gas_of_every_transaction_pays_for_the_fields_that_have_a_limit(
    payload: SignedPayload, charged: tuple[bytes, ...]
) -> None:
    """Nothing that is published is cheaper than the calldata that carries it to L1."""
    assert intrinsic_gas(payload, also=charged) >= 40 * len(payload.encode())
