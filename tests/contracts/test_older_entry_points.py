"""What older clients call: requests and withdrawals by the contract of the chain, and the legacy bridge."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from eth_abi import abi

from entresol._native import keccak256
from entresol.primitives.values import Address, Hash32
from tests.support.contracts.engine import ETHER, L1_CHAIN_ID, Contract, Reverted, alias
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    ETH_TOKEN,
    L2_BASE_TOKEN,
    OPERATOR,
    OTHER_CHAIN_ID,
    Deployed,
    asset_id,
    direct,
    two_bridges,
)
from tests.support.contracts.requests import claim as settled
from tests.support.contracts.requests import ether_message, payload, requested, status_proof


def arguments(**fields: Any) -> tuple[Any, ...]:
    """Return a request with the fields of one by the bridgehub, without chain and value."""
    _, _, *rest = direct(**fields)
    return tuple(rest)


def request(
    l1: Deployed,
    *,
    value: int = ETHER,
    chain: Contract | None = None,
    sender: Address = ALICE,
    **fields: Any,
) -> bytes:
    answer: bytes = l1.engine.send(
        sender, chain or l1.chain, "requestL2Transaction", *arguments(**fields), value=value
    )
    return answer


def balance(l1: Deployed, chain_id: int = CHAIN_ID, token: Address = ETH_TOKEN) -> int:
    found: int = l1.engine.read(l1.vault, "chainBalance", chain_id, asset_id(token))
    return found


def test_a_request_is_the_same_as_by_the_bridgehub(l1: Deployed) -> None:
    tx_hash = request(l1, l2_value=5, l2_calldata=b"\x12", factory_deps=[bytes(32)])
    assert requested(l1)["txHash"] == tx_hash == payload(l1).hash()
    assert payload(l1).nonce == 0
    assert (payload(l1).sender, payload(l1).to_mint, payload(l1).value) == (ALICE, ETHER, 5)
    assert [event.name for event in l1.engine.events(l1.chain)][-1] == "NewPriorityRequest"
    assert l1.engine.balance(l1.vault.address) == balance(l1) == ETHER
    assert l1.engine.balance(l1.chain.address) == 0
    by_chain = payload(l1)
    asked = direct(l2_value=5, l2_calldata=b"\x12", factory_deps=[bytes(32)])
    l1.engine.send(ALICE, l1.bridgehub, "requestL2TransactionDirect", asked, value=ETHER)
    assert msgspec.structs.replace(payload(l1), nonce=0) == by_chain
    assert balance(l1) == 2 * ETHER


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"value": 0}, "EmptyDeposit"),
        ({"gas_per_pubdata": 50_000}, "GasPerPubdataMismatch"),
        ({"l2_gas_limit": 9_999}, "TxnBodyGasLimitNotEnoughGas"),
        ({"l2_gas_limit": 72_010_001, "value": 100 * ETHER}, "TooMuchGas"),
        ({"l2_calldata": b"\1" * 30_000, "l2_gas_limit": 1_220_999}, "ValidateTxnNotEnoughGas"),
        ({"factory_deps": [bytes(64)]}, "MalformedBytecode"),
    ],
)
def test_a_wrong_request_is_rejected(l1: Deployed, fields: dict[str, Any], error: str) -> None:
    with pytest.raises(Reverted, match=error):
        request(l1, **fields)
    assert balance(l1) == 0


@pytest.mark.parametrize("refund_recipient", [Address.zero(), BOB])
def test_a_contract_acts_under_its_alias(l1: Deployed, refund_recipient: Address) -> None:
    actor = l1.engine.deploy("Actor", sender=ALICE)
    asked = arguments(refund_recipient=refund_recipient)
    data = l1.chain.encode("requestL2Transaction", *asked)
    l1.engine.send(ALICE, actor, "act", l1.chain.address, data, value=ETHER)
    assert payload(l1).sender == alias(actor.address)
    expected = alias(actor.address) if refund_recipient == Address.zero() else BOB
    assert payload(l1).refund_recipient == expected


def test_a_chain_with_another_base_token_takes_no_ether(l1: Deployed) -> None:
    token = l1.token()
    l1.engine.send(ALICE, l1.vault, "registerToken", token.address)
    chain = l1.add_chain(token=token.address)
    l1.engine.send(ALICE, token, "approve", l1.router.address, 2**256 - 1)
    for value in (0, ETHER):
        with pytest.raises(Reverted, match="BaseTokenIsNotEther"):
            request(l1, chain=chain, value=value)
    with pytest.raises(Reverted, match="BaseTokenIsNotEther"):
        l1.engine.send(OPERATOR, chain, "finalizeEthWithdrawal", 1, 0, 0, b"", [])


def test_a_contract_of_a_chain_takes_nothing_by_the_allowances_of_users(l1: Deployed) -> None:
    """A chain's contract is whatever was registered; it may be hostile."""
    token = l1.token()
    l1.engine.send(ALICE, l1.vault, "registerToken", token.address)
    chain = l1.add_chain(token=token.address)
    l1.engine.send(ALICE, token, "approve", l1.router.address, 2**256 - 1)
    deposit = ("bridgehubDepositBaseToken", OTHER_CHAIN_ID, asset_id(token.address), ALICE, 7)
    with pytest.raises(Reverted, match="Unauthorized"):
        l1.engine.send(chain.address, l1.router, *deposit)
    assert l1.engine.read(token, "balanceOf", ALICE) == 1000 * ETHER


