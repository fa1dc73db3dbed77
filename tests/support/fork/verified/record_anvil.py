"""Record what `recorded_remote` responds with: `python -m tests.support.fork.verified.record_anvil` starts a real anvil."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import msgspec

from entresol._native import keccak256, rlp_encode
from entresol._native import sign as sign_digest
from entresol.primitives.rlp import encode_uint
from entresol.primitives.transactions import (
    Access,
    AccessListTransaction,
    Authorization,
    FeeMarketTransaction,
    LegacyTransaction,
    SetCodeTransaction,
    SignedPayload,
    sign,
)
from entresol.primitives.values import Hash32
from tests.support.anvil import Anvil, running_anvil
from tests.support.chain.varied_chain import (
    CODES,
    COUNTER,
    FEE,
    LOGGER,
    NOBODY,
    SECRETS,
    SENDERS,
    SIGNER,
    SLOT,
)
from tests.support.fork.verified.recorded_remote import (
    RECORDED,
    Query,
    RecordedClient,
    Response,
    VerifiedFork,
    key_of,
    started,
)

CHAIN_ID = 31337
_BLOOMLESS = "0x" + "99" * 20


def record() -> None:
    """Write the file."""
    with running_anvil(
        "--timestamp", "1700000000", "--block-base-fee-per-gas", "1000000000"
    ) as anvil:
        number = _mine(anvil)
        queries = list(_queries(anvil, number))
        responses: dict[tuple[str, str], list[Any]] = {}

        def respond(method: str, params: list[Any]) -> Response:
            response = _asked(anvil, method, params)
            responses[key_of(method, params)] = [method, params, response]
            return response

        anchor = Hash32.parse(anvil("eth_getBlockByNumber", "latest", False)["hash"])
        asyncio.run(_read_all(RecordedClient(respond), anchor, queries))
        own = {
            str(query): _asked(anvil, query.method, list(query.params)).get("result")
            for query in queries
            if not query.keys
        }
    written = {
        "anchor": str(anchor),
        "queries": [
            [query.method, query.params, [_hex(key) for key in query.keys]] for query in queries
        ],
        "responses": [responses[response] for response in sorted(responses)],
        "own": own,
    }
    RECORDED.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


async def _read_all(client: RecordedClient, anchor: Hash32, queries: list[Query]) -> None:
    opened = await started(client, anchor)
    for query in queries:
        await VerifiedFork(client, opened).read(query)


def _mine(anvil: Anvil) -> int:
    """Mine a block with a transaction of each type, and some around it; return its number."""
    anvil("anvil_setBalance", str(SENDERS[0]), hex(10**21))
    for address, code in CODES.items():
        anvil("anvil_setCode", str(address), "0x" + bytes.fromhex(code).hex())
    anvil("evm_setAutomine", False)
    anvil("evm_mine")
    for nonce, payload in enumerate(_payloads()):
        raw = sign(_with_nonce(payload, nonce), SECRETS[0]).raw
        anvil("eth_sendRawTransaction", "0x" + raw.hex())
    anvil("evm_mine")
    anvil("evm_mine")
    anvil("evm_mine")
    return int(anvil("eth_blockNumber"), 16) - 2


def _payloads() -> Iterator[SignedPayload]:
    priced: dict[str, Any] = {"gas_price": FEE, "gas_limit": 300_000, "nonce": 0}
    capped: dict[str, Any] = {
        "chain_id": CHAIN_ID,
        "max_fee_per_gas": FEE,
        "max_priority_fee_per_gas": 3,
        "gas_limit": 300_000,
        "nonce": 0,
    }
    accesses = (Access(LOGGER, (SLOT,)), Access(NOBODY))
    yield LegacyTransaction(**priced, to=NOBODY, value=5)
    yield LegacyTransaction(**priced, chain_id=CHAIN_ID, to=None, data=bytes.fromhex("60016000f3"))
    yield AccessListTransaction(**priced, chain_id=CHAIN_ID, to=COUNTER, access_list=accesses)
    yield FeeMarketTransaction(**capped, to=LOGGER, data=b"\xff" * 8)
    fields = [encode_uint(CHAIN_ID), LOGGER, encode_uint(0)]
    signature = sign_digest(keccak256(b"\x05" + rlp_encode(fields)), SIGNER)
    r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:64])
    permission = Authorization(CHAIN_ID, LOGGER, 0, signature[64], r, s)
    yield SetCodeTransaction(**capped, to=NOBODY, authorizations=(permission,))


def _with_nonce(payload: SignedPayload, nonce: int) -> SignedPayload:
    return msgspec.structs.replace(payload, nonce=nonce)


def _queries(anvil: Anvil, number: int) -> Iterator[Query]:
    """Yield reads of a block with transactions, of each kind."""
    block = anvil("eth_getBlockByNumber", hex(number), False)
    sent, name = block["transactions"], hex(number)
    yield Query("eth_getBlockByNumber", (name, True))
    yield Query("eth_getBlockByNumber", (name, False))
    yield Query("eth_getBlockByHash", (block["hash"], True))
    yield Query("eth_getBlockReceipts", (name,))
    yield Query("eth_getTransactionByHash", (sent[3],))
    yield Query("eth_getTransactionReceipt", (sent[3],))
    yield Query("eth_getTransactionByBlockNumberAndIndex", (name, "0x1"))
    yield Query("eth_getRawTransactionByBlockNumberAndIndex", (name, "0x4"))
    yield Query("eth_getRawTransactionByHash", (sent[0],))
    yield Query("eth_getBlockTransactionCountByNumber", (name,))
    yield Query("eth_getUncleCountByBlockNumber", (name,))
    wide = {"fromBlock": hex(number - 2), "toBlock": hex(number + 1)}
    yield Query("eth_getLogs", (wide,))
    yield Query("eth_getLogs", ({**wide, "address": [str(LOGGER)]},))
    yield Query("eth_getLogs", ({**wide, "address": [_BLOOMLESS]},))
    yield Query("eth_getLogs", ({"blockHash": block["hash"]},))
    yield Query("eth_feeHistory", ("0x3", hex(number + 1), [20.0, 80.0]))
    yield Query("eth_getProof", (str(COUNTER), [str(SLOT)], name))
    yield Query("eth_getProof", (str(NOBODY), [], name))
    counter = bytes(COUNTER)
    keys = (("account", counter), ("account", bytes(SENDERS[0])), ("slot", counter, bytes(SLOT)))
    absent = (("account", b"\x98" * 20), ("slot", counter, b"\x98" * 32))
    for at in (number, number + 2):
        yield Query("state", (at,), keys)
        yield Query("state", (at,), absent)


def _asked(anvil: Anvil, method: str, params: list[Any]) -> Response:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    response: Response = anvil.post(request)
    return {name: response[name] for name in ("result", "error") if name in response}


def _hex(key: tuple[Any, ...]) -> list[str]:
    return [key[0], *(word.hex() for word in key[1:])]


if __name__ == "__main__":
    record()
