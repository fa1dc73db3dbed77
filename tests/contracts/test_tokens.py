"""Deposits of tokens that deviate from the standard."""

from __future__ import annotations

from dataclasses import replace

import pytest
from eth_abi import abi

from tests.support.contracts.engine import ETHER, L1_CHAIN_ID, Reverted
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    ETH_TOKEN,
    Deployed,
    asset_id,
)
from tests.support.contracts.requests import deposit_token

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


def test_ether_has_metadata(l1: Deployed) -> None:
    metadata = l1.engine.read(l1.vault, "getERC20Getters", ETH_TOKEN, L1_CHAIN_ID)
    answers = [
        abi.encode([kind], [value])
        for kind, value in (("string", "Ether"), ("string", "ETH"), ("uint8", 18))
    ]
    kinds = ["uint256", "bytes", "bytes", "bytes"]
    assert metadata == b"\x01" + abi.encode(kinds, [L1_CHAIN_ID, *answers])


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
