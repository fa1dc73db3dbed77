"""The `TxEnv` of a transaction, observed by its execution."""

from __future__ import annotations

from typing import Any

import pytest

from entresol._native import (
    Account,
    BlockEnv,
    Rules,
    Snapshot,
    address_of,
    execute,
    keccak256,
    public_key,
    rlp_encode,
)
from entresol._native import sign as sign_digest
from entresol.errors import TransactionRuleBroken
from entresol.execution.evm_env import tx_env_of
from entresol.primitives.transactions import (
    AccessListTransaction,
    Authorization,
    FeeMarketTransaction,
    LegacyTransaction,
    SetCodeTransaction,
    SignedPayload,
    Transaction,
    ZkTransaction,
    sign,
)
from entresol.primitives.values import Address
from tests.support.evm.in_memory_state import CONTRACT, EMPTY_CODE, ETHER, RULES, InMemoryState
from tests.support.hex_data import word

SECRET = bytes([0x46]) * 32
SENDER = Address(address_of(public_key(SECRET)))
TO = Address(CONTRACT)
BASE_FEE = 5
BLOCK = BlockEnv(number=1, timestamp=1, gas_limit=30_000_000, base_fee=BASE_FEE)

# Returns CALLER, CALLVALUE, GASPRICE and the first word of the data.
MIRROR = "33 5f 52 34 6020 52 3a 6040 52 5f 35 6060 52 6080 5f f3"

COMMON: dict[str, Any] = {
    "nonce": 0,
    "gas_limit": 100_000,
    "to": TO,
    "value": 9,
    "data": word(77),
    "chain_id": 270,
}
FEES: dict[str, Any] = {"max_fee_per_gas": 30, "max_priority_fee_per_gas": 4}


def authorization() -> Authorization:
    digest = keccak256(b"\x05" + rlp_encode([b"\x01\x0e", CONTRACT, b"\x01"]))
    signature = sign_digest(digest, SECRET)
    r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:64])
    return Authorization(270, TO, 1, signature[64], r, s)


def payload(kind: type[SignedPayload], **fields: Any) -> SignedPayload:
    given = {**COMMON, **fields}
    if kind in (LegacyTransaction, AccessListTransaction):
        return kind(gas_price=9, **given)
    if kind is SetCodeTransaction:
        return kind(**FEES, **{"authorizations": (authorization(),), **given})
    if kind is ZkTransaction:
        return kind(**FEES, sender=SENDER, gas_per_pubdata_limit=50_000, **given)
    return kind(**FEES, **given)


KINDS = [
    LegacyTransaction,
    AccessListTransaction,
    FeeMarketTransaction,
    SetCodeTransaction,
    ZkTransaction,
]


def world() -> InMemoryState:
    made = InMemoryState.with_contract(MIRROR)
    made.accounts[SENDER] = Account(0, ETHER, EMPTY_CODE)
    return made


def signed(kind: type[SignedPayload], **fields: Any) -> Transaction:
    return sign(payload(kind, **fields), SECRET)


@pytest.mark.parametrize("kind", KINDS)
def test_a_transaction_of_any_type_needs_its_nonce(kind: type[SignedPayload]) -> None:
    transaction = signed(kind, nonce=3)
    with pytest.raises(TransactionRuleBroken, match="next nonce 0, tx nonce 3"):
        execute(Snapshot(world()), RULES, BLOCK, tx_env_of(transaction))


@pytest.mark.parametrize("kind", KINDS)
def test_a_transaction_of_any_type_needs_its_chain(kind: type[SignedPayload]) -> None:
    with pytest.raises(TransactionRuleBroken, match="have 270 want 271"):
        execute(Snapshot(world()), Rules(271), BLOCK, tx_env_of(signed(kind)))


def test_a_legacy_transaction_without_a_chain_runs_on_any() -> None:
    tx_env = tx_env_of(signed(LegacyTransaction, chain_id=None))
    assert execute(Snapshot(world()), Rules(271), BLOCK, tx_env).status == "success"
