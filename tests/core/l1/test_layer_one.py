"""The interface of an L1, on the embedded one and on anvil."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from entresol.errors import (
    ExecutionReverted,
    LayerOneMismatch,
    LayerOneRejected,
    OperatorOutOfFunds,
)
from entresol.l1.contracts import NEW_PRIORITY_REQUEST, Bridgehub, ZkChain, decode_deposit
from entresol.l1.layer_one import MAX_READINGS, LayerOne, agreed
from entresol.l1.operator import Operator, SignedTransaction
from entresol.primitives import abi
from entresol.primitives.transactions import sign
from entresol.primitives.values import Address, Hash32
from tests.support.coroutines import completed
from tests.support.played import played
from tests.support.polling import PATIENCE_SECONDS
from tests.support.rollup.layer_ones import (
    ACCOUNTS,
    CHAIN_ID,
    ECHO,
    MAILBOX,
    REVERTER,
    Embedded,
    SteeredLayerOne,
    on_l1,
)

RICH = ACCOUNTS[0]
POOR = Address(b"\x0f" * 20)


async def post(l1: LayerOne, to: Address, data: bytes) -> SignedTransaction:
    operator = Operator(l1, RICH.secret)
    signed = await operator.sign_call(to, data)
    await operator.send(signed)
    return signed


@played(on_l1)
async def test_it_returns_chain_id_head_fees_and_accounts(l1: LayerOne) -> None:
    assert await l1.chain_id() == CHAIN_ID
    assert await l1.block_number() == 0
    assert await l1.nonce(RICH.address) == 0
    assert await l1.balance(RICH.address) == 10_000 * 10**18
    assert await l1.balance(POOR) == 0
    assert await l1.code(POOR) == b""
    assert (await l1.code(ECHO)).hex() == "365f5f37365ff3"
    fees = await l1.fees()
    assert fees.tip > 0
    assert fees.gas_price == fees.base_fee + fees.tip


@played(on_l1)
async def test_blocks_are_found_by_number_and_by_hash(
    l1: LayerOne, steered: SteeredLayerOne
) -> None:
    steered.mine(2)

    first, second = await l1.block(1), await l1.block(2)
    assert first is not None
    assert second is not None
    assert (second.number, second.parent_hash) == (2, first.hash)
    assert second.timestamp >= first.timestamp > 0
    assert await l1.block(3) is None


@played(on_l1)
async def test_a_call_returns_its_output_or_raises_its_revert_reason(l1: LayerOne) -> None:
    reason = abi.encode_call("Error(string)", "not today")

    assert await l1.call(ECHO, b"\x01\x02") == b"\x01\x02"
    assert await l1.call(ECHO, b"\x01\x02", block=0, sender=RICH.address) == b"\x01\x02"
    for failing in (l1.call(REVERTER, reason), l1.estimate_gas(RICH.address, REVERTER, reason)):
        with pytest.raises(ExecutionReverted, match="not today") as raised:
            await failing
        assert raised.value.data == reason


@played(on_l1)
async def test_a_transaction_is_sent_once_and_its_receipt_found(l1: LayerOne) -> None:
    signed = await post(l1, ECHO, b"\x01")
    assert await l1.send(signed.raw) == signed.hash
    receipt = await found(l1, signed.hash)
    assert receipt == (True, 1)
    assert await l1.nonce(RICH.address) == 1
    assert await l1.receipt(Hash32.zero()) is None


def test_a_transaction_that_a_revert_put_back_into_the_pool_is_included_when_it_is_sent_again() -> (
    None
):
    async def scenario(l1: LayerOne) -> None:
        embedded.mine_on_request()
        signed = await post(l1, ECHO, b"\x01")
        checkpoint = embedded.checkpoint()
        embedded.chain.schedule.seal_at_once()
        embedded.mine()
        embedded.restore(checkpoint)
        assert await l1.receipt(signed.hash) is None
        assert await l1.send(signed.raw) == signed.hash
        assert await l1.receipt(signed.hash) is not None

    embedded = Embedded()
    on_l1(embedded, scenario)


async def found(l1: LayerOne, transaction: Hash32) -> tuple[bool, int]:
    """Return status and block of a transaction; anvil mines a moment after its response."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (receipt := await l1.receipt(transaction)) is None:
            pass
    return receipt.succeeded, receipt.block_number


