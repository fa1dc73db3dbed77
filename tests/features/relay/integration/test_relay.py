"""The relay of a node: bundles are executed and withdrawals paid without anybody asking for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.request import urlopen

import pytest
from web3 import Web3

from entresol import Devnet, devnet
from entresol._native import address_of, public_key
from entresol.inprocess.interop.bundle import BundleStatus, SentBundle
from entresol.node.opening.development_keys import RELAY
from entresol.node.settlement.chain_operators import relay_key
from entresol.primitives import abi
from entresol.primitives.base_token import L2_BASE_TOKEN
from entresol.primitives.values import Address
from tests.support.ecosystem.bundles import EATS_GAS, REVERTS, put
from tests.support.inprocess_node import inprocess_node
from tests.support.node_process import DEVELOPMENT_FLAGS
from tests.support.polling import eventually
from tests.support.rollup.layer_ones import ACCOUNTS
from tests.support.rollup.pair import USER, Pair

ETHER = 10**18
EXECUTED = BundleStatus.EXECUTED
RELAY_ADDRESS = Web3.to_checksum_address(str(RELAY.address))


@pytest.fixture(scope="module")
def net() -> Iterator[Devnet]:
    """Return a devnet of two chains whose relay is on; one is paid in a token."""
    chains: list[dict[str, int | str]] = [{"chain_id": 270}, {"chain_id": 271, "base_token": "ZOO"}]
    with devnet(
        chains=chains, settle_interval=0.05, relay=0.0, finalize_withdrawals=True
    ) as running:
        yield running


def metric(net: Devnet, name: str, chain: int = 0) -> int:
    """Return a number of the relay's metrics."""
    layer = net.l2s[chain]
    with urlopen(f"{layer.url}/metrics") as response:
        lines = response.read().decode().splitlines()
    (found,) = [line for line in lines if line.startswith(f"entresol_relay_{name}{{")]
    return int(found.split()[-1])


def is_executed(bundle: SentBundle) -> bool:
    """Return whether the destination has executed a bundle."""
    return bundle.status is EXECUTED


def test_value_arrives_on_either_chain_by_itself(net: Devnet) -> None:
    here, there = net.bridges
    bundles = [here.send(ETHER, chain=there), there.send(ETHER, chain=here)]
    eventually(lambda: all(map(is_executed, bundles)))


def test_the_relay_is_funded_by_a_deposit_so_that_books_stay_exact(net: Devnet) -> None:
    eventually(lambda: all(layer.w3.eth.get_balance(RELAY_ADDRESS) > ETHER for layer in net.l2s))
    assert net.l1.w3.eth.get_balance(RELAY_ADDRESS) < 10_000 * ETHER


def test_what_eats_all_gas_fails_and_the_next_is_executed(net: Devnet) -> None:
    here, there = net.bridges
    failed = metric(net, "failed_total", 1)
    target = put(there.l2, EATS_GAS)
    bad = here.send(chain=there, to=target, data=b"hello")
    good = here.send(ETHER, chain=there)
    eventually(lambda: is_executed(good))
    eventually(lambda: metric(net, "failed_total", 1) > failed)
    assert bad.status is BundleStatus.UNRECEIVED
    problem = there.rpc("entresol_getBundleProblem", bad.hash)
    assert problem == "execution reverted"
    assert there.rpc("entresol_getBundleProblem", good.hash) is None


def test_withdrawals_are_paid_beside_those_that_cannot_be(net: Devnet) -> None:
    bridge, l1 = net.bridge, net.l1.w3
    failed, finalized = metric(net, "failed_total"), metric(net, "finalized_total")
    eater = put(l1, EATS_GAS, Web3.to_checksum_address("0x" + "7b" * 20))
    nobody = Web3.to_checksum_address("0x" + "7c" * 20)
    bridge.withdraw(ETHER, to=eater)
    bridge.withdraw(ETHER, to=nobody)
    eventually(lambda: l1.eth.get_balance(nobody) == ETHER)
    eventually(lambda: metric(net, "failed_total") > failed)
    eventually(lambda: metric(net, "finalized_total") == finalized + 1)
    assert l1.eth.get_balance(eater) == 0
    transfers = bridge.rpc("entresol_getOpenTransfers")["transfers"]
    assert [transfer["kind"] for transfer in transfers if transfer["problem"]] == ["withdrawal"]


