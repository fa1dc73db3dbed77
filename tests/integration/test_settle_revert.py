"""Batches that an operator reverts on L1 by `entresol settle revert`: the node follows, and settles its own again."""

from __future__ import annotations

from pathlib import Path

import pytest

from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from entresol.node.opening.development_keys import OPERATOR
from entresol.terminal.exit_codes import FAILED, SUCCEEDED, USAGE_ERROR
from tests.support.anvil import fresh_anvil
from tests.support.inprocess_node import run_command
from tests.support.node_process import DEVELOPMENT_FLAGS
from tests.support.polling import eventually
from tests.support.rollup.pair import Pair, operating
from tests.support.rpc_client import HttpRpcClient

REMOTE_OPERATOR, STRANGER = derive(DEVELOPMENT_MNEMONIC, 3)[0::2]


def settle_some(pair: Pair) -> None:
    """Commit three batches, prove two of them, and execute one."""
    for number in (1, 2, 3):
        pair.l2.receipt(pair.withdraw(number))
        pair.l2("anvil_zks_commitBatch", number)
    for number in (1, 2):
        pair.l2("anvil_zks_proveBatch", number)
    pair.l2("anvil_zks_executeBatch", 1)
    assert pair.totals() == (3, 2, 1)


def reverted(l1_url: str, *flags: str) -> str:
    """Revert, and return what the command has printed."""
    ran = run_command("settle", "revert", "--l1-url", l1_url, *flags)
    assert ran.returncode == SUCCEEDED, ran.stderr
    return ran.stdout


def rejected(l1_url: str, code: int, *flags: str) -> str:
    """Fail to revert, and return why."""
    ran = run_command("settle", "revert", "--l1-url", l1_url, *flags)
    assert ran.returncode == code, ran.stdout
    return ran.stderr


def test_batches_on_an_embedded_l1_are_reverted_beside_the_node_that_settles_them(
    tmp_path: Path,
) -> None:
    with operating(tmp_path / "info.json", "--no-settle") as pair:
        settle_some(pair)
        assert isinstance(pair.l1, HttpRpcClient)
        url, hub = pair.l1.url, ("--bridgehub", str(pair.bridgehub.address))
        key = ("--operator-key", str(OPERATOR.secret))
        before = pair.l2("zks_getL1BatchDetails", 2)["commitTxHash"]
        assert "--to" in rejected(url, USAGE_ERROR, *hub, *key)
        assert "--bridgehub" in rejected(url, USAGE_ERROR, *key, "--to", "1")
        assert "--operator-key-file" in rejected(url, USAGE_ERROR, *hub, "--to", "1")
        assert "has executed batch 1" in rejected(url, FAILED, *hub, *key, "--to", "0")
        assert "has 3 batches, so there is none after it" in rejected(
            *(url, FAILED, *hub, *key), *("--to", "3")
        )
        strange = ("--operator-key", str(STRANGER.secret))
        assert "it is not a validator" in rejected(url, FAILED, *hub, *strange, "--to", "1")
        assert pair.totals() == (3, 2, 1)

        printed = reverted(url, *hub, *key, "--to", "1")
        assert "chain 270: batches 2 to 3 reverted, of which batch 2 had a proof, by 0x" in printed
        assert pair.totals() == (1, 1, 1)
        for number in (2, 3):
            pair.l2("anvil_zks_commitBatch", number)
        assert pair.totals() == (3, 1, 1)
        assert pair.l2("zks_getL1BatchDetails", 2)["commitTxHash"] not in (before, None)


@pytest.mark.peer
def test_a_node_settles_again_what_was_reverted_on_anvil_while_it_was_stopped(
    tmp_path: Path,
) -> None:
    info, data = tmp_path / "info.json", ("--data-dir", str(tmp_path / "data"))
    key = ("--operator-key", str(REMOTE_OPERATOR.secret))
    with fresh_anvil() as anvil:
        remote = ("--l1-url", anvil.url, *key, "--l1-confirmations", "0", *DEVELOPMENT_FLAGS)
        with operating(info, "--deploy-l1", "--no-settle", *remote, *data) as pair:
            pair.gas_on_l1 = 3_000_000
            settle_some(pair)
        # The directory names the contracts.
        printed = reverted(anvil.url, *data, *key, "--to", "2")
        assert "chain 270: batch 3 reverted, by 0x" in printed
        with operating(info, *remote, *data) as pair:
            eventually(lambda: pair.totals() == (3, 3, 3))