@played(on_l1)
async def test_a_rejected_transaction_has_a_reason(l1: LayerOne) -> None:
    with pytest.raises(LayerOneRejected, match="eth_sendRawTransaction"):
        await l1.send(b"\x02\xc0")
    rich = Operator(l1, RICH.secret)
    signed = await rich.sign_call(ECHO, b"")
    unpayable = sign(signed.payload, b"\x77" * 32)
    with pytest.raises(LayerOneRejected, match=r"(?i)insufficient funds"):
        await l1.send(unpayable.raw)
    broke = Operator(l1, b"\x77" * 32)
    with pytest.raises(OperatorOutOfFunds, match="has 0 ether on L1, and its next transaction"):
        await broke.sign_call(ECHO, b"")


@played(on_l1)
async def test_logs_are_filtered_by_contract_and_topic(l1: LayerOne) -> None:
    signed = await post(l1, MAILBOX, b"\1" * 32)
    await found(l1, signed.hash)
    [log] = await l1.logs(MAILBOX, [NEW_PRIORITY_REQUEST], 0, 1)
    assert (log.data, log.transaction_hash, log.index) == (b"\1" * 32, signed.hash, 0)
    assert await l1.logs(MAILBOX, [Hash32.zero()], 0, 1) == []
    assert await l1.logs(ECHO, [NEW_PRIORITY_REQUEST], 0, 1) == []
    assert len(await l1.logs(MAILBOX, [], 0, 1)) == 1
    with pytest.raises(LayerOneMismatch, match="of L1 block 1 is not readable"):
        decode_deposit(log)


@played(on_l1)
async def test_a_stuck_transaction_is_replaced_by_one_that_pays_more(
    l1: LayerOne, steered: SteeredLayerOne
) -> None:
    steered.mine_on_request()

    operator = Operator(l1, RICH.secret)
    stuck = await operator.sign_call(ECHO, b"\1")
    await operator.send(stuck)
    better = await operator.sign_replacement(stuck)
    assert isinstance(better, SignedTransaction)
    assert better.nonce == stuck.nonce
    assert better.fees > stuck.fees
    await operator.send(better)
    # Sending the replaced one again is not a failure.
    await operator.send(stuck)
    steered.mine()
    assert await found(l1, better.hash) == (True, 1)
    assert await l1.receipt(stuck.hash) is None
    await operator.send(stuck)


@played(on_l1)
async def test_an_error_names_an_address_without_the_contract(l1: LayerOne) -> None:
    with pytest.raises(LayerOneMismatch, match=r"getTotalBatchesExecuted\(\) at 0x0f0f"):
        await ZkChain(l1, POOR).totals()
    with pytest.raises(LayerOneMismatch, match=r"getZKChain\(uint256\)"):
        await Bridgehub(l1, POOR).zk_chain(270)


class Saying:
    """An L1 that says one thing after the other."""

    name = "L1"

    def __init__(self, *said: int) -> None:
        self.said = list(said)

    async def agreed(self) -> int:
        async def read() -> int:
            return self.said.pop(0)

        return await agreed(cast("LayerOne", self), "a number", read)


@pytest.mark.parametrize("said", [(7, 7), (1, 7, 7), (7, 1, 7, 7)])
def test_what_l1_says_twice_in_a_row_counts(said: tuple[int, ...]) -> None:
    l1 = Saying(*said)
    assert completed(l1.agreed()) == 7
    assert l1.said == []


def test_an_l1_that_says_something_else_each_time_is_not_believed() -> None:
    l1 = Saying(*range(MAX_READINGS))
    with pytest.raises(LayerOneMismatch, match=r"L1 says something else each time .* for a number"):
        completed(l1.agreed())
    assert l1.said == []
