"""Both layers of a node, and what users do between them: deposit, send messages, withdraw and claim."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from eth_abi import abi

from entresol._native import keccak256
from entresol.l1.contracts import NEW_PRIORITY_REQUEST
from entresol.primitives.base_token import asset_id
from entresol.primitives.l2_to_l1_logs import L1_MESSAGE_SENT, L1_MESSENGER
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import ASSET_ROUTER, BASE_TOKEN, MULTICALL, NATIVE_TOKEN_VAULT
from tests.support.contracts.engine import Contract, find, types
from tests.support.hex_data import hexed
from tests.support.inprocess_node import inprocess_node
from tests.support.polling import eventually
from tests.support.rollup.layer_ones import ACCOUNTS
from tests.support.rpc_client import CheckedRpcClient, HttpRpcClient, RpcClient, get

CHAIN_ID = 270
L1_CHAIN_ID = 31337
ETHER = 10**18
USER = ACCOUNTS[3].address
RECEIVER = Address(b"\x5e" * 20)

GAS_LIMIT = 2_000_000
GAS_PER_PUBDATA = 800
FEE = ETHER // 100
"""The payment for a deposit's gas: far too much, so that there is something to refund."""

_BURN_DATA = ["uint256", "address", "address"]

Json = dict[str, Any]


