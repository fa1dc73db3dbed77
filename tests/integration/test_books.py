"""Books of two chains on one L1: when what a bundle carries is booked, when not, and what reverts do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from web3 import Web3
from web3.exceptions import Web3RPCError

from entresol import Devnet, devnet
from entresol.inprocess.bridge import Bridge
from tests.support.polling import eventually

BOB = "0x" + "b0" * 20
CAROL = Web3.to_checksum_address("0x" + "ca" * 20)
HUGE = 10**30


@pytest.fixture(scope="module")
def running() -> Iterator[Devnet]:
    with devnet(chains=2) as net:
        yield net


@pytest.fixture
def net(running: Devnet) -> Iterator[Devnet]:
    with running.isolated():
        yield running


def books_of(bridge: Bridge, receipt: Any) -> dict[str, Any]:
    """Return the books of the batch with a transaction, once L1 has them or rejects them."""

    def found() -> dict[str, Any] | None:
        details = bridge.rpc("zks_getBlockDetails", receipt["blockNumber"])
        books = bridge.rpc("entresol_getBatchBooks", details["l1BatchNumber"])
        return books if books and books["status"] in ("settled", "partial") else None

    return dict(eventually(found))


def test_a_bundle_is_booked_as_soon_as_its_batch_is_executed(net: Devnet) -> None:
    here, there = net.bridges
    sent = here.bundle(there).value(1_000, to=BOB).send()
    books = books_of(here, sent.receipt)
    assert (books["status"], books["problem"]) == ("settled", None)
    receipt = here.l1.eth.get_transaction_receipt(books["transactionHash"])
    assert receipt["blockNumber"] == int(books["blockNumber"], 16)


def test_value_that_nobody_deposited_is_not_booked_until_somebody_does(net: Devnet) -> None:
    here, there = net.bridges
    here.rpc("anvil_setBalance", CAROL, hex(3 * HUGE))
    here.rpc("anvil_impersonateAccount", CAROL)
    poor = here.bundle(there, sender=CAROL).value(HUGE, to=BOB).send()
    rejected = books_of(here, poor.receipt)
    assert rejected["status"] == "partial"
    assert rejected["problem"].startswith(f"InteropValueNotCovered({here.l2.eth.chain_id}, ")
    # Others go on.
    fine = here.bundle(there).value(1, to=BOB).send()
    assert books_of(here, fine.receipt)["status"] == "settled"
    here.l1.provider.make_request("anvil_setBalance", [CAROL, hex(3 * HUGE)])  # type: ignore[arg-type]
    here.l1.provider.make_request("anvil_impersonateAccount", [CAROL])  # type: ignore[arg-type]
    here.deposit(HUGE, sender=CAROL, to=CAROL)

    def booked() -> bool:
        details = here.rpc("zks_getBlockDetails", poor.receipt["blockNumber"])
        found = here.rpc("entresol_getBatchBooks", details["l1BatchNumber"])
        return bool(found["status"] == "settled" and found["problem"] is None)

    eventually(booked)


def test_bundles_that_one_transaction_cannot_book_are_booked_in_several_batches(
    net: Devnet,
) -> None:
    here, there = net.bridges
    sent = [here.bundle(there).call(BOB, bytes(60_000)).send() for _ in range(4)]
    assert {books_of(here, transaction.receipt)["status"] for transaction in sent} == {"settled"}


def test_books_are_settled_again_after_a_revert_of_both_layers(running: Devnet) -> None:
    here, there = running.bridges
    for _ in range(2):
        with running.isolated():
            sent = here.bundle(there).value(7, to=BOB).send()
            assert books_of(here, sent.receipt)["status"] == "settled"


def test_books_are_settled_on_request() -> None:
    with devnet(chains=2, settle=False) as net:
        here, there = net.bridges
        sent = here.bundle(there).value(7, to=BOB).send()
        with pytest.raises(Web3RPCError, match="batch 1 is not executed"):
            here.rpc("anvil_zks_bookBatch", 1)
        for step in ("commit", "prove", "execute"):
            here.rpc(f"anvil_zks_{step}Batch", 1)
        assert here.rpc("entresol_getBatchBooks", 1)["status"] == "pending"
        done = here.rpc("anvil_zks_bookBatch", 1)
        assert books_of(here, sent.receipt)["transactionHash"] == done
