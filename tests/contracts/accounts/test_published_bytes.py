"""On a chain that publishes its data every byte of a transaction costs what calldata costs, or has a limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from entresol.chain.mempool.validation import intrinsic_gas
from entresol.errors import IntrinsicGasTooLow
from entresol.execution.calls import CallRequest, estimate_gas
from entresol.primitives.transactions import (
    Access,
    Authorization,
    FeeMarketTransaction,
    LegacyTransaction,
    Paymaster,
    SetCodeTransaction,
    SignedPayload,
    Transaction,
    ZkTransaction,
)
from entresol.primitives.values import Address, Hash32
from entresol.rpc.types.call_request import Eip712Meta, PaymasterParams
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.contracts.accounts import NOBODY, ScriptedWorld, fill, sign_by
from tests.support.contracts.layer_two import ALICE, SECRETS

UNREAD = bytes(100) + b"\x01" * 900
NEEDED = 21_000 + 10 * (100 + 4 * 900)
NO_ADDRESS = Address.zero()


@pytest.fixture
def l2() -> Iterator[ScriptedWorld]:
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


def unread(l2: ScriptedWorld, gas_limit: int, kind: str = "key") -> Transaction:
    """Return a transaction with an input of no paymaster."""
    fields: dict[str, Any] = {
        "paymaster": NO_ADDRESS,
        "paymaster_input": UNREAD,
        "gas_limit": gas_limit,
    }
    if kind == "key":
        return l2.from_key(**fields)
    account = l2.multisig(ALICE, threshold=1)
    signature = sign_by(fill(account, **fields), SECRETS[0]).custom_signature
    return l2.from_contract(account, signature, **fields)


def test_the_input_of_no_paymaster_costs_what_calldata_costs(l2: ScriptedWorld) -> None:
    published = l2.include(unread(l2, 200_000))
    sent = l2.include(l2.from_key(data=UNREAD))
    assert published.gas_used == sent.gas_used == NEEDED


@pytest.mark.parametrize("kind", ["key", "account"])
def test_pool_and_block_reject_the_same_gas_limit(l2: ScriptedWorld, kind: str) -> None:
    transaction = unread(l2, NEEDED - 1, kind)
    with pytest.raises(IntrinsicGasTooLow) as in_block:
        l2.include(transaction)
    with pytest.raises(IntrinsicGasTooLow) as in_pool:
        InlineSequencer(l2.chain).submit(transaction.raw)
    assert in_block.value.needed == in_pool.value.needed >= NEEDED


def test_the_estimate_covers_it(l2: ScriptedWorld, before: ScriptedWorld) -> None:
    params = PaymasterParams(paymaster=NO_ADDRESS, paymaster_input=UNREAD)  # type: ignore[arg-type]
    request = CallRequest(sender=ALICE, to=NOBODY, zk=Eip712Meta(paymaster_params=params).call())
    plain = CallRequest(sender=ALICE, to=NOBODY, zk=Eip712Meta().call())
    with_input, without = (estimate_gas(l2.evm_env(), it).gas for it in (request, plain))
    assert with_input - without >= NEEDED - 21_000
    assert estimate_gas(before.evm_env(), request) == estimate_gas(before.evm_env(), plain)
    InlineSequencer(l2.chain).submit(unread(l2, with_input).raw)
    assert l2.last().succeeded


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
