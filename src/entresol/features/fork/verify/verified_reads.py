"""Answers of methods about the past, made from what is proven; the remote's own answers are hints at most."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from entresol.errors import MalformedValue
from entresol.features.fork import remote_values
from entresol.features.fork.errors import RemoteLied, RemoteMalformed, Unprovable
from entresol.features.fork.past_blocks import PastBlocks
from entresol.features.fork.remote_values import check_proofs, proven_account
from entresol.features.fork.transport.client import ForkClient
from entresol.features.fork.verify.proven_block import ProvenBlock, ProvenTransaction
from entresol.features.fork.verify.proven_chain import (
    RECEIPT,
    HashesOf,
    ProvenBlocks,
    proven_fees,
    proven_logs,
)
from entresol.features.fork.verify.proven_header import HashedHeader, Told, hashed, hex_of
from entresol.primitives.values import Address, Hash32

_RANGES: Final = "a part of a trie with its borders has no proof in JSON-RPC"
_SUMMARY: Final = "it has sums of the remote's own that no root covers"
_BATCHES: Final = "it says how the remote's block was settled, which no header of the block has"

UNPROVABLE: Final[Mapping[str, str]] = {
    "debug_accountRange": _RANGES,
    "debug_executionWitness": "nothing shows that a witness is complete",
    "debug_storageRangeAt": _RANGES,
    "ots_getBlockDetails": _SUMMARY,
    "ots_getBlockDetailsByHash": _SUMMARY,
    "ots_getBlockTransactions": _SUMMARY,
    "zks_getBlockDetails": _BATCHES,
    "zks_getBlockMetadataByNumber": _BATCHES,
    "zks_getRawBlockTransactions": "its form is the remote's own",
    "zks_getTransactionDetails": _BATCHES,
}
"""By method, why nothing proves its answer: with `--fork-verify` it is rejected below the anchor."""

UNKNOWN: Final = "it is left to the remote's own method, whose result has no proof"
"""Why a method is rejected that is asked for in place of an execution."""


TRANSACTION: Final = "eth_getTransactionByHash"
PROOF: Final = "eth_getProof"
_HASH_DIGITS: Final = 66

Params: TypeAlias = Sequence[Any]
OfBlock: TypeAlias = Callable[[ProvenBlock], Any]


class VerifiedReads:
    """Answers methods about blocks at or below the anchor, and the one after it.

    Assumes: the loop of the client. Fails: with `RemoteLied`, `Unprovable`, or another `RemoteFailed`; nothing that the
    remote says is passed on without its proof.
    """

    def __init__(self, client: ForkClient, past: PastBlocks, hashes: HashesOf) -> None:
        self._client = client
        self._past = past
        self._blocks = ProvenBlocks(client, past, hashes)
        self._answers: Mapping[str, Callable[[str, Params], Awaitable[Any]]] = {
            "eth_getBlockByHash": self._block,
            "eth_getBlockByNumber": self._block,
            "eth_getBlockReceipts": self._receipts,
            "eth_getBlockTransactionCountByHash": self._of(lambda it: hex(len(it.transactions))),
            "eth_getBlockTransactionCountByNumber": self._of(lambda it: hex(len(it.transactions))),
            "eth_getTransactionByBlockHashAndIndex": self._at(_json),
            "eth_getTransactionByBlockNumberAndIndex": self._at(_json),
            "eth_getRawTransactionByBlockHashAndIndex": self._at(_raw),
            "eth_getRawTransactionByBlockNumberAndIndex": self._at(_raw),
            "eth_getTransactionByHash": self._transaction,
            "eth_getRawTransactionByHash": self._raw_transaction,
            "debug_getRawTransaction": self._raw_transaction,
            "eth_getTransactionReceipt": self._receipt,
            "eth_getUncleCountByBlockHash": self._of(lambda it: hex(len(it.uncles))),
            "eth_getUncleCountByBlockNumber": self._of(lambda it: hex(len(it.uncles))),
            "eth_getUncleByBlockHashAndIndex": self._uncle,
            "eth_getUncleByBlockNumberAndIndex": self._uncle,
            "debug_getRawHeader": self._of(lambda it: hex_of(it.header.encoded)),
            "debug_getRawBlock": self._of(lambda it: hex_of(it.encoded())),
            "debug_getRawReceipts": self._raw_receipts,
            "eth_getLogs": self._logs,
            "eth_feeHistory": self._fees,
            "eth_getProof": self._proof,
            "eth_getAccount": self._account,
        }

    @property
    def methods(self) -> frozenset[str]:
        """The methods that are answered."""
        return frozenset(self._answers)

    async def answer(self, method: str, params: Params) -> msgspec.Raw:
        """Return the proven result of a method; raise `Unprovable` for one that has no proof."""
        answer = self._answers.get(method)
        if answer is None:
            raise Unprovable(method, UNPROVABLE.get(method, UNKNOWN))
        try:
            return msgspec.Raw(msgspec.json.encode(await answer(method, params)))
        except (MalformedValue, IndexError, ValueError) as error:
            # Parameters are those of our own methods, so that it is what the remote has said.
            raise RemoteLied(self._client.host, method, str(error)) from error

    async def _named(self, name: object) -> ProvenBlock | None:
        if isinstance(name, dict):
            name = name.get("blockHash")
        text = str(name)
        is_hash = len(text) == _HASH_DIGITS
        return await self._blocks.block(Hash32.parse(text) if is_hash else int(text, 16))

    async def _block(self, _: str, params: Params) -> Any:
        block = await self._named(params[0])
        return None if block is None else block.json(with_transactions=bool(params[1]))

    def _of(self, make: OfBlock) -> Callable[[str, Params], Awaitable[Any]]:
        async def answer(_: str, params: Params) -> Any:
            block = await self._named(params[0])
            return None if block is None else make(block)

        return answer

    def _at(
        self, make: Callable[[ProvenTransaction], Any]
    ) -> Callable[[str, Params], Awaitable[Any]]:
        async def answer(_: str, params: Params) -> Any:
            block, index = await self._named(params[0]), int(str(params[1]), 16)
            if block is None or index >= len(block.transactions):
                return None
            return make(block.transactions[index])

        return answer

    async def _uncle(self, _: str, params: Params) -> Any:
        block, index = await self._named(params[0]), int(str(params[1]), 16)
        if block is None or index >= len(block.uncles):
            return None
        return {**block.uncles[index].json(), "uncles": []}

    async def _receipts(self, _: str, params: Params) -> Any:
        block = await self._named(params[0])
        return (
            None
            if block is None
            else [receipt.json for receipt in await self._blocks.receipts(block)]
        )

    async def _raw_receipts(self, _: str, params: Params) -> Any:
        block = await self._named(params[0])
        if block is None:
            return None
        return [hex_of(receipt.raw) for receipt in await self._blocks.receipts(block)]

    async def _transaction(self, _: str, params: Params) -> Any:
        return _json(await self._sent(params[0]))

    async def _raw_transaction(self, _: str, params: Params) -> Any:
        return _raw(await self._sent(params[0]))

    async def _sent(self, wanted: object) -> ProvenTransaction:
        given, _, found = await self._find(TRANSACTION, wanted)
        told = Told(self._client.host, TRANSACTION)
        told.agreed(f"transaction {found.hash}", given, found.json)
        return found

    async def _receipt(self, method: str, params: Params) -> Any:
        given, block, found = await self._find(RECEIPT, params[0])
        receipt = (await self._blocks.receipts(block))[found.index].json
        told = Told(self._client.host, method)
        return told.agreed(f"the receipt of {found.hash}", given, receipt)

    async def _find(
        self, method: str, wanted: object
    ) -> tuple[dict[str, Any], ProvenBlock, ProvenTransaction]:
        """Return what the remote says of a transaction, and the transaction in the block that it is said to be in."""
        host = self._client.host
        raw = await self._client.request(method, wanted)
        given = remote_values.json_of(host, method, raw)
        fields = (
            {} if given is None else Told(host, method).read(lambda: remote_values.mapping(given))
        )
        named = fields.get("blockHash")
        if named is None:
            problem = f"nothing shows that no block up to the anchor has transaction {wanted}"
            raise Unprovable(method, problem)
        block = await self._blocks.block(Hash32.parse(named))
        if block is None:
            problem = f"nothing shows that transaction {wanted} is only above the anchor"
            raise Unprovable(method, problem)
        for found in block.transactions:
            if str(found.hash) == str(wanted).lower():
                return fields, block, found
        raise RemoteLied(host, method, f"transaction {wanted} is not in block {block.hash}")

    async def _logs(self, _: str, params: Params) -> Any:
        return await proven_logs(self._blocks, dict(params[0]))

    async def _fees(self, _: str, params: Params) -> Any:
        count, last = int(str(params[0]), 16), int(str(params[1]), 16)
        percentiles = params[2] if len(params) > 2 else []
        return await proven_fees(
            self._blocks, count, last, percentiles or [], self._past.anchor.number
        )

    async def _proof(self, _: str, params: Params) -> Any:
        address, keys, block = Address.parse(params[0]), list(params[1]), params[2]
        header = await self._header(block)
        slots = [int(str(key), 16).to_bytes(32, "big") for key in keys]
        raw = await self._client.request(PROOF, *params)
        given = remote_values.decoded(self._client.host, PROOF, raw, remote_values.mapping)
        told = Told(self._client.host, PROOF)
        account = told.read(lambda: proven_account(given, slots))
        problem = check_proofs(header.data("stateRoot"), bytes(address), slots, account)
        if problem:
            raise told.lied(f"account {address}: {problem}")
        true = {
            "address": str(address),
            "balance": hex(account.balance),
            "nonce": hex(account.nonce),
            "codeHash": str(account.code_hash),
            "storageHash": str(account.storage_root),
            "accountProof": [hex_of(node) for node in account.account_proof],
            "storageProof": [
                {
                    "key": given["storageProof"][n]["key"],
                    "value": hex(int.from_bytes(value)),
                    "proof": [hex_of(node) for node in account.slot_proofs[n]],
                }
                for n, value in enumerate(account.slots)
            ],
        }
        return told.agreed(f"account {address}", given, true)

    async def _account(self, method: str, params: Params) -> Any:
        proof = await self._proof(method, [params[0], [], params[1]])
        return {
            "balance": proof["balance"],
            "nonce": proof["nonce"],
            "codeHash": proof["codeHash"],
            "storageRoot": proof["storageHash"],
        }

    async def _header(self, name: object) -> HashedHeader:
        if isinstance(name, dict):
            name = name.get("blockHash")
        text = str(name)
        wanted = Hash32.parse(text) if len(text) == _HASH_DIGITS else int(text, 16)
        block = await self._past.block(wanted)
        if block is None:
            raise RemoteMalformed(self._client.host, PROOF, f"there is no block {text}")
        header = hashed(block)
        if header is None or not await self._blocks.is_ancestor(header):
            problem = f"block {block.number} is not an ancestor of the anchor"
            raise RemoteLied(self._client.host, PROOF, problem)
        return header


def _json(transaction: ProvenTransaction) -> dict[str, Any]:
    return transaction.json


def _raw(transaction: ProvenTransaction) -> str:
    return hex_of(transaction.raw)
