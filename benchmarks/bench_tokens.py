"""The explorer on a large chain: an account with 100,000 transactions, a token with 10,000 holders."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from benchmarks.harness import Row, Target
from entresol.contracts import artifact
from entresol.primitives import abi
from entresol.primitives.transactions import FeeMarketTransaction, sign
from entresol.primitives.values import Address
from tests.support.clients.accounts import CONTRACTS
from tests.support.clients.javascript import node_program
from tests.support.node_process import running_node
from tests.support.rpc_client import HttpRpcClient, RpcClient

SCRIPT: Final = Path(__file__).resolve().parents[1] / "tests" / "explorer" / "large.mjs"
# The first account of the test mnemonic.
ALICE: Final = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
KEY: Final = int("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80", 16).to_bytes(
    32
)
CHAIN_ID: Final = 270
HOLDERS: Final = 10_000
TRANSACTIONS: Final = 100_000
PER_BLOCK: Final = 50
LAST: Final = 2.0
"""Pages and methods take at most that many seconds."""


def rows() -> Iterable[Row]:
    """Measure methods and pages."""
    with (
        running_node("--no-l1") as node,
        contextlib.closing(HttpRpcClient(node.url, 600.0)) as client,
    ):
        begun = time.perf_counter()
        token = build(client)
        yield Row(
            what=f"{TRANSACTIONS:,} transactions in blocks of {PER_BLOCK}, by HTTP",
            value=time.perf_counter() - begun,
            unit="s",
        )
        yield from methods(client, token)
        output = subprocess.run(
            [node_program(), str(SCRIPT)],
            env=os.environ
            | {"NODE_URL": node.url, "TOKEN": token, "CONTRACTS": json.dumps(CONTRACTS)},
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
    for what, milliseconds in json.loads(output).items():
        yield Row(
            what=what,
            value=milliseconds / 1000,
            unit="s",
            target=Target(LAST, "at most"),
            note="Chromium, nothing cached",
        )


def build(client: RpcClient) -> str:
    """Make the chain, and return its token."""
    client("evm_setAutomine", False)  # noqa: FBT003 - a parameter of JSON-RPC
    coin = artifact("TestERC20")
    data = coin.bytecode + abi.encode("(string,string,uint8)", ("Large", "LARGE", 6))
    batch: list[tuple[str, list[object]]] = []
    token = ""
    for nonce in range(TRANSACTIONS):
        if nonce == 0:
            raw = signed(nonce, None, data, 3_000_000)
        elif nonce <= HOLDERS:
            holder = Address(nonce.to_bytes(2) + bytes(17) + b"\1")
            raw = signed(
                nonce,
                Address.parse(token),
                abi.encode_call("mint(address,uint256)", holder, nonce),
                100_000,
            )
        else:
            raw = signed(nonce, Address((nonce % 500).to_bytes(20)), b"", 21_000)
        batch.append(("eth_sendRawTransaction", ["0x" + raw.hex()]))
        if nonce % PER_BLOCK == 0 or nonce == TRANSACTIONS - 1:
            (hash_, *_) = client.batch([*batch, ("evm_mine", [])])
            batch = []
            if not token:
                token = client.receipt(hash_)["contractAddress"]
    return token


def signed(nonce: int, to: Address | None, data: bytes, gas: int) -> bytes:
    """Return a transaction of that account."""
    payload = FeeMarketTransaction(
        chain_id=CHAIN_ID,
        nonce=nonce,
        max_priority_fee_per_gas=0,
        max_fee_per_gas=2 * 10**9,
        gas_limit=gas,
        to=to,
        value=0,
        data=data,
    )
    return sign(payload, KEY).raw


def methods(client: RpcClient, token: str) -> Iterator[Row]:
    """Measure single calls, of which the first of holders asks all of them for their balances."""
    middle = "0x" + (TRANSACTIONS // PER_BLOCK // 2).to_bytes(8).hex() + "ffffffff"
    calls: list[tuple[str, str, list[object]]] = [
        ("holders, sorted", "entresol_getTokenHolders", [token, None, 100]),
        ("holders, again", "entresol_getTokenHolders", [token, None, 100]),
        ("holders, the last page", "entresol_getTokenHolders", [token, "0x" + (9_900).to_bytes(4).hex(), 100]),
        ("transfers", "entresol_getTokenTransfers", [token, None, 100]),
        ("transfers, in the middle", "entresol_getTokenTransfers", [token, "0x" + (100).to_bytes(8).hex() + "ffffffff", 100]),
        ("transactions of the account", "entresol_getAccountTransactions", [ALICE, None, 100]),
        ("so, in the middle", "entresol_getAccountTransactions", [ALICE, middle, 100]),
        ("all transactions", "entresol_getTransactions", [None, 100]),
        ("so, in the middle", "entresol_getTransactions", [middle, 100]),
        ("tokens of an account", "entresol_getAccountTokens", ["0x0001" + "00" * 17 + "01"]),
        ("2,000 blocks in bars of 100", "entresol_getBlockStatistics", [100, None, 100]),
    ]  # fmt: skip
    for what, method, params in calls:
        start = time.perf_counter()
        result = client(method, *params)
        seconds = time.perf_counter() - start
        assert any(isinstance(value, list) and value for value in result.values()), (method, result)
        yield Row(
            what=f"{what}: `{method}`", value=seconds, unit="s", target=Target(LAST, "at most")
        )
