"""Directories, backups and state files of two chains with bundles on their way: nothing is lost, nothing is done twice."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from entresol._native import keccak256
from tests.support.ecosystem.bundles import (
    MESSAGE_ROOT,
    execute,
    has_root,
    imported_blocks,
    imports_of,
    proof_of,
    send_value,
)
from tests.support.inprocess_node import InprocessNode, inprocess_node, run_command
from tests.support.polling import eventually
from tests.support.rollup.pair import RECEIVER, Pair
from tests.support.rpc_client import RpcError

CHAINS = ("--chains", "2")
PROCESSED = keccak256(b"BundleAlreadyProcessed(bytes32)")[:4]
FAST = ("--settle-interval", "0.05", "--l1-delay", "0")


class Stored(NamedTuple):
    """Files that a node has left behind, with bundles that are executed, ready, and just sent."""

    directory: Path
    backup: Path
    state: str
    executed: str
    ready: str
    fresh: str
    proof: dict[str, Any]
    imports: list[dict[str, Any]]
    """Imports of the destination when the backup was made."""


@contextlib.contextmanager
def opened(
    directory: Path | None, folder: Path, *flags: str
) -> Iterator[tuple[InprocessNode, list[Pair]]]:
    info = folder / "info.json"
    info.unlink(missing_ok=True)
    stored = () if directory is None else ("--data-dir", str(directory))
    given = (*CHAINS, *FAST, *stored, "--config-out", str(info), *flags)
    with inprocess_node(*given, info=info) as node, contextlib.ExitStack() as stack:
        eventually(info.exists)
        pairs = [stack.enter_context(contextlib.closing(pair)) for pair in Pair.connect_all(info)]
        yield node, pairs


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    folder = tmp_path_factory.mktemp("stored")
    directory, backup = folder / "chains", folder / "backup"
    with opened(directory, folder) as (node, (source, destination)):
        executed, ready = (send_value(source, destination, number) for number in (1, 2))
        assert destination.l2.receipt(execute(destination, source, executed))["status"] == "0x1"
        proof = proof_of(source, ready)
        eventually(lambda: has_root(destination, proof))
        # From here on L1 takes nothing until a block is asked for.
        source.l1("evm_setAutomine", False)
        fresh = send_value(source, destination, 4)
        imports = imports_of(destination)
        done = run_command("backup", "--data-dir", str(directory), str(backup))
        assert done.returncode == 0, done.stderr
        state = source.l2("anvil_dumpState")
        assert node.stop() == 0
    return Stored(directory, backup, state, executed, ready, fresh, proof, imports)


def check_completed(stored: Stored, pairs: list[Pair]) -> None:
    """Execute what is open, and check that each amount arrives once."""
    source, destination = pairs
    assert imports_of(destination)[: len(stored.imports)] == stored.imports
    asked = ("zks_getL2ToL1LogProof", stored.ready, 0, MESSAGE_ROOT)
    assert source.l2(*asked) == stored.proof
    for sent in (stored.ready, stored.fresh):
        assert destination.l2.receipt(execute(destination, source, sent))["status"] == "0x1"
    with pytest.raises(RpcError, match=PROCESSED.hex()):
        execute(destination, source, stored.executed)
    assert int(destination.l2("eth_getBalance", str(RECEIVER), "latest"), 16) == 1 + 2 + 4
    blocks = imported_blocks(destination)
    assert blocks == sorted(set(blocks))
    back = send_value(destination, source, 1)
    assert source.l2.receipt(execute(source, destination, back))["status"] == "0x1"


def test_a_backup_with_imports_is_verified_rebuilt_and_goes_on(
    stored: Stored, tmp_path: Path
) -> None:
    for command in ("verify", "rebuild", "verify"):
        done = run_command(command, *CHAINS, "--data-dir", str(stored.backup))
        assert done.returncode == 0, done.stderr
    with opened(stored.backup, tmp_path) as (_, pairs):
        check_completed(stored, pairs)


def test_a_restart_executes_what_was_on_its_way(stored: Stored, tmp_path: Path) -> None:
    with opened(stored.directory, tmp_path) as (node, pairs):
        check_completed(stored, pairs)
        assert node.stop() == 0
    done = run_command("verify", *CHAINS, "--data-dir", str(stored.directory))
    assert done.returncode == 0, done.stderr


def test_one_state_file_has_all_chains_with_their_bundles(stored: Stored, tmp_path: Path) -> None:
    with opened(None, tmp_path) as (_, pairs):
        # What is open here is replaced.
        send_value(pairs[0], pairs[1], 9)
        assert pairs[1].l2("anvil_loadState", stored.state) is True
        check_completed(stored, pairs)
