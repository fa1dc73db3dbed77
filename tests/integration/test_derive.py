"""A chain that is derived from L1 by `entresol derive`, beside the operator's: the same in every response, and continued."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from entresol.cli.exit_codes import FAILED, SUCCEEDED, USAGE_ERROR
from entresol.counted import batches as batches_of
from entresol.node.opening.development_keys import OPERATOR
from entresol.node.settlement.manifest import MANIFEST_FILE
from entresol.primitives.values import Address
from tests.support.anvil import running_anvil
from tests.support.chain.every_read import FEW_TRACERS, reads_of_block
from tests.support.node_process import DEVELOPMENT_FLAGS, ENTRESOL, run_entresol, running_node
from tests.support.polling import eventually
from tests.support.rollup.pair import ETHER, RECEIVER, USER, Pair
from tests.support.rpc_client import HttpRpcClient, RpcClient

REMOTE_OPERATOR = derive(DEVELOPMENT_MNEMONIC, 1)[0]
STRANGER = Address(b"\x5f" * 20)


def seal_some_of_everything(pair: Pair) -> None:
    """Let the chain have deposits, messages, withdrawals, contracts, edits, impersonation and empty blocks."""
    l2 = pair.l2
    deposits = [pair.deposit(ETHER), pair.deposit(5, to=Address(b"\x60" * 20))]
    for deposit in deposits:
        pair.arrived(deposit)
    l2("anvil_setBalance", str(STRANGER), hex(ETHER))
    l2("anvil_impersonateAccount", str(STRANGER))
    l2("eth_sendTransaction", {"from": str(STRANGER), "to": str(RECEIVER), "value": "0x1"})
    l2("anvil_mine", "0x5", "0x3")
    l2("anvil_setNextBlockBaseFeePerGas", hex(10**9))
    l2("anvil_setCoinbase", str(RECEIVER))
    pair.withdraw(7)
    pair.send_message(b"derived")
    pair.settled()


def reads(l2: RpcClient) -> Iterator[tuple[str, Sequence[object]]]:
    """Yield calls of everything that a chain says of its blocks, transactions and batches."""
    head = int(l2("eth_blockNumber"), 16)
    for number in range(head + 1):
        block = l2("eth_getBlockByNumber", hex(number), False)
        if number:
            yield from reads_of_block(block, FEW_TRACERS[:1])
        for account in (USER, RECEIVER, STRANGER):
            yield "eth_getProof", [str(account), ["0x0"], hex(number)]
        for transaction in block["transactions"]:
            for name in (
                "eth_getTransactionByHash",
                "eth_getTransactionReceipt",
                "zks_getTransactionDetails",
            ):
                yield name, [transaction]
            for index in range(len(l2.receipt(transaction)["l2ToL1Logs"])):
                yield "zks_getL2ToL1LogProof", [transaction, index]
    # No block has the prices of the genesis, so a node shows those of now.
    for batch in range(1, int(l2("zks_L1BatchNumber"), 16) + 1):
        yield "zks_getL1BatchDetails", [batch]
        yield "zks_getL1BatchBlockRange", [batch]
    yield "eth_getLogs", [{"fromBlock": "0x0", "toBlock": "latest"}]
    for tag in ("latest", "safe", "finalized"):
        yield "eth_getBlockByNumber", [tag, True]


def same(derived: RpcClient, operated: RpcClient) -> int:
    """Compare every response of two nodes, and return how many there were."""
    count = 0
    for method, parameters in reads(operated):
        found, expected = (it(method, *parameters) for it in (derived, operated))
        assert found == expected, (method, parameters)
        count += 1
    return count


def derived_from(l1_url: str, pair: Pair, directory: Path, *flags: str) -> str:
    """Derive the chain of a pair, and return what the command has printed."""
    ran = run_entresol(
        *("derive", "--l1-url", l1_url, "--bridgehub", str(pair.bridgehub.address)),
        *("--data-dir", str(directory), *flags),
    )
    assert ran.returncode == SUCCEEDED, ran.stderr
    return ran.stdout


def continues(pair: Pair, derived: RpcClient, before: int) -> None:
    """Let a node on a derived directory seal a block, and settle it."""
    sent = {"from": str(USER), "to": str(RECEIVER), "value": "0x9"}
    derived.receipt(derived("eth_sendTransaction", sent))
    eventually(lambda: pair.totals() == (before + 1,) * 3)


def l1_url_of(pair: Pair) -> str:
    assert isinstance(pair.l1, HttpRpcClient)
    return pair.l1.url


@contextlib.contextmanager
def operating(info: Path, *flags: str) -> Iterator[Pair]:
    """Start the node of an operator."""
    with running_node("--config-out", str(info), *flags, info=info):
        pair = Pair.connect(info)
        try:
            yield pair
        finally:
            pair.close()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "derived"


def test_a_chain_of_an_embedded_l1_is_derived_and_continued(
    tmp_path: Path, directory: Path
) -> None:
    info = tmp_path / "info.json"
    flags = ("--data-availability", "calldata", "--data-dir", str(tmp_path / "operated"))
    with operating(info, *flags) as pair:
        seal_some_of_everything(pair)
        batches = pair.totals()[0]
        l1_url = l1_url_of(pair)
        assert f"{batches_of(batches)} derived" in derived_from(l1_url, pair, directory)
        assert "0 batches derived" in derived_from(l1_url, pair, directory)
        remote = ("--l1-url", l1_url, "--operator-key", str(OPERATOR.secret))
        confirmed = ("--l1-confirmations", "0")
        opened = ("--data-dir", str(directory), *remote, *confirmed, *DEVELOPMENT_FLAGS)
        with running_node(*opened) as node:
            l2 = HttpRpcClient(node.url)
            assert same(l2, pair.l2) > 100
            continues(pair, l2, batches)
            l2.close()
        ran = run_entresol("derive", "--l1-url", l1_url, "--data-dir", str(directory))
        assert ran.returncode == USAGE_ERROR
        assert "a node has created or continued it" in ran.stderr


@pytest.mark.peer
def test_a_chain_on_anvil_is_derived_also_after_a_reorg_and_continued(
    tmp_path: Path, directory: Path
) -> None:
    info = tmp_path / "info.json"
    with running_anvil() as anvil:
        key = ("--operator-key", str(REMOTE_OPERATOR.secret))
        remote = ("--l1-url", anvil.url, *key, "--l1-confirmations", "0", *DEVELOPMENT_FLAGS)
        operated = ("--data-dir", str(tmp_path / "operated"))
        flags = ("--data-availability", "calldata", "--deploy-l1", *remote, *operated)
        with operating(info, *flags) as pair:
            pair.gas_on_l1 = 3_000_000
            seal_some_of_everything(pair)
            before = anvil("evm_snapshot")
            pair.send_message(b"committed twice")
            pair.settled()
            batches = pair.totals()[0]
            assert f"{batches_of(batches)} derived" in derived_from(anvil.url, pair, directory)
            # A reorg: the operator commits the last batch again, in another block.
            anvil("evm_revert", before)
            anvil("anvil_mine")
            eventually(lambda: pair.totals() == (batches,) * 3)
            printed = derived_from(anvil.url, pair, directory)
            assert "1 batch derived" in printed
            assert "1 batch was removed" in printed
            with running_node("--data-dir", str(directory), *remote) as node:
                l2 = HttpRpcClient(node.url)
                assert same(l2, pair.l2) > 100
                continues(pair, l2, batches)
                l2.close()


def test_each_of_several_chains_is_derived_also_if_it_is_killed(tmp_path: Path) -> None:
    info = tmp_path / "info.json"
    flags = ("--chains", "270,271", "--data-availability", "calldata")
    with running_node("--config-out", str(info), *flags, info=info):
        pairs = Pair.connect_all(info)
        for index, pair in enumerate(pairs):
            for value in range(1, 3 + index):
                pair.l2.receipt(pair.withdraw(value))
                pair.settled()
        l1_url, hub = l1_url_of(pairs[0]), str(pairs[0].bridgehub.address)
        common = ("derive", "--l1-url", l1_url, "--bridgehub", hub, "--data-dir")
        unnamed = run_entresol(*common, str(tmp_path / "none"))
        assert unnamed.returncode == FAILED
        assert "has the chains 270, 271: say which one by --chain-id" in unnamed.stderr
        for pair in pairs:
            directory = str(tmp_path / str(pair.chain_id))
            command = (*common, directory, "--chain-id", str(pair.chain_id))
            if pair is pairs[-1]:
                kill_while_it_runs(command, Path(directory))
            ran = run_entresol(*command)
            assert ran.returncode == SUCCEEDED, ran.stderr
            last = pair.l2("eth_getBlockByNumber", hex(pair.number_of("finalized")), False)
            assert last["hash"] in ran.stdout
            pair.close()


def kill_while_it_runs(command: Sequence[str], directory: Path) -> None:
    """Start a derivation, and kill it once it has begun to write."""
    process = subprocess.Popen([*ENTRESOL, *command], stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: (directory / MANIFEST_FILE).exists() or process.poll() is not None)
    finally:
        process.kill()
        process.wait()