class Pair:
    """Both layers, and the contracts on them; `USER` signs everything."""

    gas_on_l1: int | None = None
    """The gas limit of transactions on L1, if L1 should not choose it; anvil takes all of a block."""

    def __init__(
        self,
        l1: RpcClient,
        l2: RpcClient,
        contracts: Mapping[str, Address],
        chain_id: int = CHAIN_ID,
    ) -> None:
        self._chain_id = chain_id
        self.l1 = l1
        self.l2 = l2
        self.bridgehub = Contract(contracts["bridgehub"], find("Bridgehub"))
        self.nullifier = Contract(contracts["nullifier"], find("L1Nullifier"))
        self.asset_router = Contract(contracts["asset_router"], find("L1AssetRouter"))
        self.timelock = Contract(contracts["validator_timelock"], find("ValidatorTimelock"))
        self.chain = Contract(contracts["chain"], find("ZKChain"))
        self.messenger = Contract(L1_MESSENGER, find("L1Messenger"))
        self.base_token = Contract(BASE_TOKEN, find("L2BaseToken"))
        self.multicall = Contract(MULTICALL, find("Multicall3"))
        self._l2_router = Contract(ASSET_ROUTER, find("L2AssetRouter"))
        self._l2_vault = Contract(NATIVE_TOKEN_VAULT, find("L2NativeTokenVault"))

    @classmethod
    def connect(cls, info: Path) -> Pair:
        known = json.loads(info.read_text(encoding="utf-8"))
        contracts = known["l1"]["contracts"].items()
        return cls(
            HttpRpcClient(known["l1"]["http_url"]),
            CheckedRpcClient(known["http_url"]),
            {name: Address.parse(text) for name, text in contracts},
        )

    @classmethod
    def connect_all(cls, info: Path) -> list[Pair]:
        known = json.loads(info.read_text(encoding="utf-8"))
        shared = known["l1"]["contracts"]
        return [
            cls(
                HttpRpcClient(known["l1"]["http_url"]),
                CheckedRpcClient(chain["http_url"]),
                {
                    name: Address.parse(text)
                    for name, text in {**shared, "chain": chain["contract"]}.items()
                },
                chain["chain_id"],
            )
            for chain in known["chains"]
        ]

    @property
    def chain_id(self) -> int:
        return self._chain_id

    def close(self) -> None:
        self.l1.close()
        self.l2.close()

    # From L1 to L2

    def deposit(
        self,
        value: int = 1,
        *,
        to: Address = RECEIVER,
        data: bytes = b"",
        dependencies: Sequence[bytes] = (),
        gas_limit: int = GAS_LIMIT,
        fee: int = FEE,
        gas_price: str | None = None,
        sender: Address = USER,
    ) -> str:
        request = (
            *(self._chain_id, value + fee, to, value, data, gas_limit, GAS_PER_PUBDATA),
            *(dependencies, USER),
        )
        return self.send_l1(
            self.bridgehub,
            "requestL2TransactionDirect",
            request,
            value=value + fee,
            gas_price=gas_price,
            sender=sender,
        )

    def deposit_at_cost(
        self,
        value: int,
        *,
        dependencies: Sequence[bytes] = (),
    ) -> str:
        """Deposit ether with the gas that the node estimates and the fee that L1 charges for it."""
        call = {"from": str(USER), "to": str(RECEIVER), "value": hex(value), "data": "0x"}
        meta = {"gasPerPubdata": hex(GAS_PER_PUBDATA), "factoryDeps": list(map(list, dependencies))}
        gas_limit = int(self.l2("zks_estimateGasL1ToL2", {**call, "eip712Meta": meta}), 16)
        price = self.l1("eth_gasPrice")
        cost = (self._chain_id, int(price, 16), gas_limit, GAS_PER_PUBDATA)
        fee = self.call_l1(self.bridgehub, "l2TransactionBaseCost", *cost)
        return self.deposit(
            value,
            dependencies=dependencies,
            gas_limit=gas_limit,
            fee=fee,
            gas_price=price,
        )

    def deposit_token(self, token: Address, amount: int) -> str:
        inner = abi.encode(_BURN_DATA, [amount, USER, token])
        data = b"\x01" + abi.encode(["bytes32", "bytes"], [asset_id(L1_CHAIN_ID, token), inner])
        request = (
            *(self._chain_id, FEE, 0, GAS_LIMIT, GAS_PER_PUBDATA, USER, self.asset_router.address),
            *(0, data),
        )
        return self.send_l1(self.bridgehub, "requestL2TransactionTwoBridges", request, value=FEE)

    def create_token(self, amount: int = 10**6) -> Address:
        compiled = find("TestERC20")
        (constructor,) = [entry for entry in compiled.abi if entry["type"] == "constructor"]
        arguments = abi.encode(types(constructor["inputs"]), ["Token", "TOK", 18])
        created = _send(self.l1, {"data": hexed(compiled.bytecode + arguments)})
        token = Contract(Address.parse(self.l1.receipt(created)["contractAddress"]), compiled)
        for call in (("mint", USER, amount), ("approve", self.asset_router.address, amount)):
            assert self.l1.receipt(self.send_l1(token, *call))["status"] == "0x1"
        return token.address

    def priority_hashes(self, transaction: str) -> list[str]:
        return [
            "0x" + log["data"][66:130]
            for log in self.l1.receipt(transaction)["logs"]
            if log["topics"][0] == str(NEW_PRIORITY_REQUEST)
        ]

    def arrived(self, transaction: str) -> Json:
        (requested,) = self.priority_hashes(transaction)
        return self.l2.receipt(requested)

    # From L2 to L1

    def withdraw(self, value: int = 1, *, to: Address = USER) -> str:
        return self.send_l2(self.base_token, "withdraw", to, value=value)

    def withdraw_token(self, token: Address, amount: int) -> str:
        inner = abi.encode(_BURN_DATA, [amount, USER, self.token_on_l2(token)])
        asset = asset_id(L1_CHAIN_ID, token)
        return self.send_l2(self._l2_router, "withdraw(bytes32,bytes)", asset, inner)

    def send_message(self, message: bytes) -> str:
        return self.send_l2(self.messenger, "sendToL1", message)

    def token_on_l2(self, token: Address) -> Address:
        """Return the address on L2 of a token of L1; zero if none has arrived."""
        asset = asset_id(L1_CHAIN_ID, token)
        return Address.parse(self.call_l2(self._l2_vault, "tokenAddress", asset))

    def proof(self, transaction: str, index: int = 0) -> Json | None:
        """Return the proof of a log, or None if L1 has not executed its batch yet."""
        found: Json | None = self.l2("zks_getL2ToL1LogProof", transaction, index)
        return found

    def proven(self, transaction: str, index: int = 0) -> Json:
        return eventually(lambda: self.proof(transaction, index))

    def is_included(self, proof: Json, receipt: Json, sender: Address, message: bytes) -> bool:
        """Return whether L1 accepts the proof that `sender` sent `message` in this transaction."""
        leaf = (int(receipt["l1BatchTxIndex"], 16), sender, message)
        named = (self._chain_id, proof["batchNumber"], proof["id"])
        function = "proveL2MessageInclusion"
        included = self.call_l1(self.bridgehub, function, *named, leaf, _words(proof))
        return bool(included)

    def claim(self, transaction: str) -> str:
        """Wait until a withdrawal can be claimed, claim it, and return the transaction on L1."""
        proof, receipt = self.proven(transaction), self.l2.receipt(transaction)
        sent = messages_in(receipt)[0]
        (message,) = abi.decode(["bytes"], bytes.fromhex(sent["data"][2:]))
        claim = (
            *(self._chain_id, proof["batchNumber"], proof["id"], "0x" + sent["topics"][1][26:]),
            *(int(receipt["l1BatchTxIndex"], 16), message, _words(proof)),
        )
        return self.send_l1(self.nullifier, "finalizeDeposit", claim)

    def is_claimed(self, transaction: str) -> bool:
        proof = self.proven(transaction)
        named = (self._chain_id, proof["batchNumber"], proof["id"])
        return bool(self.call_l1(self.nullifier, "isWithdrawalFinalized", *named))

    # Settlement

    def totals(self) -> tuple[int, int, int]:
        committed, proven, executed = (
            self.call_l1(self.chain, f"getTotalBatches{step}")
            for step in ("Committed", "Verified", "Executed")
        )
        return committed, proven, executed

    def finalized(self, transaction: str) -> Json:
        """Wait until L1 has executed the batch of a transaction, and return its receipt then."""
        number = int(self.l2.receipt(transaction)["blockNumber"], 16)
        eventually(lambda: self.number_of("finalized") >= number)
        return self.l2.receipt(transaction)

    def settled(self) -> int:
        """Wait until L1 has executed the batches of all blocks; return the number of the last batch.

        Blocks that only import roots of other chains wait for one with more.
        """
        eventually(self._is_settled)
        return int(self.l2("zks_L1BatchNumber"), 16)

    def _is_settled(self) -> bool:
        for number in range(self.number_of("latest"), self.number_of("finalized"), -1):
            block = self.l2("eth_getBlockByNumber", hex(number), True)
            if any(transaction["type"] != "0x7d" for transaction in block["transactions"]):
                return False
        return True

    def number_of(self, tag: str) -> int:
        return int(self.l2("eth_getBlockByNumber", tag, False)["number"], 16)

    # Calls and transactions

    def call_l1(self, contract: Contract, function: str, *arguments: object) -> Any:
        return _call(self.l1, contract, function, arguments)

    def call_l2(self, contract: Contract, function: str, *arguments: object) -> Any:
        return _call(self.l2, contract, function, arguments)

    def send_l1(
        self,
        contract: Contract,
        function: str,
        *arguments: object,
        value: int = 0,
        sender: Address = USER,
        gas_price: str | None = None,
    ) -> str:
        fields = _transaction(contract, function, arguments, value)
        if gas_price is not None:
            fields["gasPrice"] = gas_price
        if self.gas_on_l1 is not None:
            fields["gas"] = hex(self.gas_on_l1)
        return _send(self.l1, fields, sender)

    def send_l2(self, contract: Contract, function: str, *arguments: object, value: int = 0) -> str:
        return _send(self.l2, _transaction(contract, function, arguments, value))


