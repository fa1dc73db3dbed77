"""A batch that L1 has executed and that nobody can derive: an alarm, and then a snapshot with which derivation goes on."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from entresol.cli.exit_codes import ALARM, FAILED, SUCCEEDED, USAGE_ERROR
from entresol.node.opening.development_keys import OPERATOR
from entresol.rollup.data_availability import calldata_commitment
from entresol.storage import tables
from entresol.storage.store import Store
from tests.support.derivation.operated_pair import operating
from tests.support.node_process import DEVELOPMENT_FLAGS, run_entresol, running_node
from tests.support.polling import eventually
from tests.support.rollup.pair import ETHER, Pair
from tests.support.rpc_client import HttpRpcClient, RpcClient, RpcError, get

GARBAGE = b"\x01this is no batch"


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


def url_of(client: RpcClient) -> str:
    assert isinstance(client, HttpRpcClient)
    return client.url


def test_a_batch_that_raises_an_alarm_is_accepted_from_a_backup_of_its_operator(
    tmp_path: Path,
) -> None:
    info, operated, derived = (tmp_path / it for it in ("info.json", "operated", "derived"))
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
        ran = run_entresol("backup", "--data-dir", str(operated), str(snapshot))
        assert ran.returncode == SUCCEEDED, ran.stderr
        l1_url = url_of(pair.l1)
        l1 = ("--l1-url", l1_url, "--bridgehub", str(pair.bridgehub.address))
        command = ("derive", *l1, "--data-dir", str(derived))

        ran = run_entresol(*command)
        assert ran.returncode == ALARM
        assert "batch 2" in ran.stderr
        remote = ("--l1-url", l1_url, "--operator-key", str(OPERATOR.secret))
        opened = ("--data-dir", str(derived), *remote, "--l1-confirmations", "0")
        # A start that fails leaves it as it is.
        ran = run_entresol(*opened, *DEVELOPMENT_FLAGS, "--port", "0")
        assert ran.returncode == FAILED
        assert "was derived up to batch 1: batch 2, " in ran.stderr
        for flag in (("--accept-from", "2"), ("--snapshot", str(snapshot))):
            assert run_entresol(*command, *flag).returncode == USAGE_ERROR
        missing = ("--accept-from", "2", "--snapshot", str(tmp_path / "missing"))
        assert run_entresol(*command, *missing).returncode == USAGE_ERROR
        in_use = run_entresol(*command, "--accept-from", "2", "--snapshot", str(operated))
        assert in_use.returncode == FAILED, in_use.stderr

        ran = run_entresol(*command, "--accept-from", "2", "--snapshot", str(snapshot))
        assert ran.returncode == SUCCEEDED, ran.stderr
        said = f"batch 2, blocks 2 to 2, was accepted from {snapshot}, since L1 has executed it"
        assert f"WARNING: {said}" in ran.stdout
        assert f"WARNING: {said}" in run_entresol(*command).stdout
        with running_node(*opened, *DEVELOPMENT_FLAGS) as node:
            l2 = HttpRpcClient(node.url)
            assert str(derivation_of(l2.url)).startswith(said)
            latest = "eth_getBlockByNumber", "latest", True
            assert l2(*latest) == pair.l2(*latest)
            l2.close()
