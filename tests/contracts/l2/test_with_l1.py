"""The contracts of both layers together: deposits, withdrawals and refunds end to end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from entresol.primitives.l2_to_l1_logs import L1_MESSAGE_SENT, L1_MESSENGER
from entresol.primitives.records import TransactionResult
from entresol.primitives.transactions import PriorityTransaction
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import ASSET_ROUTER, BASE_TOKEN
from tests.support.contracts.engine import ETHER, L1_CHAIN_ID, Contract, Reverted, type_of
from tests.support.contracts.l1_contracts import ALICE as DEPOSITOR
from tests.support.contracts.l1_contracts import (
    CHAIN_ID,
    Deployed,
    asset_id,
    burn_data,
    direct,
    two_bridges,
)
from tests.support.contracts.layer_two import (
    ALICE,
    LayerTwo,
    calldata,
    decode,
    encode,
    logs_of,
    messages_of,
)
from tests.support.contracts.merkle_trees import proof_of
from tests.support.rollup.messages import message_log

AMOUNT = 5 * ETHER
RECEIVER = Address(b"\x91" * 20)


@pytest.fixture
def l2(l1: Deployed) -> Iterator[LayerTwo]:
    """Return an L2 that settles on `l1`."""
    router = l1.router.address
    with closing(LayerTwo(l1_chain_id=L1_CHAIN_ID, l1_asset_router=router)) as layer:
        yield layer


def requested(l1: Deployed) -> PriorityTransaction:
    """Return the last requested priority transaction, decoded from its event."""
    event = l1.engine.event(l1.chain, "NewPriorityRequest")
    (entry,) = [
        entry for entry in l1.chain.artifact.abi if entry.get("name") == "NewPriorityRequest"
    ]
    tuple_type = type_of(entry["inputs"][3])
    return PriorityTransaction.from_abi(encode(f"({tuple_type})", event.fields["transaction"]))


def deposit(
    l1: Deployed, l2: LayerTwo, token: Contract, *, receiver: Address = ALICE, form: str = "new"
) -> TransactionResult:
    """Deposit a token on L1, and execute the deposit on L2."""
    engine, router = l1.engine, l1.router.address
    engine.send(DEPOSITOR, token, "approve", router, AMOUNT)
    data = (
        encode("(address,uint256,address)", token.address, AMOUNT, receiver)
        if form == "legacy"
        else b"\1"
        + encode(
            "(bytes32,bytes)", asset_id(token.address), burn_data(AMOUNT, receiver, token.address)
        )
    )
    engine.send(
        DEPOSITOR,
        l1.bridgehub,
        "requestL2TransactionTwoBridges",
        two_bridges(router, data),
        value=ETHER,
    )
    return l2.take(requested(l1))


def l2_token(l2: LayerTwo, token: Contract) -> Address:
    """Return the bridged token of a token."""
    return Address.parse(l2.read(ASSET_ROUTER, "l2TokenAddress(address)(address)", token.address))


def claim(l1: Deployed, outcome: TransactionResult) -> tuple[object, ...]:
    """Settle a batch with the messages of a transaction, and return the claim of its only message."""
    assert outcome.succeeded
    ((_, topics, data),) = logs_of(outcome, L1_MESSENGER, L1_MESSAGE_SENT)
    message = decode("(bytes)", data)
    logs = [message_log(7, RECEIVER, b"of somebody else"), *messages_of(outcome)]
    batch = l1.settle(*logs)
    number = logs[1].tx_number
    return CHAIN_ID, batch, 1, topics[1][12:], number, message, proof_of(logs, 1)


@pytest.mark.parametrize("form", ["new", "legacy"])
def test_a_deposited_token_has_the_metadata_of_l1(l1: Deployed, l2: LayerTwo, form: str) -> None:
    token = l1.token("TestERC20", "Crown", "CRWN", 6)
    assert deposit(l1, l2, token, form=form).succeeded
    arrived = l2_token(l2, token)
    assert l2.token_balance(arrived, ALICE) == AMOUNT
    assert l2.read(arrived, "name()(string)") == "Crown"
    assert l2.read(arrived, "symbol()(string)") == "CRWN"
    assert l2.read(arrived, "decimals()(uint8)") == 6


@pytest.mark.parametrize("form", ["by asset", "by token"])
def test_a_withdrawn_token_is_paid_out_once(l1: Deployed, l2: LayerTwo, form: str) -> None:
    token = l1.token()
    deposit(l1, l2, token)
    arrived = l2_token(l2, token)
    call = (
        calldata(
            "withdraw(bytes32,bytes)",
            asset_id(token.address),
            burn_data(AMOUNT, RECEIVER, arrived),
        )
        if form == "by asset"
        else calldata("withdraw(address,address,uint256)", RECEIVER, arrived, AMOUNT)
    )
    claimed = claim(l1, l2.send(ASSET_ROUTER, call))
    l1.engine.send(DEPOSITOR, l1.nullifier, "finalizeDeposit", claimed)
    assert l1.engine.read(token, "balanceOf", RECEIVER) == AMOUNT
    assert l1.engine.read(l1.vault, "chainBalance", CHAIN_ID, asset_id(token.address)) == 0
    with pytest.raises(Reverted, match="AlreadyFinalized"):
        l1.engine.send(DEPOSITOR, l1.nullifier, "finalizeDeposit", claimed)


@pytest.mark.parametrize(
    "call",
    [
        calldata("withdraw(address)", RECEIVER),
        calldata("withdrawWithMessage(address,bytes)", RECEIVER, b"note"),
        calldata("withdrawWithMessage(address,bytes)", RECEIVER, b""),
    ],
    ids=["plain", "with a message", "with an empty message"],
)
def test_ether_goes_both_ways(l1: Deployed, l2: LayerTwo, call: bytes) -> None:
    asked = direct(mint_value=2 * ETHER, l2_value=ETHER, l2_contract=ALICE)
    l1.engine.send(DEPOSITOR, l1.bridgehub, "requestL2TransactionDirect", asked, value=2 * ETHER)
    before = l2.balance(ALICE)
    assert l2.take(requested(l1)).succeeded
    assert l2.balance(ALICE) == before + ETHER
    claimed = claim(l1, l2.send(BASE_TOKEN, call, value=ETHER // 2))
    l1.engine.send(DEPOSITOR, l1.nullifier, "finalizeDeposit", claimed)
    assert l1.engine.balance(RECEIVER) == ETHER // 2


def test_a_deposit_that_fails_on_l2_is_refunded(l1: Deployed, l2: LayerTwo) -> None:
    token = l1.token()
    before = l1.engine.read(token, "balanceOf", DEPOSITOR)
    outcome = deposit(l1, l2, token, receiver=Address.zero())
    assert not outcome.succeeded
    assert l1.engine.read(token, "balanceOf", DEPOSITOR) == before - AMOUNT
    (status,) = messages_of(outcome)
    batch, proof = l1.settled_proof(status, index=0)
    l1.engine.send(
        DEPOSITOR,
        l1.router,
        "bridgeRecoverFailedTransfer(uint256,address,bytes32,bytes,bytes32,uint256,uint256,uint16,bytes32[])",
        CHAIN_ID,
        DEPOSITOR,
        asset_id(token.address),
        burn_data(AMOUNT, Address.zero(), token.address),
        status.key,
        batch,
        0,
        status.tx_number,
        proof,
    )
    assert l1.engine.read(token, "balanceOf", DEPOSITOR) == before
