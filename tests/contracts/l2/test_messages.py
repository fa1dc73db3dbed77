"""Messages to L1, and withdrawals of the base token."""

from __future__ import annotations

import pytest

from entresol._native import keccak256
from entresol.contracts import artifact
from entresol.errors import ExecutionReverted
from entresol.primitives.l2_to_l1_logs import (
    BOOTLOADER,
    L1_MESSAGE_SENT,
    L1_MESSENGER,
    MAX_LOGS_PER_BATCH,
)
from entresol.primitives.values import Address
from entresol.rollup.batcher import Batcher
from entresol.rollup.system_contracts import BASE_TOKEN, MULTICALL
from tests.support.contracts.layer_two import (
    ALICE,
    BOB,
    ETHER,
    LayerTwo,
    calldata,
    decode,
    encode,
    failure,
    logs_of,
    messages_of,
    padded,
    topic,
)
from tests.support.coroutines import completed
from tests.support.evm.assembler import assemble, initcode

RECEIVER = Address.parse("0x36615cf349d7f6344891b1e7ca7c72883f5dc049")
AMOUNT = 10**15


def sent_message(l2: LayerTwo) -> bytes:
    """Return the only message of the last transaction."""
    (log,) = logs_of(l2.last(), L1_MESSENGER, L1_MESSAGE_SENT)
    message: bytes = decode("(bytes)", log[2])
    return message


def test_a_message_emits_an_event_and_an_l2_to_l1_log(l2: LayerTwo) -> None:
    outcome = l2.send(L1_MESSENGER, calldata("sendToL1(bytes)", b"hello"))
    ((address, topics, data),) = outcome.logs
    assert address == L1_MESSENGER
    assert topics == (L1_MESSAGE_SENT, padded(ALICE), keccak256(b"hello"))
    assert data == encode("(bytes)", b"hello")
    (log,) = messages_of(outcome)
    assert (log.sender, log.key, log.value) == (L1_MESSENGER, padded(ALICE), keccak256(b"hello"))
    assert log.is_service


def test_l2_to_l1_logs_are_in_the_order_of_the_messages(l2: LayerTwo) -> None:
    words = [b"one", b"two", b"two", b"three"]
    calls = [(L1_MESSENGER, False, calldata("sendToL1(bytes)", word)) for word in words]
    outcome = l2.send(MULTICALL, calldata("aggregate3((address,bool,bytes)[])", calls))
    assert [log.value for log in messages_of(outcome)] == [keccak256(word) for word in words]
    assert {log.key for log in messages_of(outcome)} == {padded(MULTICALL)}


def test_a_priority_transaction_reports_its_messages_before_its_status(l2: LayerTwo) -> None:
    outcome = l2.from_l1(calldata("sendToL1(bytes)", b"hello"), to=L1_MESSENGER)
    assert [log.sender for log in messages_of(outcome)] == [L1_MESSENGER, BOOTLOADER]


# Runs the code of the contract that the first word names on the rest of the input, as if it were its own.
BORROWING = (
    "32 calldatasize sub 32 0 calldatacopy 0 0 32 calldatasize sub 0 {} 0 calldataload gas {}"
)


@pytest.mark.parametrize(
    ("value", "instruction"),
    [("", "delegatecall"), ("0", "callcode")],
    ids=["delegate", "callcode"],
)
@pytest.mark.parametrize("lender", [L1_MESSENGER, BASE_TOKEN], ids=["messenger", "base token"])
def test_delegated_calls_send_no_message_as_the_messenger(
    l2: LayerTwo, lender: Address, value: str, instruction: str
) -> None:
    # Only CALLCODE takes a value.
    code = BORROWING.format(value, instruction)
    created = l2.send(None, initcode(assemble(code))).created
    assert created is not None
    call = (
        calldata("sendToL1(bytes)", b"hello")
        if lender == L1_MESSENGER
        else calldata("withdraw(address)", RECEIVER)
    )
    outcome = l2.send(Address(created), padded(lender) + call)
    assert outcome.succeeded
    assert outcome.logs
    assert lender not in {log.key[12:] for log in messages_of(outcome)}
    if lender == L1_MESSENGER:
        assert outcome.l2_to_l1_logs == ()


# Sends an empty message as often as the input says.
FLOODING = assemble(
    """
    0x62f84b24 224 shl 0 mstore 32 4 mstore
    0 calldataload
    again: 0 0 68 0 0 0x8008 gas call pop
    1 swap1 sub dup1 @again jumpi
    """
)


