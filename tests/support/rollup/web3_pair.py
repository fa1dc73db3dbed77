"""A node with both its layers, and what people do between them, with web3.py and nothing else."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from web3 import Web3

from entresol.contracts import artifact
from tests.support.node_process import running_node
from tests.support.polling import eventually

MESSENGER: Final = "0x0000000000000000000000000000000000008008"
L2_ETHER: Final = "0x000000000000000000000000000000000000800A"
GAS_PER_PUBDATA: Final = 800


class Deposit(NamedTuple):
    """A transaction that L1 sent, on both layers."""

    receipt: Any
    request: Any
    """What L1 told of it."""

    @property
    def hash(self) -> str:
        return str(self.receipt["transactionHash"].to_0x_hex())


class Pair:
    """Both layers of a running node."""

    def __init__(self, info: dict[str, Any]) -> None:
        self.url: str = info["http_url"]
        self.l1_url: str = info["l1"]["http_url"]
        self.keys: list[str] = info["private_keys"]
        self.l1 = _client(self.l1_url)
        self.l2 = _client(self.url)
        self.alice: str = self.l2.eth.accounts[0]
        self.bob: str = self.l2.eth.accounts[1]
        self.l1.eth.default_account = self.l2.eth.default_account = self.alice
        self.chain_id: int = self.l2.eth.chain_id
        self.bridgehub = self.on_l1("Bridgehub", self.ask("zks_getBridgehubContract"))
        self.chain = self.on_l1("ZKChain", self.ask("zks_getMainContract"))
        bridges = self.ask("zks_getBridgeContracts")
        self.router = self.on_l1("L1AssetRouter", bridges["l1SharedDefaultBridge"])
        self.nullifier = self.on_l1("L1Nullifier", bridges["l1Nullifier"])
        self.messenger = self.on_l2("L1Messenger", MESSENGER)
        self.base_token = self.on_l2("L2BaseToken", L2_ETHER)

    def ask(self, method: str, *params: Any) -> Any:
        """Return the result of a method of L2."""
        answer = self.l2.provider.make_request(method, list(params))
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def on_l1(self, name: str, address: str) -> Any:
        """Return a contract on L1."""
        return self.l1.eth.contract(Web3.to_checksum_address(address), abi=artifact(name).abi)

    def on_l2(self, name: str, address: str) -> Any:
        """Return a contract on L2."""
        return self.l2.eth.contract(Web3.to_checksum_address(address), abi=artifact(name).abi)

    def l1_sent(self, call: Any, value: int = 0, **fields: Any) -> Any:
        """Send a call on L1, and return its receipt."""
        sent = call.transact({"value": value, **fields})
        receipt = self.l1.eth.wait_for_transaction_receipt(sent, poll_latency=0.02)
        assert receipt["status"] == 1
        return receipt

    def l2_sent(self, call: Any, value: int = 0) -> Any:
        """Send a call on L2, and return its receipt."""
        sent = call.transact({"value": value})
        receipt = self.l2.eth.wait_for_transaction_receipt(sent, poll_latency=0.02)
        assert receipt["status"] == 1
        return receipt

    def deposit(
        self, to: str, value: int = 0, data: bytes = b"", dependencies: tuple[bytes, ...] = ()
    ) -> Deposit:
        """Send a transaction from L1, and wait until L2 has executed it."""
        call = {"from": self.alice, "to": to, "value": hex(value), "data": "0x" + data.hex()}
        meta = {"gasPerPubdata": hex(GAS_PER_PUBDATA), "factoryDeps": list(map(list, dependencies))}
        gas = int(self.ask("zks_estimateGasL1ToL2", {**call, "eip712Meta": meta}), 16)
        price = self.l1.eth.gas_price
        fee = self.bridgehub.functions.l2TransactionBaseCost(
            self.chain_id, price, gas, GAS_PER_PUBDATA
        ).call()
        sent = self.l1_sent(
            self.bridgehub.functions.requestL2TransactionDirect(
                (
                    *(self.chain_id, value + fee, to, value, data, gas, GAS_PER_PUBDATA),
                    *(list(dependencies), self.alice),
                )
            ),
            value + fee,
            gasPrice=price,
        )
        (request,) = self.chain.events.NewPriorityRequest().get_logs(block_hash=sent["blockHash"])
        receipt = self.l2.eth.wait_for_transaction_receipt(
            request["args"]["txHash"], poll_latency=0.02
        )
        return Deposit(receipt, request["args"])

    def say(self, message: bytes) -> Any:
        """Send a message to L1, and return the receipt."""
        return self.l2_sent(self.messenger.functions.sendToL1(message))

    def settled(self, receipt: Any) -> Any:
        """Wait until L1 has executed the batch of a transaction, and return the receipt then."""

        def finalized() -> bool:
            return bool(self.l2.eth.get_block("finalized")["number"] >= receipt["blockNumber"])

        eventually(finalized)
        return self.ask("eth_getTransactionReceipt", receipt["transactionHash"].to_0x_hex())

    def believes(self, proof: Any, receipt: Any, sender: str, message: bytes) -> bool:
        """Ask the contract on L1 whether `sender` sent `message` in the settled `receipt`."""
        sent = (int(receipt["l1BatchTxIndex"], 16), Web3.to_checksum_address(sender), message)
        batch = int(receipt["l1BatchNumber"], 16)
        return bool(
            self.bridgehub.functions.proveL2MessageInclusion(
                self.chain_id, batch, proof["id"], sent, proof["proof"]
            ).call()
        )


def _client(url: str) -> Any:
    """Return a web3 whose types do not get into the way."""
    return Web3(Web3.HTTPProvider(url))


@contextlib.contextmanager
def running_pair(*arguments: str) -> Iterator[Pair]:
    """Start a node with both its layers, and stop it at the end."""
    with TemporaryDirectory() as folder:
        info = Path(folder) / "facts.json"
        with running_node("--config-out", str(info), *arguments, info=info):
            yield Pair(json.loads(info.read_text(encoding="utf-8")))
