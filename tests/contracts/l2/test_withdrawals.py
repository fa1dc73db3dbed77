"""Withdrawals of tokens: bridged ones are burnt, those of this chain are locked in the vault."""

from __future__ import annotations

from contextlib import closing

import pytest

from entresol._native import keccak256
from entresol.contracts import artifact
from entresol.errors import ExecutionReverted
from entresol.primitives.base_token import ETH_TOKEN, asset_id
from entresol.primitives.l2_to_l1_logs import L1_MESSAGE_SENT, L1_MESSENGER
from entresol.primitives.records import TransactionResult
from entresol.primitives.values import Address, Hash32
from entresol.rollup.system_contracts import ASSET_ROUTER, NATIVE_TOKEN_VAULT
from tests.support.contracts.layer_two import (
    ALICE,
    BOB,
    CHAIN_ID,
    L1_ASSET,
    L1_CHAIN_ID,
    L1_TOKEN,
    ROUTER_ALIAS,
    LayerTwo,
    artifact_for_tests,
    calldata,
    decode,
    encode,
    failure,
    logs_of,
    messages_of,
    metadata,
    padded,
)

RECEIVER = Address(b"\x91" * 20)
BY_ASSET = "withdraw(bytes32,bytes)"
BY_ADDRESS = "withdraw(address,address,uint256)"
CROWN = metadata(encode("(string)", "Crown"), encode("(string)", "CRWN"), encode("(uint8)", 6))


@pytest.fixture
def crown(l2: LayerTwo) -> Address:
    """Return a token of L1, of which Alice has a thousand."""
    l2.deposit(1_000)
    return Address.parse(l2.read(ASSET_ROUTER, "l2TokenAddress(address)(address)", L1_TOKEN))


@pytest.fixture
def native(l2: LayerTwo) -> Address:
    """Return a token of this chain, of which Alice has a thousand and has approved the vault for all."""
    token = l2.deploy(artifact("TestERC20"), "(string,string,uint8)", "Local", "LCL", 8)
    l2.send(token, calldata("mint(address,uint256)", ALICE, 1_000))
    l2.send(token, calldata("approve(address,uint256)", NATIVE_TOKEN_VAULT, 2**256 - 1))
    return token


def by_asset(asset: Hash32, amount: int, token: Address, receiver: Address = RECEIVER) -> bytes:
    data = encode("(uint256,address,address)", amount, receiver, token)
    return calldata(BY_ASSET, asset, data)


def message_of(outcome: TransactionResult) -> bytes:
    """Return the only message of a transaction."""
    assert outcome.succeeded
    (log,) = logs_of(outcome, L1_MESSENGER, L1_MESSAGE_SENT)
    assert log[1][1] == padded(ASSET_ROUTER)
    message: bytes = decode("(bytes)", log[2])
    (sent,) = messages_of(outcome)
    assert (sent.key, sent.value) == (padded(ASSET_ROUTER), keccak256(message))
    return message


def rejection(l2: LayerTwo, call: bytes, sender: Address = ALICE) -> bytes:
    """Return the revert data of the router."""
    with pytest.raises(ExecutionReverted) as caught:
        l2.call(ASSET_ROUTER, call, sender=sender)
    return caught.value.data


@pytest.mark.parametrize("form", ["asset", "token"])
def test_the_message_is_the_call_that_finalizes_the_withdrawal(
    l2: LayerTwo, crown: Address, form: str
) -> None:
    by_token = calldata(BY_ADDRESS, RECEIVER, crown, 400)
    call = by_asset(L1_ASSET, 400, crown) if form == "asset" else by_token
    assert message_of(l2.send(ASSET_ROUTER, call)) == (
        bytes.fromhex("9c884fd1")
        + CHAIN_ID.to_bytes(32)
        + L1_ASSET
        + encode("(address,address,address,uint256,bytes)", ALICE, RECEIVER, L1_TOKEN, 400, CROWN)
    )


def test_a_withdrawal_emits_its_events(l2: LayerTwo, crown: Address) -> None:
    outcome = l2.send(ASSET_ROUTER, by_asset(L1_ASSET, 400, crown))
    ((_, topics, data),) = logs_of(
        outcome,
        ASSET_ROUTER,
        bytes.fromhex("55362fc62473cb1255e770af5d5e02ba6ee5bc7ed6969c30eb11ca31b92384dc"),
    )
    assert topics[1:] == (padded(ALICE), L1_ASSET)
    assert decode("(uint256,bytes)", data) == (
        L1_CHAIN_ID,
        encode("(uint256,address,address)", 400, RECEIVER, crown),
    )
    ((_, topics, data),) = logs_of(
        outcome,
        NATIVE_TOKEN_VAULT,
        bytes.fromhex("1cd02155ad1064c60598a8bd0e4e795d7e7d0a0f3c38aad04d261f1297fb2545"),
    )
    assert topics[1:] == (L1_CHAIN_ID.to_bytes(32), L1_ASSET, padded(ALICE))
    assert data == padded(RECEIVER) + (400).to_bytes(32)