@contextlib.contextmanager
def operating(info: Path, *flags: str) -> Iterator[Pair]:
    """Start a node with both its layers that describes itself in a file, and stop it at the end."""
    info.unlink(missing_ok=True)
    with (
        inprocess_node("--config-out", str(info), *flags, info=info),
        contextlib.closing(Pair.connect(info)) as pair,
    ):
        yield pair


@contextlib.contextmanager
def running_pair(*arguments: str) -> Iterator[Pair]:
    with TemporaryDirectory() as folder, operating(Path(folder) / "info.json", *arguments) as pair:
        yield pair


def messages_in(receipt: Json) -> list[Json]:
    return [log for log in receipt["logs"] if log["topics"][0] == str(L1_MESSAGE_SENT)]


def message_hash(message: bytes) -> str:
    return hexed(keccak256(message))


def _call(layer: RpcClient, contract: Contract, function: str, arguments: Sequence[object]) -> Any:
    call = {"to": str(contract.address), "data": hexed(contract.encode(function, *arguments))}
    output: str = layer("eth_call", call, "latest")
    return contract.decode(function, bytes.fromhex(output[2:]))


def _transaction(
    contract: Contract, function: str, arguments: Sequence[object], value: int
) -> dict[str, str]:
    data = contract.encode(function, *arguments)
    return {"to": str(contract.address), "data": hexed(data), "value": hex(value)}


def _send(layer: RpcClient, fields: Mapping[str, str], sender: Address = USER) -> str:
    """Send a transaction; one that would fail raises, as the estimate of a client does."""
    call = {"from": str(sender), **fields}
    if "gas" not in call:
        call["gas"] = layer("eth_estimateGas", call, "pending")
    sent: str = layer("eth_sendTransaction", call)
    return sent


def _words(proof: Json) -> list[bytes]:
    return [bytes.fromhex(word[2:]) for word in proof["proof"]]


def settled_in_metrics(url: str) -> list[int]:
    """Return the last batch that is sealed, committed, proven and executed."""
    metrics = get(f"{url}/metrics").decode()
    steps = ("sealed", "committed", "proven", "executed")
    found = (
        re.search(rf"^entresol_settlement_{step}_batch (\d+)$", metrics, re.MULTILINE)
        for step in steps
    )
    return [int(entry[1]) for entry in found if entry is not None]
