"""Transactions whose validation fails late, beside transactions with bad signatures: what a flood of each costs."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from http import HTTPStatus
from typing import Final, NamedTuple

from entresol._native import address_of, keccak256, public_key, sign
from entresol.primitives.transactions import sign as sign_transaction
from entresol.primitives.values import Address
from tests.robustness.floods import START_SECONDS, Flood
from tests.support.contracts.accounts import (
    AGREES,
    ASK_PAYMASTER,
    EAT_GAS,
    EXECUTE,
    GAS,
    PAY,
    VALIDATE,
    Script,
    deploy_account,
    fill,
    pay,
    set_scripts,
    use_nonce,
)
from tests.support.contracts.layer_two import BOB, FEE
from tests.support.http_server import RawConnection, post_request
from tests.support.node_process import RunningNode
from tests.support.rpc_client import HttpRpcClient

ACCOUNTS: Final = 30
"""How many accounts an attacker has; each of them alone would soon be throttled."""
BATCH: Final = 100
WINDOWS: Final = 4
"""In how many parts the floods take turns, so that other work on the machine disturbs them alike."""

_PROCESS_CLOCK: Final = 2
_GAS: Final = 2_000_000
_EATS_GAS: Final = Script(ending=EAT_GAS)
_AGREES: Final = {
    VALIDATE: Script((use_nonce(0),), output=AGREES),
    PAY: Script((pay(GAS * FEE),)),
    EXECUTE: Script(),
}


def of_one_account(node: RunningNode) -> list[bytes]:
    """Return requests of one account whose validation uses up its gas."""
    return _of_accounts(_deploy(node, 1, {VALIDATE: _EATS_GAS}))


def of_many_accounts(node: RunningNode) -> list[bytes]:
    """Return requests of accounts whose validations use up their gas."""
    return _of_accounts(_deploy(node, ACCOUNTS, {VALIDATE: _EATS_GAS}))


def of_accounts_that_have_passed(node: RunningNode) -> list[bytes]:
    """Return requests of accounts that have passed a validation, and then use up their gas."""
    accounts = _deploy(node, ACCOUNTS, _AGREES)
    with closing(HttpRpcClient(node.url)) as client:
        for account in accounts:
            raw = fill(account, custom_signature=b"any").encode()
            sent = client("eth_sendRawTransaction", "0x" + raw.hex())
            assert client.receipt(sent)["status"] == "0x1"
            set_scripts(client, account, {VALIDATE: _EATS_GAS})
    return _of_accounts(accounts, nonce=1)


def of_one_paymaster(node: RunningNode) -> list[bytes]:
    """Return requests of keys that have signed, whose paymaster uses up its gas."""
    (paymaster,) = _deploy(node, 1, {ASK_PAYMASTER: _EATS_GAS})
    secrets = [keccak256(n.to_bytes(32)) for n in range(1, ACCOUNTS + 1)]
    senders = [Address(address_of(public_key(secret))) for secret in secrets]

    def raw(n: int) -> bytes:
        of = n % ACCOUNTS
        payload = fill(senders[of], gas_limit=_GAS, paymaster=paymaster, data=n.to_bytes(4))
        return sign_transaction(payload, secrets[of]).raw

    return _requests(raw)


def bad_signatures(_node: RunningNode) -> list[bytes]:
    """Return requests that send transactions that nobody has signed."""
    return _requests(lambda n: fill(BOB, custom_signature=_signature(n)).encode())


LATE_FAILURES: Final = {
    "one account": of_one_account,
    "many accounts": of_many_accounts,
    "accounts that have passed": of_accounts_that_have_passed,
    "one paymaster": of_one_paymaster,
}


class Costs(NamedTuple):
    """Microseconds of the node's processor time for a transaction of each flood."""

    late: float
    bad_signature: float


def compare(node: RunningNode, late: Sequence[bytes], seconds: float) -> Costs:
    """Let a flood of late failures take turns with one of bad signatures, and return what each costs."""
    unsigned = bad_signatures(node)
    # The first ones fill the buckets.
    cpu_microseconds(node, late, START_SECONDS)
    window = seconds / WINDOWS
    costs = [
        (cpu_microseconds(node, late, window), cpu_microseconds(node, unsigned, window))
        for _ in range(WINDOWS)
    ]
    return Costs(*map(statistics.mean, zip(*costs, strict=True)))


def cpu_microseconds(node: RunningNode, requests: Sequence[bytes], seconds: float) -> float:
    """Send requests one after the other for some time, and return the processor time for each transaction."""
    sent, start = 0, _cpu_seconds(node)
    end = time.perf_counter() + seconds
    with RawConnection(node.port) as client:
        while time.perf_counter() < end:
            assert client.post(requests[sent % len(requests)]).status == HTTPStatus.OK
            sent += 1
    return (_cpu_seconds(node) - start) / (sent * BATCH) * 1e6


def flood_of(requests: Sequence[bytes]) -> Flood:
    """Return a flood of these requests on some connections."""
    return Flood(b"".join(map(post_request, requests)), connections=4)


def _deploy(node: RunningNode, count: int, scripts: dict[str, Script]) -> list[Address]:
    with closing(HttpRpcClient(node.url)) as client:
        return [deploy_account(client, scripts) for _ in range(count)]


def _of_accounts(accounts: Sequence[Address], nonce: int = 0) -> list[bytes]:
    """Return requests of accounts in turn, with signatures from which a key can be recovered."""
    return _requests(
        lambda n: fill(
            accounts[n % len(accounts)],
            nonce=nonce,
            gas_limit=_GAS,
            custom_signature=_signature(n),
        ).encode()
    )


def _requests(raw: Callable[[int], bytes]) -> list[bytes]:
    """Return batches of transactions, which differ."""
    return [
        json.dumps(
            [
                {
                    "jsonrpc": "2.0",
                    "id": n,
                    "method": "eth_sendRawTransaction",
                    "params": ["0x" + raw(at * BATCH + n).hex()],
                }
                for n in range(BATCH)
            ]
        ).encode()
        for at in range(10)
    ]


def _signature(n: int) -> bytes:
    """Return the signature of something else, so that a key is recovered from it."""
    signature = sign(keccak256(n.to_bytes(32)), b"\x07" * 32)
    return signature[:64] + bytes([27 + signature[64]])


def _cpu_seconds(node: RunningNode) -> float:
    # The clock of a process by its number, as glibc makes it: in nanoseconds, where /proc has ticks of 10 ms.
    return time.clock_gettime((~node.process.pid << 3) | _PROCESS_CLOCK)