def test_the_router_returns_the_hash_of_the_message(l2: LayerTwo, crown: Address) -> None:
    call = by_asset(L1_ASSET, 400, crown)
    answer = l2.call(ASSET_ROUTER, call)
    assert answer == keccak256(message_of(l2.send(ASSET_ROUTER, call)))


def test_a_withdrawal_above_the_balance_is_rejected(l2: LayerTwo, crown: Address) -> None:
    error = failure("InsufficientBalance(address,uint256,uint256)", ALICE, 1_000, 1_001)
    assert rejection(l2, by_asset(L1_ASSET, 1_001, crown)) == error


@pytest.mark.usefixtures("crown")
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (by_asset(L1_ASSET, 0, L1_TOKEN), failure("AmountMustBeGreaterThanZero()")),
        (by_asset(L1_ASSET, 2**128, L1_TOKEN), failure("AmountTooLarge(uint256)", 2**128)),
        (
            by_asset(L1_ASSET, 1, L1_TOKEN, Address.zero()),
            failure("InvalidReceiver(address)", Address.zero()),
        ),
        (
            by_asset(asset_id(L1_CHAIN_ID, ETH_TOKEN), 1, ETH_TOKEN),
            failure("AssetIdNotSupported(bytes32)", asset_id(L1_CHAIN_ID, ETH_TOKEN)),
        ),
        (by_asset(Hash32.zero(), 1, L1_TOKEN), failure("EmptyToken()")),
        (
            calldata(BY_ADDRESS, RECEIVER, L1_TOKEN, 1),
            failure("TokenNotRegistered(address)", L1_TOKEN),
        ),
    ],
    ids=["nothing", "too much", "for nobody", "base token", "no token", "unknown token"],
)
def test_an_invalid_withdrawal_is_rejected(l2: LayerTwo, call: bytes, error: bytes) -> None:
    assert rejection(l2, call) == error


def test_a_withdrawal_with_another_asset_id_than_the_tokens_is_rejected(
    l2: LayerTwo, crown: Address
) -> None:
    claimed = Hash32(b"\x99" * 32)
    error = failure("AssetIdMismatch(bytes32,bytes32)", L1_ASSET, claimed)
    assert rejection(l2, by_asset(claimed, 1, crown)) == error


def test_a_token_of_this_chain_is_registered_by_its_first_withdrawal(
    l2: LayerTwo, native: Address
) -> None:
    asset = asset_id(CHAIN_ID, native)
    description = metadata(
        encode("(string)", "Local"), encode("(string)", "LCL"), encode("(uint8)", 8), CHAIN_ID
    )
    assert message_of(l2.send(ASSET_ROUTER, by_asset(asset, 400, native))) == (
        bytes.fromhex("9c884fd1")
        + CHAIN_ID.to_bytes(32)
        + asset
        + encode(
            "(address,address,address,uint256,bytes)", ALICE, RECEIVER, native, 400, description
        )
    )
    assert l2.token_balance(native, NATIVE_TOKEN_VAULT) == 400
    assert l2.read(NATIVE_TOKEN_VAULT, "assetId(address)(bytes32)", native) == asset
    assert l2.read(NATIVE_TOKEN_VAULT, "originChainId(bytes32)(uint256)", asset) == CHAIN_ID
    assert l2.read(NATIVE_TOKEN_VAULT, "bridgedTokensCount()(uint256)") == 0


def test_a_token_of_this_chain_cannot_be_withdrawn_to_an_l1_without_support() -> None:
    with closing(LayerTwo(l1_takes_l2_tokens=False)) as l2:
        token = l2.deploy(artifact("TestERC20"), "(string,string,uint8)", "Local", "LCL", 8)
        l2.send(token, calldata("mint(address,uint256)", ALICE, 1_000))
        l2.send(token, calldata("approve(address,uint256)", NATIVE_TOKEN_VAULT, 1_000))
        call = by_asset(asset_id(CHAIN_ID, token), 400, token)
        assert rejection(l2, call) == failure("TokenNotSupported(address)", token)


def test_a_deposit_of_a_token_of_this_chain_is_paid_by_the_vault(
    l2: LayerTwo, native: Address
) -> None:
    asset = asset_id(CHAIN_ID, native)
    l2.send(ASSET_ROUTER, by_asset(asset, 400, native))
    data = encode("(address,address,address,uint256,bytes)", RECEIVER, BOB, native, 150, b"")
    call = calldata("finalizeDeposit(uint256,bytes32,bytes)", L1_CHAIN_ID, asset, data)
    assert l2.from_l1(call).succeeded
    assert l2.token_balance(native, BOB) == 150
    assert l2.token_balance(native, NATIVE_TOKEN_VAULT) == 250


