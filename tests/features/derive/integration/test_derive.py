"""A chain that is derived from L1 by `entresol derive`, beside the operator's: alike, continued, or stopped by name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from entresol.counted import batches as batches_of
from entresol.node.opening.development_keys import OPERATOR
from entresol.primitives.values import Address
from entresol.rollup.commitments import calldata_commitment
from entresol.storage import tables
from entresol.storage.store import Store
from entresol.terminal.exit_codes import ALARM, FAILED, SUCCEEDED, USAGE_ERROR
from tests.support.anvil import fresh_anvil
from tests.support.chain.every_read import FEW_TRACERS, reads_of_block
from tests.support.inprocess_node import inprocess_node, run_command
from tests.support.node_process import DEVELOPMENT_FLAGS
from tests.support.polling import eventually
from tests.support.rollup.pair import ETHER, RECEIVER, USER, Pair, operating
from tests.support.rpc_client import HttpRpcClient, RpcClient, RpcError, get

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
        found, expected = (node(method, *parameters) for node in (derived, operated))
        assert found == expected, (method, parameters)
        count += 1
    return count


def derived_from(l1_url: str, pair: Pair, directory: Path, *flags: str) -> str:
    """Derive the chain of a pair, and return what the command has printed."""
    ran = run_command(
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


def url_of(client: RpcClient) -> str:
    assert isinstance(client, HttpRpcClient)
    return client.url


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "derived"


@pytest.mark.peer
def test_a_chain_on_anvil_is_derived_also_after_a_reorg_and_continued(
    tmp_path: Path, directory: Path
) -> None:
    info = tmp_path / "info.json"
    with fresh_anvil() as anvil:
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
            assert "0 batches derived" in derived_from(anvil.url, pair, directory)
            # A reorg: the operator commits the last batch again, in another block.
            anvil("evm_revert", before)
            anvil("anvil_mine")
            eventually(lambda: pair.totals() == (batches,) * 3)
            printed = derived_from(anvil.url, pair, directory)
            assert "1 batch derived" in printed
            assert "1 batch was removed" in printed
            with inprocess_node("--data-dir", str(directory), *remote) as node:
                l2 = HttpRpcClient(node.url)
                assert same(l2, pair.l2) > 100
                continues(pair, l2, batches)
                l2.close()
            ran = run_command("derive", "--l1-url", anvil.url, "--data-dir", str(directory))
            assert ran.returncode == USAGE_ERROR
            assert "a node has created or continued it" in ran.stderr


CODES = 70
CODE_BYTES = 24_000


def test_edits_larger_than_a_batch_are_fetched_from_the_operator(tmp_path: Path) -> None:
    info, derived = tmp_path / "info.json", str(tmp_path / "derived")
    flags = ("--data-availability", "calldata", "--config-out", str(info))
    with inprocess_node(*flags, info=info):
        pair = Pair.connect(info)
        pair.l2.receipt(pair.withdraw(1))
        for number in range(CODES):
            code = bytes((number,)) * CODE_BYTES
            pair.l2("anvil_setCode", f"0x{number + 1:040x}", f"0x{code.hex()}")
        pair.l2.receipt(pair.withdraw(2))
        pair.l2("anvil_setBalance", str(RECEIVER), "0x5")
        pair.l2.receipt(pair.withdraw(3))
        pair.settled()
        # Two pieces, and nothing after them.
        pieces = [pair.l2("entresol_getEdits", "0x2", hex(number << 20)) for number in range(3)]
        assert [len(piece) > 2 for piece in pieces] == [True, True, False]
        assert pair.l2("entresol_getEdits", "0x1", "0x0") is None

        l1 = ("--l1-url", url_of(pair.l1), "--bridgehub", str(pair.bridgehub.address))
        command = ("derive", *l1, "--data-dir", derived)
        ran = run_command(*command)
        assert ran.returncode == ALARM
        assert "from block 2 on L1 is not enough" in ran.stderr
        ran = run_command(*command, "--edits-from", "operator")
        assert ran.returncode == USAGE_ERROR
        # The L1 is a node that has other things.
        ran = run_command(*command, "--edits-from", url_of(pair.l1))
        assert "the edits of block 2 are not at http://" in ran.stderr
        ran = run_command(*command, "--edits-from", url_of(pair.l2))
        assert ran.returncode == SUCCEEDED, ran.stderr
        head = pair.l2("eth_getBlockByNumber", "latest", False)
        assert head["hash"] in ran.stdout
        pair.close()


GARBAGE = b"\x01this is not a batch"


def seal_batch_2(pair: Pair) -> None:
    """Seal a batch that cannot be committed, since its operator cannot pay."""
    operator = str(OPERATOR.address)
    pair.l1("anvil_setBalance", operator, "0x0")
    pair.l2.receipt(pair.withdraw(2))
    with pytest.raises(RpcError, match="has 0 ether on L1"):
        pair.l2("anvil_zks_commitBatch", 2)
    pair.l1("anvil_setBalance", operator, hex(100 * ETHER))


def falsify(directory: Path) -> None:
    """Replace what batch 2 publishes; everything else of it is right."""
    store = Store.open(directory)
    batch = store.batches.get(2)
    assert batch is not None
    lie = msgspec.structs.replace(
        batch, data_commitment=bytes(calldata_commitment(GARBAGE)), data_size=len(GARBAGE)
    )
    key = tables.number(2)
    store._db.write([(tables.BATCH + key, lie.encode()), (tables.BATCH_DATA + key, GARBAGE)])
    store.close()


def derivation_of(url: str) -> str | None:
    found: str | None = json.loads(get(f"{url}/health"))["derivation"]
    return found


def test_a_batch_that_raises_an_alarm_is_accepted_from_a_backup_of_its_operator(
    tmp_path: Path,
) -> None:
    info, operated, derived = (tmp_path / name for name in ("info.json", "operated", "derived"))
    flags = ("--data-availability", "calldata", "--data-dir", str(operated))
    with operating(info, "--no-settle", *flags) as pair:
        pair.l2.receipt(pair.withdraw(1))
        pair.l2("anvil_zks_commitBatch", 1)
        seal_batch_2(pair)
    falsify(operated)
    with operating(info, *flags) as pair:
        pair.l2.receipt(pair.withdraw(3))
        eventually(lambda: pair.totals() == (3, 3, 3))
        assert derivation_of(url_of(pair.l2)) is None
        snapshot = tmp_path / "snapshot"
        ran = run_command("backup", "--data-dir", str(operated), str(snapshot))
        assert ran.returncode == SUCCEEDED, ran.stderr
        l1_url = url_of(pair.l1)
        l1 = ("--l1-url", l1_url, "--bridgehub", str(pair.bridgehub.address))
        command = ("derive", *l1, "--data-dir", str(derived))

        ran = run_command(*command)
        assert ran.returncode == ALARM
        assert "batch 2" in ran.stderr
        remote = ("--l1-url", l1_url, "--operator-key", str(OPERATOR.secret))
        opened = ("--data-dir", str(derived), *remote, "--l1-confirmations", "0")
        # A start that fails leaves it as it is.
        ran = run_command(*opened, *DEVELOPMENT_FLAGS, "--port", "0")
        assert ran.returncode == FAILED
        assert "was derived up to batch 1: batch 2, " in ran.stderr
        for flag in (("--accept-from", "2"), ("--snapshot", str(snapshot))):
            assert run_command(*command, *flag).returncode == USAGE_ERROR
        missing = ("--accept-from", "2", "--snapshot", str(tmp_path / "missing"))
        assert run_command(*command, *missing).returncode == USAGE_ERROR
        in_use = run_command(*command, "--accept-from", "2", "--snapshot", str(operated))
        assert in_use.returncode == FAILED, in_use.stderr

        ran = run_command(*command, "--accept-from", "2", "--snapshot", str(snapshot))
        assert ran.returncode == SUCCEEDED, ran.stderr
        said = f"batch 2, blocks 2 to 2, was accepted from {snapshot}, since L1 has executed it"
        assert f"WARNING: {said}" in ran.stdout
        assert f"WARNING: {said}" in run_command(*command).stdout
        with inprocess_node(*opened, *DEVELOPMENT_FLAGS) as node:
            l2 = HttpRpcClient(node.url)
            assert str(derivation_of(l2.url)).startswith(said)
            latest = "eth_getBlockByNumber", "latest", True
            assert l2(*latest) == pair.l2(*latest)
            l2.close()
