"""Tokens that deviate from the standard, and tokens of an L2: withdrawn to L1, bridged to others, deposited again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from eth_abi import abi

from entresol.primitives.values import Address, Hash32
from tests.support.contracts.engine import ETHER, L1_CHAIN_ID, Contract, Reverted, find
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    L2_ASSET_ROUTER,
    OPERATOR,
    OTHER_CHAIN_ID,
    Deployed,
    asset_id,
    burn_data,
)
from tests.support.contracts.requests import (
    asset_message,
    claim,
    deposit,
    deposit_token,
    finalize,
    status_proof,
)

WORD = b"ODD".ljust(32, b"\0")
ONE_WORD, REVERTS, NOTHING, TOO_MUCH, ALL_GAS, DEAR = range(6)


def description(l1: Deployed) -> list[bytes]:
    """Return the name, symbol and decimals in the last deposit."""
    event = l1.engine.event(l1.router, "BridgehubDepositInitiated")
    kinds = ["address", "address", "address", "uint256", "bytes"]
    metadata = abi.decode(kinds, event.fields["bridgeMintCalldata"])[4]
    assert metadata[:1] == b"\x01"
    chain_id, *returned = abi.decode(["uint256", "bytes", "bytes", "bytes"], metadata[1:])
    assert chain_id == L1_CHAIN_ID
    return returned


@pytest.mark.parametrize(
    ("oddity", "returned"),
    [
        (ONE_WORD, WORD),
        (DEAR, WORD),
        (REVERTS, b""),
        (NOTHING, b""),
        (TOO_MUCH, b""),
        (ALL_GAS, b""),
    ],
)
def test_a_token_with_invalid_metadata_is_deposited(
    l1: Deployed, oddity: int, returned: bytes
) -> None:
    token = l1.token("OddToken", oddity)
    deposit_token(l1, token, 100)
    assert description(l1) == [returned] * 3
    assert l1.engine.read(token, "balanceOf", l1.vault.address) == 100


def test_the_minimum_gas_of_a_deposit_is_enough_for_the_metadata(l1: Deployed) -> None:
    token = l1.token("OddToken", DEAR)
    too_little, enough = 21_000, 3_000_000
    while enough - too_little > 1:
        trial = replace(l1, engine=l1.engine.fork())
        trial.engine.gas_limit = (too_little + enough) // 2
        try:
            deposit_token(trial, token, 100)
        except Reverted:
            too_little = trial.engine.gas_limit
        else:
            enough = trial.engine.gas_limit
            assert description(trial) == [WORD] * 3
    assert enough > 4 * 45_000


def test_a_token_whose_transfers_return_nothing_is_deposited(l1: Deployed) -> None:
    token = l1.token("SilentToken")
    deposit_token(l1, token, 100)
    assert description(l1) == [b""] * 3
    assert l1.engine.read(token, "balanceOf", l1.vault.address) == 100


def test_a_token_with_a_transfer_fee_is_rejected(l1: Deployed) -> None:
    token = l1.token("FeeToken")
    with pytest.raises(Reverted, match="TokensWithFeesNotSupported"):
        deposit_token(l1, token, 100)
    assert l1.engine.read(l1.vault, "chainBalance", CHAIN_ID, asset_id(token.address)) == 0


def test_a_transfer_that_returns_false_is_rejected(l1: Deployed) -> None:
    with pytest.raises(Reverted, match="TokenTransferFailed"):
        deposit_token(l1, l1.token("RejectingToken"), 100)


def test_a_token_is_registered_once(l1: Deployed) -> None:
    token = l1.token()
    assert l1.engine.read(l1.vault, "assetId", token.address) == bytes(32)
    assert (
        l1.engine.read(l1.router, "assetHandlerAddress", asset_id(token.address)) == "0x" + "0" * 40
    )
    known = l1.engine.send(BOB, l1.vault, "ensureTokenIsRegistered", token.address)
    assert known == asset_id(token.address)
    assert l1.engine.send(BOB, l1.vault, "ensureTokenIsRegistered", token.address) == known
    assert l1.engine.read(l1.vault, "assetId", token.address) == known
    assert l1.engine.read(l1.vault, "tokenAddress", known) == str(token.address)
    assert l1.engine.read(l1.vault, "originChainId", known) == L1_CHAIN_ID
    assert l1.engine.read(l1.router, "assetHandlerAddress", known) == str(l1.vault.address)
    with pytest.raises(Reverted, match="TokenAlreadyRegistered"):
        l1.engine.send(BOB, l1.vault, "registerToken", token.address)


def test_an_account_without_code_is_no_token(l1: Deployed) -> None:
    for function in ("registerToken", "ensureTokenIsRegistered"):
        with pytest.raises(Reverted, match="NotAToken"):
            l1.engine.send(BOB, l1.vault, function, BOB)


def test_the_test_token_is_a_standard_token(l1: Deployed) -> None:
    token, engine = l1.token("TestERC20", "Dai", "DAI", 6), l1.engine
    answers = [engine.read(token, name) for name in ("name", "symbol", "decimals", "totalSupply")]
    assert answers == ["Dai", "DAI", 6, 1000 * ETHER]
    assert engine.send(ALICE, token, "transfer", BOB, 3)
    assert engine.send(ALICE, token, "approve", BOB, 5)
    assert engine.send(BOB, token, "transferFrom", ALICE, BOB, 4)
    assert engine.read(token, "allowance", ALICE, BOB) == 1
    assert engine.read(token, "balanceOf", BOB) == 7
    with pytest.raises(Reverted, match="InsufficientAllowance"):
        engine.send(BOB, token, "transferFrom", ALICE, BOB, 2)
    with pytest.raises(Reverted, match="InsufficientBalance"):
        engine.send(BOB, token, "transfer", ALICE, 8)


# --- Tokens of an L2 ---


ORIGIN = Address(b"\x70" * 20)
ASSET = asset_id(ORIGIN, CHAIN_ID)
ANSWERS = [
    abi.encode([kind], [value])
    for kind, value in (("string", "Token of L2"), ("string", "TL2"), ("uint8", 6))
]
MINT = ["address", "address", "address", "uint256", "bytes"]


def metadata(answers: list[bytes], chain_id: int = CHAIN_ID) -> bytes:
    return b"\x01" + abi.encode(["uint256", "bytes", "bytes", "bytes"], [chain_id, *answers])


def arrive(
    l1: Deployed,
    amount: int,
    *,
    chain_id: int = CHAIN_ID,
    chain: Contract | None = None,
    answers: list[bytes] = ANSWERS,
    raw: bytes | None = None,
) -> None:
    """Settle a withdrawal of the token to Alice, and have it paid out."""
    described = metadata(answers) if raw is None else raw
    data = abi.encode(MINT, [BOB, ALICE, ORIGIN, amount, described])
    message = asset_message(ASSET, data, chain_id)
    finalize(l1, claim(l1, message, L2_ASSET_ROUTER, chain=chain, chain_id=chain_id))


def token_of(l1: Deployed) -> Contract:
    address = Address.parse(l1.engine.read(l1.vault, "tokenAddress", ASSET))
    return Contract(address, find("L1BridgedToken"))


def leave(l1: Deployed, amount: int, chain_id: int = CHAIN_ID) -> Hash32:
    """Deposit the token to a chain."""
    inner = burn_data(amount, BOB, token_of(l1).address)
    data = b"\x01" + abi.encode(["bytes32", "bytes"], [ASSET, inner])
    return deposit(l1, data, chain_id=chain_id)


def deposited(l1: Deployed) -> tuple[Any, ...]:
    event = l1.engine.event(l1.router, "BridgehubDepositInitiated")
    return abi.decode(MINT, event.fields["bridgeMintCalldata"])


def test_the_first_withdrawal_of_an_l2_token_deploys_its_bridged_token(l1: Deployed) -> None:
    arrive(l1, 5)
    arrive(l1, 3)
    token, engine = token_of(l1), l1.engine
    assert [engine.read(token, name) for name in ("name", "symbol", "decimals")] == [
        "Token of L2",
        "TL2",
        6,
    ]
    assert engine.read(token, "balanceOf", ALICE) == engine.read(token, "totalSupply") == 8
    assert engine.read(token, "originToken") == str(ORIGIN)
    assert engine.read(token, "assetId") == ASSET == engine.read(l1.vault, "assetId", token.address)
    assert engine.read(l1.vault, "originChainId", ASSET) == CHAIN_ID


def test_a_deposit_of_the_bridged_token_names_the_l2_token(l1: Deployed) -> None:
    arrive(l1, 5)
    leave(l1, 2)
    assert l1.engine.read(token_of(l1), "totalSupply") == 3
    assert deposited(l1) == (str(ALICE), str(BOB), str(ORIGIN), 2, metadata(ANSWERS))


def test_it_is_bridged_to_another_chain_and_back(l1: Deployed) -> None:
    other = l1.add_chain()
    arrive(l1, 5)
    leave(l1, 4, OTHER_CHAIN_ID)
    assert deposited(l1)[4] == metadata(ANSWERS)
    assert l1.engine.read(l1.vault, "chainBalance", OTHER_CHAIN_ID, ASSET) == 4
    arrive(l1, 4, chain_id=OTHER_CHAIN_ID, chain=other)
    assert l1.engine.read(token_of(l1), "totalSupply") == 5


def test_another_chain_cannot_withdraw_it_first(l1: Deployed) -> None:
    other = l1.add_chain()
    with pytest.raises(Reverted, match="AssetIdNotSupported"):
        arrive(l1, 5, chain_id=OTHER_CHAIN_ID, chain=other)


@pytest.mark.parametrize("raw", [b"", b"\x02" + metadata(ANSWERS)[1:]], ids=["none", "version"])
def test_it_is_not_deployed_without_metadata(l1: Deployed, raw: bytes) -> None:
    with pytest.raises(Reverted, match="TokenDataOfUnknownVersion"):
        arrive(l1, 5, raw=raw)


def test_invalid_metadata_is_returned_unchanged(l1: Deployed) -> None:
    arrive(l1, 5, answers=[b"ODD".ljust(32, b"\0"), b"", b"\xff" * 40])
    leave(l1, 5)
    assert deposited(l1)[4] == metadata([b"ODD".ljust(32, b"\0"), b"", b"\xff" * 40])


def test_a_deposit_above_the_balance_is_rejected(l1: Deployed) -> None:
    arrive(l1, 5)
    with pytest.raises(Reverted, match="InsufficientBalance"):
        leave(l1, 6)


def test_a_deposit_of_the_bridged_token_that_fails_on_l2_is_refunded(l1: Deployed) -> None:
    arrive(l1, 5)
    tx_hash = leave(l1, 2)
    data = burn_data(2, BOB, token_of(l1).address)
    refund = (CHAIN_ID, ALICE, ASSET, data, *status_proof(l1, tx_hash))
    l1.engine.send(OPERATOR, l1.nullifier, "bridgeRecoverFailedTransfer", *refund)
    assert l1.engine.read(token_of(l1), "balanceOf", ALICE) == 5


@pytest.mark.parametrize("function", ["bridgeMint", "bridgeBurn"])
def test_only_the_vault_mints_and_burns_it(l1: Deployed, function: str) -> None:
    arrive(l1, 5)
    with pytest.raises(Reverted, match="Unauthorized"):
        l1.engine.send(ALICE, token_of(l1), function, ALICE, 1)


def test_it_is_not_registered_as_a_token_of_l1(l1: Deployed) -> None:
    arrive(l1, 5)
    token = token_of(l1)
    with pytest.raises(Reverted, match="TokenAlreadyRegistered"):
        l1.engine.send(ALICE, l1.vault, "registerToken", token.address)
    assert l1.engine.read(l1.vault, "tokenAddress", asset_id(token.address, L1_CHAIN_ID)) == str(
        Address.zero()
    )
