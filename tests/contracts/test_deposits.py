"""Requests of L2 transactions, and deposits of tokens."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from eth_abi import abi

from entresol.primitives.transactions import PriorityTransaction
from entresol.primitives.values import Address
from tests.support.contracts.create2 import alias
from tests.support.contracts.engine import ETHER, GWEI, L1_CHAIN_ID, Contract, Reverted, error_of
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    ETH_TOKEN,
    L2_ASSET_ROUTER,
    Deployed,
    asset_id,
    burn_data,
    direct,
    two_bridges,
)
from tests.support.contracts.merkle_trees import priority_levels
from tests.support.contracts.requests import (
    deposit,
    fee,
    new_form,
    old_form,
    payload,
    request,
    requested,
)

# --- Direct ---


def test_a_request_becomes_a_priority_transaction(l1: Deployed) -> None:
    tx_hash = request(l1, mint_value=ETHER, l2_value=ETHER // 2, l2_calldata=b"\x12\x34")
    assert payload(l1) == PriorityTransaction(
        sender=ALICE,
        to=BOB,
        gas_limit=1_000_000,
        gas_per_pubdata_limit=800,
        max_fee_per_gas=fee(GWEI),
        nonce=0,
        value=ETHER // 2,
        to_mint=ETHER,
        refund_recipient=ALICE,
        data=b"\x12\x34",
    )
    assert requested(l1)["txHash"] == tx_hash == payload(l1).hash()


def test_requests_have_consecutive_ids_and_are_in_the_priority_tree(l1: Deployed) -> None:
    hashes: list[bytes] = []
    for number in range(9):
        hashes.append(request(l1))
        assert requested(l1)["txId"] == payload(l1).nonce == number
        assert l1.engine.read(l1.chain, "getPriorityTreeRoot") == priority_levels(hashes)[-1][0]
    for size in range(1, 10):
        levels = priority_levels(hashes[:size])
        root, height = levels[-1][0], len(levels) - 1
        assert l1.engine.read(l1.chain, "isPriorityTreeRoot", root, height)
        # An inner node is not a root of another height.
        assert not l1.engine.read(l1.chain, "isPriorityTreeRoot", root, height + 1)
    assert l1.engine.read(l1.chain, "getTotalPriorityTxs") == 9


def test_exactly_the_base_cost_and_the_value_are_enough(l1: Deployed) -> None:
    needed = fee(GWEI) * 1_000_000 + 5
    request(l1, mint_value=needed, l2_value=5)
    with pytest.raises(Reverted) as rejection:
        request(l1, mint_value=needed - 1, l2_value=5)
    assert rejection.value.args == ("MsgValueTooLow", needed, needed - 1)


def test_the_price_is_that_of_the_transaction_on_l1(l1: Deployed) -> None:
    l1.engine.gas_price = 1_000 * GWEI
    request(l1)
    assert payload(l1).max_fee_per_gas == fee(1_000 * GWEI)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"chain_id": 999}, ("ChainIdNotRegistered", 999)),
        ({"value": ETHER - 1}, ("MsgValueMismatch", ETHER, ETHER - 1)),
        ({"value": ETHER + 1}, ("MsgValueMismatch", ETHER, ETHER + 1)),
        ({"gas_per_pubdata": 50_000}, ("GasPerPubdataMismatch",)),
        ({"gas_per_pubdata": 0}, ("GasPerPubdataMismatch",)),
        ({"mint_value": 0}, ("EmptyDeposit",)),
    ],
    ids=lambda it: it[0] if isinstance(it, tuple) else next(iter(it)),
)
def test_a_wrong_request_is_rejected(
    l1: Deployed, fields: dict[str, Any], error: tuple[object, ...]
) -> None:
    with pytest.raises(Reverted) as rejection:
        request(l1, **fields)
    assert rejection.value.args == error


# --- Gas ---


def minimal_gas(data: bytes, deps: int = 0) -> int:
    """Return the minimum gas limit that L1 accepts, by the rules of the protocol."""
    length = 800 + -(-len(data) // 32) * 32 + 32 * deps
    computation = max(167_157 + -(-length * 1_656 // 544) + 2_473 * deps, 173_484)
    by_work = max(10_000, 10 * length) + computation + (88 + 64 * deps) * 800
    return max(by_work, 21_000 + sum(40 if byte else 10 for byte in data))


@pytest.mark.parametrize(
    "data",
    [
        *(b"\xff" * size for size in (0, 1, 32, 4_000, 8_300, 20_001)),
        *(bytes(size) for size in (1, 31, 20_001)),
        bytes(15_000) + b"\x01" * 15_001,
    ],
    ids=lambda it: f"{len(it)} bytes, {it.count(0)} zeros",
)
def test_the_minimum_gas_is_accepted_and_one_less_is_not(l1: Deployed, data: bytes) -> None:
    request(l1, l2_calldata=data, l2_gas_limit=minimal_gas(data))
    with pytest.raises(Reverted, match="ValidateTxnNotEnoughGas"):
        request(l1, l2_calldata=data, l2_gas_limit=minimal_gas(data) - 1)


def test_gas_below_the_overhead_is_rejected(l1: Deployed) -> None:
    with pytest.raises(Reverted, match="TxnBodyGasLimitNotEnoughGas"):
        request(l1, l2_gas_limit=9_999)


def test_the_maximum_gas_is_accepted_and_one_more_is_not(l1: Deployed) -> None:
    request(l1, l2_gas_limit=72_010_000)
    with pytest.raises(Reverted, match="TooMuchGas"):
        request(l1, l2_gas_limit=72_010_001)


def test_gas_for_too_much_pubdata_is_rejected(l1: Deployed) -> None:
    deployer = Address.parse(l1.engine.read(l1.chain, "getAdmin"))
    l1.engine.send(deployer, l1.chain, "setPriorityTxMaxGasLimit", 2**63)
    request(l1, l2_gas_limit=99_000 * 800 + 799 + 10_000)
    with pytest.raises(Reverted) as rejection:
        request(l1, l2_gas_limit=99_001 * 800 + 10_000)
    assert rejection.value.args == ("PubdataGreaterThanLimit", 99_000, 99_001)


# --- Dependencies ---


def test_factory_dependencies_have_their_versioned_hashes(l1: Deployed) -> None:
    code = bytes(range(96))
    request(l1, factory_deps=[code])
    name = b"\x01\x00\x00\x03" + hashlib.sha256(code).digest()[4:]
    assert payload(l1).factory_dep_hashes == (name,)
    assert payload(l1).factory_deps == (code,)


@pytest.mark.parametrize(
    ("deps", "error"),
    [
        ([bytes(33)], ("LengthIsNotDivisibleBy32", 33)),
        ([bytes(64)], ("MalformedBytecode", 3)),
        ([b""], ("MalformedBytecode", 3)),
        ([bytes(32)] * 65, ("TooManyFactoryDeps",)),
    ],
    ids=["half a word", "even", "empty", "too many"],
)
def test_an_invalid_factory_dependency_is_rejected(
    l1: Deployed, deps: list[bytes], error: tuple[object, ...]
) -> None:
    with pytest.raises(Reverted) as rejection:
        request(l1, factory_deps=deps)
    assert rejection.value.args == error


# --- Senders and refunds ---


def by_contract(l1: Deployed, actor: Contract, **fields: Any) -> None:
    data = l1.bridgehub.encode("requestL2TransactionDirect", direct(**fields))
    l1.engine.send(ALICE, actor, "act", l1.bridgehub.address, data, value=ETHER)


def test_the_sender_of_a_contracts_request_is_its_alias(l1: Deployed) -> None:
    actor = l1.engine.deploy("Actor", sender=ALICE)
    by_contract(l1, actor)
    assert payload(l1).sender == alias(actor.address)


def test_an_account_that_delegates_to_code_keeps_its_address(l1: Deployed) -> None:
    l1.engine.overlay.set_code(ALICE, b"\xef\x01\x00" + b"\xc0" * 20)
    request(l1, refund_recipient=ALICE)
    assert (payload(l1).sender, payload(l1).refund_recipient) == (ALICE, ALICE)


def test_without_a_recipient_the_alias_of_a_contract_gets_the_refund(l1: Deployed) -> None:
    actor = l1.engine.deploy("Actor", sender=ALICE)
    by_contract(l1, actor, refund_recipient=Address.zero())
    assert payload(l1).refund_recipient == alias(actor.address)


def test_a_contract_as_recipient_is_aliased(l1: Deployed) -> None:
    request(l1, refund_recipient=l1.router.address)
    assert payload(l1).refund_recipient == alias(l1.router.address)


# --- Through the asset router ---


def approved(l1: Deployed, spender: Contract | None = None) -> Contract:
    token = l1.token()
    l1.engine.send(ALICE, token, "approve", (spender or l1.router).address, 2**256 - 1)
    return token


@pytest.mark.parametrize("form", [new_form, old_form])
def test_a_token_is_deposited(l1: Deployed, form: Any) -> None:
    token = approved(l1)
    tx_hash = deposit(l1, form(token, 5 * ETHER))
    arrived = payload(l1)
    assert (arrived.sender, arrived.to) == (alias(l1.router.address), L2_ASSET_ROUTER)
    assert arrived.data[:4] == bytes.fromhex("9c884fd1")
    chain_id, asset, mint = abi.decode(["uint256", "bytes32", "bytes"], arrived.data[4:])
    assert (chain_id, asset) == (L1_CHAIN_ID, asset_id(token.address))
    caller, receiver, origin, amount, metadata = abi.decode(
        ["address", "address", "address", "uint256", "bytes"], mint
    )
    assert [Address.parse(it) for it in (caller, receiver, origin)] == [ALICE, BOB, token.address]
    assert amount == 5 * ETHER == l1.engine.read(token, "balanceOf", l1.vault.address)
    assert metadata[:1] == b"\x01"
    origin_chain, *answers = abi.decode(["uint256", "bytes", "bytes", "bytes"], metadata[1:])
    assert origin_chain == L1_CHAIN_ID
    assert answers == [
        abi.encode([kind], [value])
        for kind, value in (("string", "Test"), ("string", "TST"), ("uint8", 18))
    ]
    assert l1.engine.read(l1.nullifier, "depositHappened", CHAIN_ID, tx_hash) != bytes(32)


def test_an_allowance_for_the_vault_is_accepted_as_well(l1: Deployed) -> None:
    token = approved(l1, l1.vault)
    deposit(l1, new_form(token, 7))
    assert l1.engine.read(token, "balanceOf", l1.vault.address) == 7


def test_without_an_allowance_there_is_no_deposit_and_the_token_says_why(l1: Deployed) -> None:
    with pytest.raises(Reverted) as raised:
        deposit(l1, new_form(l1.token(), 7))
    assert str(raised.value) == f"InsufficientAllowance({l1.vault.address}, 0, 7)"


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", "UnsupportedEncodingVersion"),
        (b"\x02" + bytes(64), "UnsupportedEncodingVersion"),
        (b"\x01" + abi.encode(["bytes32", "bytes"], [asset_id(ETH_TOKEN), bytes(96)]),
         "AssetIdNotSupported"),
        (b"\x01" + abi.encode(["bytes32", "bytes"], [bytes(32), burn_data(1, BOB, BOB)]),
         "NotAToken"),
        (abi.encode(["address", "uint256", "address"], [ETH_TOKEN, 1, BOB]),
         "AssetIdNotSupported"),
    ],
    ids=["empty", "version", "base token", "no token", "old base token"],
)  # fmt: skip
def test_a_wrong_deposit_is_rejected(l1: Deployed, data: bytes, error: str) -> None:
    with pytest.raises(Reverted, match=error):
        deposit(l1, data)


def test_a_deposit_with_another_asset_id_than_the_tokens_is_rejected(l1: Deployed) -> None:
    token, other = approved(l1), approved(l1)
    inner = burn_data(7, BOB, other.address)
    data = b"\x01" + abi.encode(["bytes32", "bytes"], [asset_id(token.address), inner])
    with pytest.raises(Reverted, match="AssetIdMismatch"):
        deposit(l1, data)
    l1.engine.send(ALICE, l1.vault, "registerToken", token.address)
    with pytest.raises(Reverted, match="TokenMismatch"):
        deposit(l1, data)


def test_a_deposit_of_nothing_is_rejected(l1: Deployed) -> None:
    with pytest.raises(Reverted, match="EmptyDeposit"):
        deposit(l1, new_form(approved(l1), 0))


def test_ether_beside_a_token_is_rejected(l1: Deployed) -> None:
    with pytest.raises(Reverted, match="NonEmptyMsgValue"):
        deposit(l1, new_form(approved(l1), 7), bridge_value=1)


def test_a_second_bridge_with_a_low_address_is_rejected(l1: Deployed) -> None:
    with pytest.raises(Reverted, match="AddressTooLow"):
        deposit(l1, b"", bridge=Address((0xFFFF).to_bytes(20)))


def test_a_second_bridge_without_the_magic_value_is_rejected(l1: Deployed) -> None:
    # Returns the offset of a tuple whose words are all zero, or empty at offset zero.
    code = "6020 5f 52 60e0 5f f3"
    l1.engine.overlay.set_code(BOB, bytes.fromhex(code))
    with pytest.raises(Reverted, match="WrongMagicValue"):
        deposit(l1, b"", bridge=BOB)


def test_the_record_of_a_deposit_is_not_overwritten(l1: Deployed) -> None:
    record = ("bridgehubConfirmL2TransactionForwarded", CHAIN_ID, b"\1" * 32, b"\2" * 32)
    l1.engine.send(l1.router.address, l1.nullifier, *record)
    with pytest.raises(Reverted, match="DepositExists"):
        l1.engine.send(l1.router.address, l1.nullifier, *record)


def test_a_reentrant_deposit_is_rejected(l1: Deployed) -> None:
    token = l1.token("ReentrantToken")
    l1.engine.send(ALICE, token, "approve", l1.router.address, 2**256 - 1)
    again = two_bridges(l1.router.address, new_form(token, 7), mint_value=0)
    l1.engine.send(
        ALICE, token, "arm", l1.bridgehub.address,
        l1.bridgehub.encode("requestL2TransactionTwoBridges", again),
    )  # fmt: skip
    deposit(l1, new_form(token, 7))
    assert l1.engine.read(token, "succeeded") is False
    assert error_of(l1.engine.read(token, "returnData")).error == "Reentrancy"
    assert l1.engine.read(l1.vault, "chainBalance", CHAIN_ID, asset_id(token.address)) == 7
