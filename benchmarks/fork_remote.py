"""A remote chain for forks: an anvil with contracts that read and write slots, and forks of it by the node and by anvil."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import msgspec

from benchmarks.servers import Server
from tests.support.anvil import Anvil, running_anvil
from tests.support.evm.assembler import assemble
from tests.support.fork.proxy import FaultyProxy, faulty_proxy
from tests.support.fork.remote_anvil import ANVIL
from tests.support.hex_data import hexed, word
from tests.support.rpc_client import HttpRpcClient

CHAIN_ID: Final = 99
BATCH: Final = 100
PATIENCE_SECONDS: Final = 600.0
SPREAD: Final = 0x9E3779B97F4A7C15
"""What the number of a link is multiplied by, so that slots are not next to each other."""

READER: Final = assemble(
    # Returns the sum of as many slots as the second word says, from the first one on.
    """
    0 0x20 calldataload                         ; left sum
    again: dup1 iszero @end jumpi
    0x01 swap1 sub                              ; left sum
    dup1 0 calldataload add sload               ; value left sum
    swap1 swap2 add swap1                       ; left sum
    @again jump
    end: pop 0 mstore 0x20 0 return
    """
)
FOLLOWER: Final = assemble(
    # Returns where a chain of slots leads, each of which has the number of the next one.
    """
    0 0x20 calldataload                         ; left slot
    again: dup1 iszero @end jumpi
    0x01 swap1 sub swap1 sload swap1            ; left slot
    @again jump
    end: pop 0 mstore 0x20 0 return
    """
)
WRITER: Final = assemble(
    # Counts in as many slots as the second word says, from the first one on.
    """
    0x20 calldataload                           ; left
    again: dup1 iszero @end jumpi
    0x01 swap1 sub                              ; left
    dup1 0 calldataload add                     ; slot left
    dup1 sload 0x01 add swap1 sstore            ; left
    @again jump
    end: stop
    """
)


class Fork(msgspec.Struct, frozen=True):
    """A fork, and the proxy that it reaches its remote through."""

    server: Server
    proxy: FaultyProxy

    def asked(self, work: Callable[[HttpRpcClient], Any]) -> tuple[Any, int, int]:
        """Return what `work` returns, and how many requests and HTTP requests it needed of the remote."""
        self.proxy.forget()
        # A connection that was idle while the other fork was measured may be closed by now.
        self.server.client.close()
        found = work(self.server.client)
        return found, self.proxy.methods.total(), self.proxy.posts


def contract(kind: int, number: int) -> str:
    """Return an address of a contract of a kind."""
    return f"0xc0de{kind:02x}{number:034x}"


def arguments(start: int, count: int) -> str:
    """Return the data of a call to one of the contracts."""
    return hexed(word(start) + word(count))


def link(number: int) -> int:
    """Return the slot that is so far along the chain."""
    return number * SPREAD


@contextmanager
def remote(kinds: Sequence[bytes], copies: int, links: int) -> Iterator[Anvil]:
    """Start a remote with as many copies of each contract, each with a chain of slots."""
    with running_anvil("--chain-id", str(CHAIN_ID)) as node:
        edits: list[tuple[str, Sequence[object]]] = []
        for kind, code in enumerate(kinds):
            for number in range(copies):
                address = contract(kind, number)
                edits.append(("anvil_setCode", (address, hexed(code))))
                edits += (
                    (
                        "anvil_setStorageAt",
                        (address, hex(link(place)), hexed(word(link(place + 1)))),
                    )
                    for place in range(links)
                )
        for first in range(0, len(edits), BATCH):
            node.batch(edits[first : first + BATCH])
        node("anvil_mine", "0x1")
        yield node


def commands(url: str, folder: str) -> tuple[list[str], list[str]]:
    """Return what starts a fork by the node and by anvil; neither has read anything before."""
    shared = ["--fork-url", url]
    # Otherwise anvil counts units of a provider, which the node does not for local addresses.
    theirs = ["--no-rate-limit", "--no-storage-caching"]
    return [*shared, "--fork-cache", folder], [*shared, *theirs]


@contextmanager
def forks(node: Anvil, latency: float, *, is_direct: bool = False) -> Iterator[tuple[Fork, Fork]]:
    """Start a fork of a remote by the node and one by anvil, each behind a slow network of its own unless it is direct."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        started = []
        for at, (name, program) in enumerate((("node", ANVIL), ("anvil", None))):
            proxy = stack.enter_context(faulty_proxy(node.url))
            proxy.latency = latency
            flags = commands(node.url if is_direct else proxy.url, folder)[at]
            fork = stack.enter_context(running_anvil(*flags, program=program))
            client = HttpRpcClient(fork.url, PATIENCE_SECONDS)
            stack.callback(client.close)
            started.append(Fork(Server(name, client, fork.pid), proxy))
        ours, theirs = started
        yield ours, theirs