def test_a_contract_of_a_chain_deposits_only_ether_that_it_sends(l1: Deployed) -> None:
    l1.engine.overlay.set_balance(l1.chain.address, ETHER)
    deposit = ("bridgehubDepositBaseToken", CHAIN_ID, asset_id(ETH_TOKEN), ALICE, 7)
    with pytest.raises(Reverted, match="ValueMismatch"):
        l1.engine.send(l1.chain.address, l1.router, *deposit)
    with pytest.raises(Reverted, match="ValueMismatch"):
        l1.engine.send(l1.chain.address, l1.router, *deposit, value=6)
    elsewhere = (deposit[0], OTHER_CHAIN_ID, *deposit[2:])
    l1.add_chain()
    with pytest.raises(Reverted, match="Unauthorized"):
        l1.engine.send(l1.chain.address, l1.router, *elsewhere, value=7)


def test_a_chain_that_is_not_registered_takes_no_requests(l1: Deployed) -> None:
    with pytest.raises(Reverted, match="BaseTokenIsNotEther"):
        request(l1, chain=l1.new_chain())


def withdrawal(l1: Deployed, message: bytes, sender: Address = L2_BASE_TOKEN) -> tuple[Any, ...]:
    _, batch, index, _, number, _, proof = settled(l1, message, sender)
    return batch, index, number, message, proof


def test_ether_is_withdrawn_once(l1: Deployed) -> None:
    request(l1, value=3 * ETHER)
    claim = withdrawal(l1, ether_message(BOB, ETHER))
    assert l1.engine.read(l1.chain, "isEthWithdrawalFinalized", *claim[:2]) is False
    before = l1.engine.balance(BOB)
    l1.engine.send(OPERATOR, l1.chain, "finalizeEthWithdrawal", *claim)
    assert l1.engine.balance(BOB) == before + ETHER
    assert balance(l1) == 2 * ETHER
    assert l1.engine.read(l1.chain, "isEthWithdrawalFinalized", *claim[:2]) is True
    with pytest.raises(Reverted, match="WithdrawalAlreadyFinalized"):
        l1.engine.send(OPERATOR, l1.chain, "finalizeEthWithdrawal", *claim)
    batch, index, number, message, proof = claim
    params = (CHAIN_ID, batch, index, L2_BASE_TOKEN, number, message, proof)
    with pytest.raises(Reverted, match="WithdrawalAlreadyFinalized"):
        l1.engine.send(OPERATOR, l1.nullifier, "finalizeDeposit", params)


def test_a_withdrawal_of_one_chain_is_not_paid_by_another(l1: Deployed) -> None:
    request(l1)
    claim = withdrawal(l1, ether_message(BOB, 1))
    other = l1.add_chain()
    with pytest.raises(Reverted, match="BatchNotExecuted"):
        l1.engine.send(OPERATOR, other, "finalizeEthWithdrawal", *claim)


AMOUNT = 7 * ETHER
SHORT = "deposit(address,address,uint256,uint256,uint256)"
LONG = "deposit(address,address,uint256,uint256,uint256,address)"
GAS = (1_000_000, 800)


def approved(l1: Deployed, name: str = "TestERC20", amount: int = AMOUNT) -> Contract:
    token = l1.token(name)
    l1.engine.send(ALICE, token, "approve", l1.legacy_bridge.address, amount)
    return token


