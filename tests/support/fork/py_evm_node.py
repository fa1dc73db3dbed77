"""A chain that py-evm executes, behind as much of JSON-RPC as a replay asks for."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from eth.chains.base import MiningChain
from eth.consensus.noproof import NoProofConsensus
from eth.db.atomic import AtomicDB
from eth.exceptions import PyEVMError
from eth.vm.forks.prague import PragueVM

from entresol._native import keccak256, rlp_encode
from entresol.primitives.rlp import encode_uint
from tests.support.chain.varied_chain import CODES, SENDERS
from tests.support.fork.varied_transactions import CHAIN_ID, VariedTransactions

_GENESIS: Final = {"difficulty": 0, "gas_limit": 30_000_000, "timestamp": 1_800_000_000}
_NOT_FOUND: Final = -32601


class PyEvmNode:
    """A chain of py-evm with transactions of every type; state is served by number alone, as eth-tester does."""

    def __init__(
        self,
        vms: Mapping[int, Any] = {0: PragueVM},
        codes: Mapping[Any, str] = CODES,
    ) -> None:
        """Have the hardforks of `vms`, by their first blocks, and contracts."""
        kind: Any = MiningChain.configure(
            __name__="ReplayedChain",
            vm_configuration=tuple(
                (first, vm.configure(consensus_class=NoProofConsensus)) for first, vm in vms.items()
            ),
            chain_id=CHAIN_ID,
        )
        accounts = {bytes(sender): _account(10**21, 0, b"") for sender in SENDERS} | {
            bytes(it): _account(1000, 1, bytes.fromhex(code)) for it, code in codes.items()
        }
        self.chain: Any = kind.from_genesis(AtomicDB(), _GENESIS, accounts)
        self._transactions = VariedTransactions(has_sidecars=False)
        self._lock = threading.Lock()
        self.url = ""
        self.sent = 0

    def mine(self, blocks: int) -> None:
        """Mine blocks with transactions of every type."""
        for _ in range(blocks):
            self.mine_block(self._transactions.block())

    def mine_block(self, transactions: Iterable[bytes]) -> None:
        """Mine a block with these transactions."""
        builder = self.chain.get_vm().get_transaction_builder()
        made = [builder.decode(raw) for raw in transactions]
        self.chain.mine_all(made)
        self.sent += len(made)

    @property
    def last(self) -> int:
        """The last block."""
        return int(self.chain.get_canonical_head().block_number)

    def respond(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the response to a request."""
        method: Callable[..., Any] | None = getattr(self, "do_" + request["method"], None)
        head = {"jsonrpc": "2.0", "id": request["id"]}
        if method is None:
            return head | {"error": {"code": _NOT_FOUND, "message": "no such method"}}
        try:
            with self._lock:
                return head | {"result": method(*request.get("params", ()))}
        except (ValueError, TypeError, PyEVMError) as error:
            return head | {"error": {"code": -32602, "message": str(error)}}

    def do_eth_chainId(self) -> str:  # noqa: N802
        return hex(CHAIN_ID)

    def do_eth_getBalance(self, address: str, block: str) -> str:  # noqa: N802
        return hex(self._state(block).get_balance(_data(address)))

    def do_eth_getTransactionCount(self, address: str, block: str) -> str:  # noqa: N802
        return hex(self._state(block).get_nonce(_data(address)))

    def do_eth_getCode(self, address: str, block: str) -> str:  # noqa: N802
        return _hex(self._state(block).get_code(_data(address)))

    def do_eth_getStorageAt(self, address: str, slot: str, block: str) -> str:  # noqa: N802
        return f"{self._state(block).get_storage(_data(address), int(slot, 16)):#066x}"

    def do_eth_getBlockByNumber(self, block: str, full: bool) -> Any:  # noqa: N802
        number = self.last if block in {"latest", "finalized"} else int(block, 16)
        return (
            _block(self.chain.get_canonical_block_by_number(number), is_full=full)
            if number <= self.last
            else None
        )

    def do_eth_getBlockByHash(self, block: str, full: bool) -> Any:  # noqa: N802
        return _block(self.chain.get_block_by_hash(_data(block)), is_full=full)

    def do_eth_getBlockReceipts(self, block: str) -> list[Any]:  # noqa: N802
        return _receipts(self.chain, self.chain.get_block_by_hash(_data(block)))

    def do_eth_getTransactionByHash(self, wanted: str) -> Any:  # noqa: N802
        number, index = self.chain.get_canonical_transaction_index(_data(wanted))
        block = self.chain.get_canonical_block_by_number(number)
        return _transaction(block, index)

    def _state(self, block: str) -> Any:
        return self.chain.get_vm(
            self.chain.get_canonical_block_header_by_number(int(block, 16))
        ).state


@contextmanager
def running_py_evm(blocks: int) -> Iterator[PyEvmNode]:
    """Serve a chain of so many blocks on a free port."""
    node = PyEvmNode()
    node.mine(blocks)
    with served(node):
        yield node