@pytest.mark.parametrize(
    ("messages", "fit"), [(MAX_LOGS_PER_BATCH - 1, True), (MAX_LOGS_PER_BATCH, False)]
)
def test_a_priority_transaction_with_more_messages_than_fit_into_a_batch_fails(
    l2: LayerTwo, messages: int, fit: bool
) -> None:
    created = l2.send(None, initcode(FLOODING)).created
    assert created is not None
    gas = 72_000_000
    outcome = l2.from_l1(messages.to_bytes(32), to=Address(created), gas=gas)
    assert outcome.succeeded is fit
    assert len(outcome.l2_to_l1_logs) == (MAX_LOGS_PER_BATCH if fit else 1)
    if not fit:
        assert (outcome.gas_used, outcome.logs) == (gas, ())
    batch = completed(Batcher(l2.chain.blocks, l2.chain.batches).seal(0.0))
    assert batch is not None
    assert batch.last_block == l2.chain.number


def test_the_message_of_a_withdrawal_is_selector_receiver_and_amount(l2: LayerTwo) -> None:
    outcome = l2.send(BASE_TOKEN, calldata("withdraw(address)", RECEIVER), value=AMOUNT)
    message = sent_message(l2)
    assert message.hex() == (
        "6c0960f9"
        "36615cf349d7f6344891b1e7ca7c72883f5dc049"
        "00000000000000000000000000000000000000000000000000038d7ea4c68000"
    )
    (log,) = messages_of(outcome)
    assert (log.key, log.value) == (padded(BASE_TOKEN), keccak256(message))
    assert log.value.hex() == "f5d05ab07f85804d4673664019def552e59b9564cb3ee49848a54c9f5f5c6d1d"


def test_a_withdrawal_with_a_message_contains_its_sender(l2: LayerTwo) -> None:
    call = calldata("withdrawWithMessage(address,bytes)", RECEIVER, b"note")
    outcome = l2.send(BASE_TOKEN, call, value=AMOUNT)
    assert sent_message(l2) == (
        bytes.fromhex("6c0960f9") + RECEIVER + AMOUNT.to_bytes(32) + ALICE + b"note"
    )
    _, topics, data = outcome.logs[-1]
    assert topics == (
        bytes.fromhex("c405fe8958410bbaf0c73b7a0c3e20859e86ca168a4c9b0def9c54d2555a306b"),
        padded(ALICE),
        padded(RECEIVER),
    )
    assert decode("(uint256,bytes)", data) == (AMOUNT, b"note")


def test_a_withdrawal_to_the_zero_address_is_rejected(l2: LayerTwo) -> None:
    nobody = Address.zero()
    with pytest.raises(ExecutionReverted) as caught:
        l2.call(BASE_TOKEN, calldata("withdraw(address)", nobody), value=1)
    assert caught.value.data == failure("InvalidReceiver(address)", nobody)


def test_ether_sent_to_the_base_token_without_call_data_is_rejected(l2: LayerTwo) -> None:
    assert not l2.send(BASE_TOKEN, b"", value=ETHER).succeeded
    assert l2.balance(BASE_TOKEN) == 0


def test_the_base_token_returns_balances_and_metadata(l2: LayerTwo) -> None:
    assert l2.read(BASE_TOKEN, "balanceOf(uint256)(uint256)", int.from_bytes(BOB)) == 100 * ETHER
    assert l2.read(BASE_TOKEN, "name()(string)") == "Ether"
    assert l2.read(BASE_TOKEN, "symbol()(string)") == "ETH"
    assert l2.read(BASE_TOKEN, "decimals()(uint8)") == 18


def test_the_total_supply_of_the_base_token_reverts_with_a_reason(l2: LayerTwo) -> None:
    with pytest.raises(ExecutionReverted, match="what the bridge holds on L1"):
        l2.read(BASE_TOKEN, "totalSupply()(uint256)")


def test_the_event_of_another_contract_is_no_message(l2: LayerTwo) -> None:
    imitation = l2.deploy(artifact("L1Messenger"))
    assert l2.code(imitation) == artifact("L1Messenger").runtime
    outcome = l2.send(imitation, calldata("sendToL1(bytes)", b"hello"))
    assert logs_of(outcome, imitation, topic("L1MessageSent(address,bytes32,bytes)"))
    assert outcome.l2_to_l1_logs == ()
