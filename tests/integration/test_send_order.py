"""A sender's transactions are included in the order in which it sends them, whatever it sends them by."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.inprocess.devnet import Devnet, devnet
from entresol.inprocess.layer import DevnetLayer
from entresol.primitives.values import Address
from tests.support.clients.order import (
    DETAILED,
    FEE,
    GAS,
    OrderedSender,
    Send,
    calls,
    in_one_batch,
    over_one_websocket,
)
from tests.support.contracts.accounts import paymaster_code

PAYMASTER = Address(b"\x55" * 20)


@pytest.fixture(scope="module")
def net() -> Iterator[Devnet]:
    """Return both layers; the L1 responds to raw transactions at once."""
    with devnet(l1_delay=0, silent=True) as running:
        yield running


def sender_on(layer: DevnetLayer) -> OrderedSender:
    """Return the second unlocked account of a layer."""
    account = layer.accounts[1]
    secret = bytes.fromhex(account.key.removeprefix("0x"))
    return OrderedSender(layer.url, secret, Address.parse(account.address), PAYMASTER)


@pytest.fixture
def on_l1(net: Devnet) -> Iterator[OrderedSender]:
    sender = sender_on(net.l1)
    yield sender
    sender.client.close()


@pytest.fixture
def on_l2(net: Devnet) -> Iterator[OrderedSender]:
    """Return a sender beside a paymaster that pays."""
    sender = sender_on(net.l2)
    sender.client("anvil_setCode", str(PAYMASTER), "0x" + paymaster_code(fee=GAS * FEE))
    sender.client("anvil_setBalance", str(PAYMASTER), hex(100 * GAS * FEE))
    yield sender
    sender.client.close()


@pytest.mark.parametrize("send", [in_one_batch, over_one_websocket])
def test_raw_filled_and_blob_transactions_are_included_in_order(
    on_l1: OrderedSender, send: Send
) -> None:
    sender, first = on_l1, on_l1.nonce
    sent = calls(
        sender.filled(),
        sender.raw(),
        sender.blobs(),
        sender.filled(),
        sender.raw(),
        sender.raw("eth_sendRawTransactionSync"),
        sender.filled(),
        sender.blobs(),
        sender.filled(),
    )
    responses = send(sender.url, sent, None)
    assert sender.nonces_of(responses) == list(range(first, sender.nonce))


@pytest.mark.parametrize("send", [in_one_batch, over_one_websocket])
def test_raw_filled_and_validated_transactions_are_included_in_order(
    on_l2: OrderedSender, send: Send
) -> None:
    sender, first = on_l2, on_l2.nonce
    sent = calls(
        sender.raw(DETAILED),
        sender.filled(),
        sender.validated(),
        sender.raw(),
        sender.filled(),
        sender.validated(DETAILED),
        sender.filled(),
        sender.validated(),
        sender.validated(),
        sender.raw(DETAILED),
        sender.filled(),
    )
    responses = send(sender.url, sent, None)
    assert sender.nonces_of(responses) == list(range(first, sender.nonce))
