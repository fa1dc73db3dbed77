"""Attacks on what others send between chains, against running chains: none of them costs anybody else anything."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from web3 import Web3

from entresol import Devnet, devnet
from entresol.contracts import artifact
from entresol.errors import BundleReverted
from entresol.inprocess.bridge import Bridge
from entresol.inprocess.devnet_settings import SettingValue
from entresol.inprocess.interop.bundle import BundleStage, SentBundle
from entresol.primitives import abi
from entresol.primitives.base_token import asset_id
from entresol.primitives.values import Address
from tests.support.contracts.bundles import INTEROP_CENTER, Call, PlainBundle
from tests.support.contracts.l1_contracts import L2_ASSET_ROUTER
from tests.support.ecosystem.bundles import deployed_token
from tests.support.polling import eventually
from tests.support.rpc_client import health_of

ETHER = 10**18
L1_CHAIN_ID = 31337
LARGEST = 2**128 - 1
MOST = 2**256 - 1
BOB = Web3.to_checksum_address("0x" + "b0" * 20)
HOLDER = Web3.to_checksum_address("0x" + "10011".rjust(40, "0"))
MESSENGER = Web3.to_checksum_address("0x" + "8008".rjust(40, "0"))
CHAINS: list[dict[str, SettingValue]] = [
    {"chain_id": 270},
    {"chain_id": 271},
    {"chain_id": 272, "base_token": "ZOO"},
]


@pytest.fixture(scope="module")
def running() -> Iterator[Devnet]:
    with devnet(chains=CHAINS, settle_interval=0.05) as net:
        yield net


@pytest.fixture
def net(running: Devnet) -> Iterator[Devnet]:
    with running.isolated():
        yield running


def in_one_batch(bridge: Bridge, *builders: Any) -> list[SentBundle]:
    """Send bundles in one block."""
    bridge.rpc("evm_setAutomine", False)
    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(builder.send) for builder in builders]
        eventually(lambda: int(bridge.rpc("txpool_status")["pending"], 16) == len(builders))
        bridge.rpc("anvil_mine", 1)
        sent = [transaction.result() for transaction in waiting]
    bridge.rpc("evm_setAutomine", True)
    assert len({transaction.receipt["blockNumber"] for transaction in sent}) == 1
    return sent


def test_a_token_of_any_supply_burns_no_bundle_of_others(net: Devnet) -> None:
    here, there = net.bridges[:2]
    mallory, victim = net.accounts[1].address, net.accounts[2].address
    token = deployed_token(there.l2, 3 * LARGEST)
    with pytest.raises(BundleReverted, match=f"AmountTooLarge.*{LARGEST + 1}"):
        there.send(LARGEST + 1, chain=here, to=mallory, token=token.address)
    waves = [there.send(LARGEST, chain=here, to=mallory, token=token.address) for _ in range(3)]
    asset = asset_id(there.l2.eth.chain_id, Address.parse(token.address))

    for wave in waves:
        wave.execute()
        lie = here.l2_vault.functions.tokenAddress(asset).call()
        made = [
            here.bundle(there, sender=mallory).token(lie, 1, to=mallory),
            here.bundle(there, sender=victim).value(ETHER, to=BOB),
        ]
        before = there.l2.eth.get_balance(BOB)
        for bundle in in_one_batch(here, *made):
            bundle.execute()
        assert there.l2.eth.get_balance(BOB) == before + ETHER
        here.send(LARGEST - 1, chain=there, token=lie, sender=mallory, to=mallory).execute()


def test_what_nobody_paid_keeps_nothing_else_of_its_batch_from_other_chains(net: Devnet) -> None:
    here, there = net.bridges[:2]
    mallory, huge = net.accounts[1].address, 10**30
    here.rpc("anvil_setBalance", mallory, hex(2 * huge))
    before = there.l2.eth.get_balance(BOB)
    poor, fine = in_one_batch(
        here,
        here.bundle(there, sender=mallory).value(huge, to=BOB),
        here.bundle(there).value(ETHER, to=BOB),
    )

    fine.execute()

    assert there.l2.eth.get_balance(BOB) == before + ETHER
    assert poor.stage is BundleStage.NOT_COVERED
    status, health = eventually(lambda: degraded(net))
    assert status == 200
    assert "InteropValueNotCovered" in health["books"]
    # Once somebody has paid, it arrives, too.
    here.l1.provider.make_request("anvil_setBalance", [mallory, hex(3 * huge)])  # type: ignore[arg-type]
    here.deposit(huge, sender=mallory, to=mallory)
    eventually(lambda: poor.stage is BundleStage.ARRIVED)
    poor.execute()
    assert there.l2.eth.get_balance(BOB) == before + ETHER + huge
    eventually(lambda: degraded(net) is None)


def degraded(net: Devnet) -> tuple[int, dict[str, Any]] | None:
    found = health_of(net.l2.url)
    return found if found[1]["status"] == "degraded" else None


def test_whoever_mints_the_base_token_does_not_fill_the_holder(net: Devnet) -> None:
    home, zoo = net.bridges[0], net.bridges[2]
    mallory = net.accounts[1].address
    token = zoo.l1.eth.contract(
        Web3.to_checksum_address(zoo.base_token_on_l1), abi=artifact("TestERC20").abi
    )
    token.functions.mint(mallory, 2**200).transact({"from": mallory})
    router = zoo.l1_asset_router.address
    token.functions.approve(router, MOST).transact({"from": mallory})

    def fill(amount: int) -> Any:
        request: tuple[Any, ...] = (272, amount, BOB, 0, b"", 1_000_000, 800, [], HOLDER)
        call = zoo.bridgehub.functions.requestL2TransactionDirect(request)
        return call.transact({"from": mallory})

    with pytest.raises(Exception, match=abi.selector("AmountTooLarge(uint256)").hex()):
        fill(2**128)
    held = zoo.l2.eth.get_balance(HOLDER)
    fill(LARGEST)
    eventually(lambda: zoo.l2.eth.get_balance(HOLDER) > held + LARGEST // 2)
    zoo.send(ETHER, chain=home, to=BOB).execute()


def test_a_chain_that_owns_nothing_of_a_token_names_it_nowhere(net: Devnet) -> None:
    here, there = net.bridges[:2]
    token = deployed_token(here.l1)
    here.l1_vault.functions.ensureTokenIsRegistered(token.address).transact(
        {"from": net.accounts[0].address}
    )
    asset = asset_id(L1_CHAIN_ID, Address.parse(token.address))
    texts = [abi.encode("(string)", ("SCAM",))] * 2
    named = b"\1" + abi.encode(
        "(uint256,bytes,bytes,bytes)", (L1_CHAIN_ID, *texts, abi.encode("(uint8)", (0,)))
    )
    bob = Address.parse(BOB)
    mint = abi.encode(
        "(address,address,address,uint256,bytes)",
        (bob, bob, Address.parse(token.address), 0, named),
    )
    data = abi.encode_call("finalizeDeposit(uint256,bytes32,bytes)", 270, asset, mint)
    call = Call(to=L2_ASSET_ROUTER, sender=L2_ASSET_ROUTER, data=data)
    ether = asset_id(L1_CHAIN_ID, Address((1).to_bytes(20)))
    lie = PlainBundle(calls=[call], base_token=ether, source=270, destination=271)
    # As a chain does whose operator runs other code.
    center = Web3.to_checksum_address(str(INTEROP_CENTER))
    here.rpc("anvil_impersonateAccount", center)
    here.rpc("anvil_setBalance", center, hex(ETHER))
    message = Web3.to_hex(abi.encode_call("sendToL1(bytes)", lie.message()))
    sent = here.rpc("eth_sendTransaction", {"from": center, "to": MESSENGER, "data": message})
    receipt = here.l2.eth.wait_for_transaction_receipt(sent)

    batch = eventually(
        lambda: here.rpc("zks_getBlockDetails", receipt["blockNumber"])["l1BatchNumber"]
    )
    books = eventually(lambda: partial(here, batch))
    assert books["problem"] == "EmptyAssetCall(0)"
    there.deposit(5, token=token.address, to=BOB)
    bridged = there.l2_token(token.address)
    assert bridged.functions.symbol().call() == "TOK"


def partial(bridge: Bridge, batch: int) -> dict[str, Any] | None:
    books = bridge.rpc("entresol_getBatchBooks", batch)
    return books if books and books["status"] == "partial" else None