def test_a_token_can_be_registered_before_its_withdrawal(l2: LayerTwo, native: Address) -> None:
    asset = asset_id(CHAIN_ID, native)
    assert l2.send(NATIVE_TOKEN_VAULT, calldata("registerToken(address)", native)).succeeded
    ensured = "ensureTokenIsRegistered(address)(bytes32)"
    assert l2.read(NATIVE_TOKEN_VAULT, ensured, native) == asset
    assert message_of(l2.send(ASSET_ROUTER, calldata(BY_ADDRESS, RECEIVER, native, 1)))
    with pytest.raises(ExecutionReverted) as caught:
        l2.call(NATIVE_TOKEN_VAULT, calldata("registerToken(address)", native))
    assert caught.value.data == failure("TokenAlreadyRegistered(address)", native)


def test_a_bridged_token_counts_as_registered(l2: LayerTwo, crown: Address) -> None:
    ensured = "ensureTokenIsRegistered(address)(bytes32)"
    assert l2.read(NATIVE_TOKEN_VAULT, ensured, crown) == L1_ASSET


def test_an_address_without_code_is_no_token(l2: LayerTwo) -> None:
    for function in ("registerToken(address)", "ensureTokenIsRegistered(address)"):
        with pytest.raises(ExecutionReverted) as caught:
            l2.call(NATIVE_TOKEN_VAULT, calldata(function, BOB))
        assert caught.value.data == failure("EmptyToken()")


def test_a_withdrawal_needs_an_allowance_for_the_vault(l2: LayerTwo, native: Address) -> None:
    l2.send(native, calldata("transfer(address,uint256)", BOB, 10))
    error = failure("InsufficientAllowance(address,uint256,uint256)", NATIVE_TOKEN_VAULT, 0, 10)
    assert rejection(l2, by_asset(asset_id(CHAIN_ID, native), 10, native), BOB) == error


def test_a_token_with_a_transfer_fee_cannot_be_withdrawn(l2: LayerTwo) -> None:
    token = l2.deploy(artifact_for_tests("TaxedToken"))
    l2.send(token, calldata("approve(address,uint256)", NATIVE_TOKEN_VAULT, 1_000))
    call = by_asset(asset_id(CHAIN_ID, token), 1_000, token)
    assert rejection(l2, call) == failure("TokensWithFeesNotSupported()")


def test_a_reentrant_withdrawal_is_rejected(l2: LayerTwo) -> None:
    token = l2.deploy(artifact_for_tests("RecursiveToken"))
    l2.send(token, calldata("approve(address,uint256)", NATIVE_TOKEN_VAULT, 1_000))
    call = by_asset(asset_id(CHAIN_ID, token), 1_000, token)
    assert rejection(l2, call) == failure("Reentered()")


def test_a_token_older_than_the_standard_is_withdrawn_and_deposited(l2: LayerTwo) -> None:
    token = l2.deploy(artifact_for_tests("OldToken"))
    asset = asset_id(CHAIN_ID, token)
    message = message_of(l2.send(ASSET_ROUTER, by_asset(asset, 1_000, token)))
    description = metadata(b"Old token".ljust(32, b"\0"), b"OLD".ljust(32, b"\0"), b"", CHAIN_ID)
    assert decode("(address,address,address,uint256,bytes)", message[68:])[4] == description
    data = encode("(address,address,address,uint256,bytes)", RECEIVER, BOB, token, 1_000, b"")
    call = calldata("finalizeDeposit(uint256,bytes32,bytes)", L1_CHAIN_ID, asset, data)
    assert l2.from_l1(call).succeeded
    assert l2.token_balance(token, BOB) == 1_000


def test_a_transfer_that_returns_false_on_l2_is_rejected(l2: LayerTwo) -> None:
    token = l2.deploy(artifact_for_tests("OldToken"))
    asset = asset_id(CHAIN_ID, token)
    l2.send(ASSET_ROUTER, by_asset(asset, 1_000, token))
    l2.send(token, calldata("stop()"))
    error = failure("TransferFailed(address)", token)
    assert rejection(l2, by_asset(asset, 1_000, token)) == error
    data = encode("(address,address,address,uint256,bytes)", RECEIVER, BOB, token, 1_000, b"")
    call = calldata("finalizeDeposit(uint256,bytes32,bytes)", L1_CHAIN_ID, asset, data)
    assert rejection(l2, call, ROUTER_ALIAS) == error
