"""Edits of which L1 has only the hash: derivation stops there by name, or fetches them from the operator."""

from __future__ import annotations

from pathlib import Path

from entresol.cli.exit_codes import ALARM, SUCCEEDED, USAGE_ERROR
from tests.support.node_process import run_entresol, running_node
from tests.support.rollup.pair import RECEIVER, Pair
from tests.support.rpc_client import HttpRpcClient, RpcClient

CODES = 70
CODE_BYTES = 24_000


def url_of(client: RpcClient) -> str:
    assert isinstance(client, HttpRpcClient)
    return client.url


def test_edits_larger_than_a_batch_are_fetched_from_the_operator(tmp_path: Path) -> None:
    info, derived = tmp_path / "info.json", str(tmp_path / "derived")
    flags = ("--data-availability", "calldata", "--config-out", str(info))
    with running_node(*flags, info=info):
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
        pieces = [pair.l2("entresol_getEdits", "0x2", hex(it << 20)) for it in range(3)]
        assert [len(piece) > 2 for piece in pieces] == [True, True, False]
        assert pair.l2("entresol_getEdits", "0x1", "0x0") is None

        l1 = ("--l1-url", url_of(pair.l1), "--bridgehub", str(pair.bridgehub.address))
        command = ("derive", *l1, "--data-dir", derived)
        ran = run_entresol(*command)
        assert ran.returncode == ALARM
        assert "from block 2 on L1 is not enough" in ran.stderr
        ran = run_entresol(*command, "--edits-from", "operator")
        assert ran.returncode == USAGE_ERROR
        # The L1 is a node that has other things.
        ran = run_entresol(*command, "--edits-from", url_of(pair.l1))
        assert "the edits of block 2 are not at http://" in ran.stderr
        ran = run_entresol(*command, "--edits-from", url_of(pair.l2))
        assert ran.returncode == SUCCEEDED, ran.stderr
        head = pair.l2("eth_getBlockByNumber", "latest", False)
        assert head["hash"] in ran.stdout
        pair.close()