@contextmanager
def served(node: PyEvmNode) -> Iterator[None]:
    """Serve a chain on a free port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            response: Any = (
                [node.respond(entry) for entry in request]
                if isinstance(request, list)
                else node.respond(request)
            )
            body = json.dumps(response).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    node.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _account(balance: int, nonce: int, code: bytes) -> dict[str, Any]:
    return {"balance": balance, "nonce": nonce, "code": code, "storage": {}}


def _data(text: object) -> bytes:
    if not isinstance(text, str):
        raise TypeError("a hex string is expected")
    return bytes.fromhex(text[2:])


def _hex(value: bytes) -> str:
    return "0x" + bytes(value).hex()


def _block(block: Any, *, is_full: bool) -> dict[str, Any]:
    header = block.header
    transactions = [
        _transaction(block, index) if is_full else _hex(it.hash)
        for index, it in enumerate(block.transactions)
    ]
    return {
        "number": hex(header.block_number),
        "hash": _hex(header.hash),
        "parentHash": _hex(header.parent_hash),
        "stateRoot": _hex(header.state_root),
        "miner": _hex(header.coinbase),
        "difficulty": hex(header.difficulty),
        "gasLimit": hex(header.gas_limit),
        "gasUsed": hex(header.gas_used),
        "timestamp": hex(header.timestamp),
        "extraData": _hex(header.extra_data),
        "mixHash": _hex(header.mix_hash),
        "transactions": transactions,
        **_later(header),
    }


def _later(header: Any) -> dict[str, str]:
    """Return what hardforks have added, as far as the header has it."""
    names = {
        "baseFeePerGas": "base_fee_per_gas",
        "excessBlobGas": "excess_blob_gas",
        "blobGasUsed": "blob_gas_used",
        "parentBeaconBlockRoot": "parent_beacon_block_root",
        "withdrawalsRoot": "withdrawals_root",
        "requestsHash": "requests_hash",
    }
    given = {name: getattr(header, field, None) for name, field in names.items()}
    return {
        name: hex(it) if isinstance(it, int) else _hex(it)
        for name, it in given.items()
        if it is not None
    }


def _transaction(block: Any, index: int) -> dict[str, Any]:
    it = block.transactions[index]
    kind = it.type_id or 0
    found: dict[str, Any] = {
        "type": hex(kind),
        "hash": _hex(it.hash),
        "blockHash": _hex(block.hash),
        "blockNumber": hex(block.number),
        "transactionIndex": hex(index),
        "from": _hex(it.sender),
        "to": _hex(it.to) if it.to else None,
        "nonce": hex(it.nonce),
        "gas": hex(it.gas),
        "value": hex(it.value),
        "input": _hex(it.data),
        "v": hex(it.y_parity if kind else it.v),
        "r": hex(it.r),
        "s": hex(it.s),
    }
    if kind < 2:
        found["gasPrice"] = hex(it.gas_price)
    else:
        found["maxFeePerGas"] = hex(it.max_fee_per_gas)
        found["maxPriorityFeePerGas"] = hex(it.max_priority_fee_per_gas)
    if kind:
        found["chainId"] = hex(it.chain_id)
        found["accessList"] = [
            {"address": _hex(address), "storageKeys": [f"{slot:#066x}" for slot in slots]}
            for address, slots in it.access_list
        ]
    if kind == 3:
        found["maxFeePerBlobGas"] = hex(it.max_fee_per_blob_gas)
        found["blobVersionedHashes"] = [_hex(blob) for blob in it.blob_versioned_hashes]
    if kind == 4:
        found["authorizationList"] = [
            {
                "chainId": hex(each.chain_id),
                "address": _hex(each.address),
                "nonce": hex(each.nonce),
                "yParity": hex(each.y_parity),
                "r": hex(each.r),
                "s": hex(each.s),
            }
            for each in it.authorization_list
        ]
    return found


def _receipts(chain: Any, block: Any) -> list[dict[str, Any]]:
    found, before = [], 0
    for it, receipt in zip(block.transactions, block.get_receipts(chain.chaindb), strict=True):
        created = None
        if not it.to:
            created = _hex(keccak256(rlp_encode([it.sender, encode_uint(it.nonce)]))[12:])
        found.append(
            {
                "transactionHash": _hex(it.hash),
                "to": _hex(it.to) if it.to else None,
                "status": "0x1" if receipt.state_root == b"\x01" else "0x0",
                "gasUsed": hex(receipt.gas_used - before),
                "contractAddress": created,
                "logs": [
                    {
                        "address": _hex(log.address),
                        "topics": [f"{topic:#066x}" for topic in log.topics],
                        "data": _hex(log.data),
                    }
                    for log in receipt.logs
                ],
            }
        )
        before = receipt.gas_used
    return found
