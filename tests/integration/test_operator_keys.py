"""Keys of their own for commit, prove and execute, with a real anvil as L1: who sends what, and who is missing."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from entresol.chain.genesis.accounts import DevAccount
from entresol.primitives.values import Hash32
from tests.support.anvil import Anvil
from tests.support.inprocess_node import inprocess_node, run_command
from tests.support.node_process import DEVELOPMENT_FLAGS
from tests.support.polling import eventually
from tests.support.rollup.layer_ones import ACCOUNTS
from tests.support.rollup.pair import ETHER, Pair
from tests.support.rpc_client import get, health_of

pytestmark = [pytest.mark.slow, pytest.mark.peer]

COMMITTER = ACCOUNTS[1]
PROVER, EXECUTOR = (DevAccount.from_secret(Hash32(os.urandom(32))) for _ in range(2))
SELECTORS = {
    "0x0db9eb87": COMMITTER,
    "0x9271e450": PROVER,
    "0xa085344d": EXECUTOR,
}
"""The functions of the timelock that commit, prove and execute."""


@pytest.fixture(autouse=True)
def funds(anvil: Anvil) -> None:
    for account in (PROVER, EXECUTOR):
        anvil("anvil_setBalance", str(account.address), hex(ETHER))


def key_file(path: Path, account: DevAccount) -> str:
    file = path / f"{account.address}.key"
    file.write_text(str(account.secret))
    file.chmod(0o600)
    return str(file)


def flags(anvil: Anvil, path: Path) -> list[str]:
    return [
        *("--l1-url", anvil.url, "--deploy-l1", "--l1-confirmations", "0", *DEVELOPMENT_FLAGS),
        *("--operator-key-file", key_file(path, COMMITTER)),
        *("--prove-key-file", key_file(path, PROVER)),
        *("--execute-key-file", key_file(path, EXECUTOR)),
    ]


def settlement_transactions(anvil: Anvil) -> list[tuple[str, str]]:
    """Return the selector and the sender of each transaction that settled something."""
    head = int(anvil("eth_blockNumber"), 16)
    blocks = [anvil("eth_getBlockByNumber", hex(number), True) for number in range(head + 1)]
    found = [
        (transaction["input"][:10], transaction["from"])
        for block in blocks
        for transaction in block["transactions"]
    ]
    return [entry for entry in found if entry[0] in SELECTORS]


def balances(url: str) -> dict[str, tuple[str, int]]:
    """Return the account and the balance of each step, as the metrics have them."""
    found = re.findall(
        r'^entresol_operator_balance_wei{step="(\w+)",address="(\w+)"} (\d+)$',
        get(f"{url}/metrics").decode(),
        re.MULTILINE,
    )
    return {step: (address, int(wei)) for step, address, wei in found}


def test_each_step_is_sent_by_its_key_and_each_balance_is_in_the_metrics(
    anvil: Anvil, tmp_path: Path
) -> None:
    info = tmp_path / "info.json"
    started = (*flags(anvil, tmp_path), "--config-out", str(info), "--log-level", "debug")
    with inprocess_node(*started, info=info) as node:
        pair = Pair.connect(info)
        for amount in range(1, 4):
            assert pair.proven(pair.withdraw(amount))
        pair.settled()
        sent = settlement_transactions(anvil)
        assert {transaction[0] for transaction in sent} == SELECTORS.keys()
        assert all(sender == str(SELECTORS[selector].address) for selector, sender in sent)
        eventually(lambda: len(balances(node.url)) == 3)
        accounts = {step: address for step, (address, _) in balances(node.url).items()}
        assert accounts == {
            "commit": COMMITTER.address.checksummed(),
            "prove": PROVER.address.checksummed(),
            "execute": EXECUTOR.address.checksummed(),
        }
        warned = [line for line in node.printed().splitlines() if "is publicly known" in line]
        assert len(warned) == 1
        assert "the key of the operator that commits is publicly known" in warned[0]
        printed = node.printed() + get(f"{node.url}/metrics").decode() + info.read_text()
        assert not any(account.secret.hex() in printed for account in (PROVER, EXECUTOR))
        pair.close()
        assert node.stop() == 0


def test_a_key_without_ether_does_not_stop_the_others(anvil: Anvil, tmp_path: Path) -> None:
    info = tmp_path / "info.json"
    anvil("anvil_setBalance", str(EXECUTOR.address), "0x0")
    with inprocess_node(*flags(anvil, tmp_path), "--config-out", str(info), info=info) as node:
        pair = Pair.connect(info)
        sent = [pair.withdraw(amount) for amount in range(1, 4)]
        eventually(lambda: pair.totals()[1] == int(pair.l2("zks_L1BatchNumber"), 16) > 0)
        assert pair.totals()[2] == 0
        name = f"the operator that executes, {EXECUTOR.address.checksummed()}, has "
        eventually(lambda: name in (health_of(node.url)[1]["operator"] or ""))
        eventually(lambda: name in (health_of(node.url)[1]["settlement"] or ""))
        anvil("anvil_setBalance", str(EXECUTOR.address), hex(ETHER))
        assert all(pair.proven(transaction) for transaction in sent)
        eventually(lambda: health_of(node.url)[1]["settlement"] is None)
        pair.close()
        assert node.stop() == 0


def test_a_key_that_is_no_validator_is_named_until_the_admin_adds_it(
    anvil: Anvil, tmp_path: Path
) -> None:
    directory = ("--data-dir", str(tmp_path / "chain"))
    base = (*directory, "--l1-url", anvil.url, "--operator-key-file", key_file(tmp_path, COMMITTER))
    with inprocess_node(*base, "--deploy-l1"):
        pass
    prover = (*base, "--prove-key-file", key_file(tmp_path, PROVER))
    ended = run_command(*prover, "--port", "0")
    assert ended.returncode == 1
    assert f"{PROVER.address.checksummed()}, the account of --prove-key, may not" in ended.stderr
    assert "Traceback" not in ended.stderr
    with inprocess_node(*prover, "--deploy-l1") as node:
        assert "let the operator that proves, " in node.output
    with inprocess_node(*prover):
        pass
