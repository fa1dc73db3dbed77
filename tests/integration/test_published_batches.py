"""The publications of a running chain on L1, read from its logs by both readers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from eth_abi import abi

import entresol
from entresol._native import keccak256
from entresol.inprocess.devnet import Devnet
from tests.support.polling import eventually
from tests.support.published.agreement import agreed

STRANGER = "0x" + "5e" * 20


@pytest.fixture(scope="module")
def devnet() -> Iterator[Devnet]:
    with entresol.devnet(data_availability="calldata") as found:
        seal_many_kinds(found)
        yield found


def seal_many_kinds(devnet: Devnet) -> None:
    """Seal blocks with transactions, deposits, edits, other settings, an impersonated sender, and empty ones."""
    l2 = devnet.l2
    sender, receiver = (account.address for account in l2.accounts[:2])
    send = {"from": sender, "to": receiver}
    for value in range(3):
        l2.request("eth_sendTransaction", {**send, "value": hex(value)})
    devnet.bridge.deposit(10**18)
    l2.request("eth_sendTransaction", {"from": sender, "data": "0x6001600155600060006000a0"})
    l2.request("hardhat_setCode", STRANGER, "0x6001600155")
    l2.request("hardhat_setStorageAt", STRANGER, "0x0", "0x" + "11" * 32)
    l2.request("hardhat_setBalance", STRANGER, hex(10**20))
    l2.request("hardhat_impersonateAccount", STRANGER)
    l2.request("eth_sendTransaction", {"from": STRANGER, "to": receiver, "value": "0x1"})
    l2.request("anvil_mine", "0x20", "0x3")
    l2.request("hardhat_setPrevRandao", "0x" + "07" * 32)
    l2.request("hardhat_setCoinbase", receiver)
    l2.request("evm_mine")
    l2.request("anvil_mine", "0x5", "0x1")


def published(devnet: Devnet, event: str) -> list[dict[str, Any]]:
    topic = "0x" + keccak256(event.encode()).hex()
    found: list[dict[str, Any]] = devnet.l1.request(
        "eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest", "topics": [topic]}
    )
    return found


def bodies_up_to(devnet: Devnet, block: int) -> list[dict[str, Any]]:
    """Return the bodies that were published, once they contain a block; both readers agree on each."""

    def read() -> list[dict[str, Any]] | None:
        found = []
        for log in published(devnet, "BatchData(uint256,bytes)"):
            (data,) = abi.decode(["bytes"], bytes.fromhex(log["data"][2:]))
            body = agreed("body", agreed("published", data))
            assert body["batch"] == int(log["topics"][1], 16)
            found.append(body)
        last = found[-1]["first_block"] + len(found[-1]["blocks"]) - 1 if found else 0
        return found if last >= block else None

    return eventually(read)


def test_both_readers_read_every_batch_of_a_chain_as_its_blocks_are(devnet: Devnet) -> None:
    l2 = devnet.l2
    bodies = bodies_up_to(devnet, int(l2.request("eth_blockNumber"), 16))
    number = 1
    for body in bodies:
        assert body["first_block"] == number
        parent = l2.request("eth_getBlockByNumber", hex(number - 1), False)
        assert parent["hash"] == "0x" + body["parent_hash"].hex()
        for block in body["blocks"]:
            header = l2.request("eth_getBlockByNumber", hex(number), False)
            assert int(header["timestamp"], 16) - int(parent["timestamp"], 16) == block["step"]
            count = block.get("deposits", 0) + len(block.get("transactions", ()))
            assert len(header["transactions"]) == count + ("roots" in block)
            parent, number = header, number + 1
        assert parent["hash"] == "0x" + body["last_hash"].hex()
    parts = {part for body in bodies for block in body["blocks"] for part in block}
    assert {"step", "prices", "edits", "settings", "deposits", "transactions"} <= parts


def test_both_readers_read_the_genesis_of_a_chain(devnet: Devnet) -> None:
    (log,) = eventually(lambda: published(devnet, "GenesisData(uint256,uint256,bytes)"))
    parts, data = abi.decode(["uint256", "bytes"], bytes.fromhex(log["data"][2:]))
    assert (parts, log["topics"][1]) == (1, "0x" + "0" * 64)
    genesis = agreed("genesis", agreed("published genesis", data))
    assert genesis["rules"]["chain_id"] == devnet.l2.chain_id
    header = devnet.l2.request("eth_getBlockByNumber", "0x0", False)
    assert genesis["timestamp"] == int(header["timestamp"], 16)
    for account in devnet.l2.accounts:
        address = bytes.fromhex(account.address[2:])
        assert any(
            account["address"] == address and account["balance"] for account in genesis["accounts"]
        )
