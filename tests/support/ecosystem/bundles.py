"""Bundles between L2s over JSON-RPC: sent, proven and executed, as any client of the nodes does it."""

from __future__ import annotations

from typing import Any, Final

from eth_typing import ChecksumAddress
from web3 import Web3

from entresol.contracts import artifact
from entresol.inprocess.interop.starters import CallStarter, remote_call
from entresol.primitives import abi
from entresol.primitives.interop_bundles import (
    BUNDLE_SENT,
    INTEROP_CENTER,
    INTEROP_HANDLER,
    InteropBundle,
    encode_erc7930,
)
from entresol.primitives.interop_roots import ROOT_STORAGE
from tests.support.contracts.engine import Contract, find
from tests.support.polling import eventually
from tests.support.rollup.pair import L1_CHAIN_ID, RECEIVER, Json, Pair

MESSAGE_ROOT = "messageRoot"
CENTER = Contract(INTEROP_CENTER, find("InteropCenter"))
HANDLER = Contract(INTEROP_HANDLER, find("InteropHandler"))
ROOTS = Contract(ROOT_STORAGE, find("L2InteropRootStorage"))

_SELECTOR: Final = abi.selector("receiveMessage(bytes32,bytes,bytes)").hex()
ACCEPTS: Final = f"0x63{_SELECTOR}60e01b5f5260205ff3"
REVERTS: Final = "0x5f5ffd"
EATS_GAS: Final = "0x5b5f56"
TARGET: Final[ChecksumAddress] = Web3.to_checksum_address("0x" + "7a" * 20)


def send_value(source: Pair, destination: Pair, amount: int) -> str:
    """Send a bundle that pays `amount`; both chains have the same base token."""
    return send_bundle(source, destination, remote_call(RECEIVER, b"", amount))


def send_bundle(source: Pair, destination: Pair, *calls: CallStarter) -> str:
    fee = source.call_l2(CENTER, "interopProtocolFee")
    paid = sum(fee + call.value for call in calls)
    starters = [(call.to, call.data, list(call.attributes)) for call in calls]
    chain = encode_erc7930(destination.chain_id)
    return source.send_l2(CENTER, "sendBundle", chain, starters, [], value=paid)


def bundle_in(receipt: Json) -> InteropBundle:
    (event,) = [log for log in receipt["logs"] if log["topics"][0] == str(BUNDLE_SENT)]
    return InteropBundle.of_event(bytes.fromhex(event["data"][2:]))[2]


def proof_of(source: Pair, sent: str) -> dict[str, Any]:
    ask = ("zks_getL2ToL1LogProof", sent, 0, MESSAGE_ROOT)
    found: dict[str, Any] = eventually(lambda: source.l2(*ask))
    return found


def has_root(destination: Pair, proof: Json) -> bool:
    block = proof["gatewayBlockNumber"]
    imported: bytes = destination.call_l2(ROOTS, "interopRoots", L1_CHAIN_ID, block)
    return "0x" + imported.hex() == str(proof["root"])


def execute(destination: Pair, source: Pair, sent: str) -> str:
    proof = proof_of(source, sent)
    eventually(lambda: has_root(destination, proof))
    receipt = source.l2.receipt(sent)
    bundle = bundle_in(receipt)
    message = (int(receipt["transactionIndex"], 16), INTEROP_CENTER, bundle.message())
    words = [bytes.fromhex(word[2:]) for word in proof["proof"]]
    claim = (source.chain_id, proof["batchNumber"], proof["id"], message, words)
    return destination.send_l2(HANDLER, "executeBundle", bundle.encode(), claim)


def imports_of(destination: Pair) -> list[Json]:
    """Return every transaction that has imported roots, without its batch, which it gets later."""
    found = []
    for number in range(int(destination.l2("eth_blockNumber"), 16) + 1):
        block = destination.l2("eth_getBlockByNumber", hex(number), True)
        found += [
            transaction for transaction in block["transactions"] if transaction["type"] == "0x7d"
        ]
    return [
        {name: entry[name] for name in entry if not name.startswith("l1Batch")} for entry in found
    ]


def imported_blocks(destination: Pair) -> list[int]:
    """Return the L1 blocks whose roots a chain has imported, in the order of their import."""
    logs = destination.l2("eth_getLogs", {"fromBlock": "0x0", "address": str(ROOTS.address)})
    return [int(log["topics"][2], 16) for log in logs]


def put(w3: Web3, code: str, address: ChecksumAddress = TARGET) -> ChecksumAddress:
    w3.manager.request_blocking("anvil_setCode", [address, code])  # type: ignore[arg-type]
    return address


def deployed_token(w3: Web3, supply: int = 100) -> Any:
    compiled = artifact("TestERC20")
    factory = w3.eth.contract(abi=compiled.abi, bytecode=str(compiled.bytecode))
    sent = factory.constructor("Token", "TOK", 18).transact()
    address = w3.eth.get_transaction_receipt(sent)["contractAddress"]
    token = w3.eth.contract(address, abi=compiled.abi)
    token.functions.mint(w3.eth.default_account, supply).transact()
    return token