def test_a_token_that_reverts_fails(net: Devnet) -> None:
    bridge, l1, failed = net.bridge, net.l1.w3, metric(net, "failed_total")
    token = bridge.l1_token(net.l2s[1].base_token.l1_address.checksummed())
    bridge.deposit(5, token=token.address)
    code = l1.eth.get_code(token.address)
    put(l1, REVERTS, token.address)
    try:
        bridge.withdraw(5, token=token.address)
        eventually(lambda: metric(net, "failed_total") > failed)
    finally:
        put(l1, code.to_0x_hex(), token.address)


def test_an_added_chain_is_relayed_too(net: Devnet) -> None:
    added = net.l2.request("entresol_addChain", {"chainId": 272})
    client = Web3(Web3.HTTPProvider(added["http_url"]))
    client.eth.default_account = net.accounts[0].address
    bundle = net.bridge.send(ETHER, chain=client)
    eventually(lambda: is_executed(bundle))


def test_what_was_sent_before_a_restart_is_executed_after_it(tmp_path: Path) -> None:
    settings = {"chains": 2, "data_dir": tmp_path / "data", "settle_interval": 0.05}
    with devnet(**settings) as net:  # type: ignore[arg-type]
        done = net.bridge.send(ETHER, chain=net.l2s[1])
        done.execute()
        sent = net.bridge.send(ETHER, chain=net.l2s[1])
    with devnet(relay=0.0, **settings) as net:  # type: ignore[arg-type]
        status = net.bridges[1].interop_handler.functions.bundleStatus(sent.hash)
        eventually(lambda: status.call() == EXECUTED)
        assert metric(net, "executed_total", 1) <= 1


def test_a_message_that_l1_takes_no_transaction_of_holds_up_no_withdrawal(tmp_path: Path) -> None:
    key, info = ACCOUNTS[1], tmp_path / "info.json"
    with devnet() as below:
        payer = Address(address_of(public_key(relay_key(key.secret))))
        for address in (str(payer), str(key.address)):
            below.l1.request("anvil_setBalance", address, hex(100 * ETHER))
        flags = (
            "--l1-url",
            below.l1.url,
            "--operator-key",
            str(key.secret),
            "--deploy-l1",
            "--l1-confirmations",
            "0",
        )
        more = ("--finalize-withdrawals", "--settle-interval", "0.05", "--config-out", str(info))
        with (
            ExitStack() as clients,
            inprocess_node(*flags, *more, *DEVELOPMENT_FLAGS, info=info) as node,
        ):
            pair = clients.enter_context(closing(Pair.connect(info)))
            pair.arrived(pair.deposit(ETHER))
            bad = put(Web3(Web3.HTTPProvider(node.url)), sends_long_message())
            sent = pair.l2("eth_sendTransaction", {"from": str(USER), "to": bad, "value": "0x1"})
            assert pair.l2.receipt(sent)["status"] == "0x1"
            good = pair.withdraw(5)
            eventually(lambda: pair.is_claimed(good))

            def problem() -> str:
                (left,) = pair.l2("entresol_getOpenTransfers")["transfers"]
                return str(left["problem"])

            eventually(lambda: "oversized data" in problem(), problem)


def sends_long_message() -> str:
    """Return a contract that withdraws what it is sent with a message of 200,000 bytes."""
    selector = abi.selector("withdrawWithMessage(address,bytes)").hex()
    stores = f"63{selector}60e01b5f52 73{'7d' * 20}600452 6040602452 62030d40604452"
    return "0x" + f"{stores} 5f5f62030da45f34 73{bytes(L2_BASE_TOKEN).hex()}5af100".replace(" ", "")