def deposit(
    l1: Deployed, token: Contract, amount: int = AMOUNT, *refund: Address, value: int = ETHER
) -> Hash32:
    function = LONG if refund else SHORT
    asked = (BOB, token.address, amount, *GAS, *refund)
    return Hash32(l1.engine.send(ALICE, l1.legacy_bridge, function, *asked, value=value))


def held(l1: Deployed, token: Contract) -> tuple[int, int, int]:
    """Return what depositor, bridge and vault have."""
    holders = (ALICE, l1.legacy_bridge.address, l1.vault.address)
    alice, bridge, vault = (l1.engine.read(token, "balanceOf", holder) for holder in holders)
    return alice, bridge, vault


def test_l2_sees_the_depositor_and_not_the_bridge(l1: Deployed) -> None:
    token = approved(l1)
    deposit(l1, token)
    chain_id, asset, data = abi.decode(["uint256", "bytes32", "bytes"], payload(l1).data[4:])
    assert (chain_id, asset) == (L1_CHAIN_ID, asset_id(token.address))
    caller, receiver, origin, amount, metadata = abi.decode(
        ["address", "address", "address", "uint256", "bytes"], data
    )
    assert (caller, receiver) == (str(ALICE), str(BOB))
    assert (origin, amount) == (str(token.address), AMOUNT)
    assert metadata == l1.engine.read(l1.vault, "getERC20Getters", token.address, L1_CHAIN_ID)


def test_the_recipient_of_the_refund_can_be_chosen(l1: Deployed) -> None:
    token = approved(l1)
    deposit(l1, token, 1, BOB)
    assert payload(l1).refund_recipient == BOB
    deposit(l1, token, 1, l1.vault.address)
    assert payload(l1).refund_recipient == alias(l1.vault.address)


def test_nobody_deposits_the_tokens_of_another(l1: Deployed) -> None:
    token = approved(l1)
    with pytest.raises(Reverted, match="InsufficientAllowance"):
        l1.engine.send(BOB, l1.legacy_bridge, SHORT, BOB, token.address, 1, *GAS, value=ETHER)


def test_others_do_not_name_a_depositor(l1: Deployed) -> None:
    """The fourth word of the legacy encoding counts for the legacy bridge only."""
    token = l1.token(holder=BOB)
    l1.engine.send(BOB, token, "approve", l1.router.address, AMOUNT)
    words = [token.address, AMOUNT, BOB, ALICE]
    data = abi.encode(["address", "uint256", "address", "address"], words)
    asked = two_bridges(l1.router.address, data)
    tx_hash = l1.engine.send(
        BOB, l1.bridgehub, "requestL2TransactionTwoBridges", asked, value=ETHER
    )
    named = abi.encode(["address", "address", "uint256"], [BOB, token.address, AMOUNT])
    assert l1.engine.read(l1.nullifier, "depositHappened", CHAIN_ID, tx_hash) == keccak256(named)


def claim(l1: Deployed, token: Contract, proof: tuple[Any, ...], sender: Address = ALICE) -> None:
    l1.engine.send(OPERATOR, l1.legacy_bridge, "claimFailedDeposit", sender, token.address, *proof)


def claim_by_router(l1: Deployed, token: Contract, proof: tuple[Any, ...]) -> None:
    asked = (CHAIN_ID, ALICE, token.address, AMOUNT, *proof)
    l1.engine.send(OPERATOR, l1.router, "claimFailedDeposit", *asked)


@pytest.mark.parametrize("claimed", [claim, claim_by_router])
def test_a_failed_deposit_is_refunded_once_to_the_depositor(l1: Deployed, claimed: Any) -> None:
    token = approved(l1, amount=2 * AMOUNT)
    deposit(l1, token)
    proof = status_proof(l1, deposit(l1, token))
    claimed(l1, token, proof)
    assert held(l1, token) == (993 * ETHER, 0, AMOUNT)
    with pytest.raises(Reverted, match=r"EmptyDeposit|DepositDoesNotExist"):
        claim(l1, token, proof)
    with pytest.raises(Reverted, match="DepositDoesNotExist"):
        claim_by_router(l1, token, proof)


def test_another_persons_or_tokens_deposit_is_not_refunded(l1: Deployed) -> None:
    token, other = approved(l1), approved(l1)
    deposit(l1, other)
    proof = status_proof(l1, deposit(l1, token))
    with pytest.raises(Reverted, match="EmptyDeposit"):
        claim(l1, token, proof, sender=BOB)
    with pytest.raises(Reverted, match="EmptyDeposit"):
        claim(l1, other, proof)
