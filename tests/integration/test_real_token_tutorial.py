"""The tutorial of tests against a real token: its commands print what it shows, and the last ones ask nobody."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from entresol.contracts import artifact
from tests.support.anvil import Anvil, running_anvil
from tests.support.clients.tools import ROOT, PytestRuns
from tests.support.docs.pages import Block, blocks_of
from tests.support.polling import PATIENCE_SECONDS

pytestmark = [pytest.mark.clients, pytest.mark.slow]

PAGE: Final = "docs/tutorials/real-token.md"
URL: Final = "https://rpc.example/v2/KEY"
BLOCK: Final = 19_000_000
USDC: Final = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
HOLDER: Final = "0x28C6c06298d514Db089934071355E5743bf21d60"
MINTED: Final = 10**12
VARYING: Final = re.compile(r"0x[0-9a-f]{64}|\d+(?= values)|\d+\.\d+s")
"""Values that depend on the token, and on how fast the machine is."""


class Shell:
    """Runs the commands of the page in a folder of their own, where the package is installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        site = PytestRuns(folder / "installed").folder / "site"
        programs = folder / "installed" / "bin"
        programs.mkdir()
        for name, module in (("entresol", "entresol"), ("pytest", "pytest -p no:cacheprovider")):
            program = programs / name
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
            program.chmod(0o755)
        paths = os.pathsep.join(map(str, (site, ROOT / "src")))
        self._environment = os.environ | {
            "PYTHONPATH": paths,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "ENTRESOL_CACHE_DIR": str(folder / "installed" / "cache"),
        }

    def run(self, block: Block, url: str = URL) -> str:
        """Run the commands of a block with a URL for that of the page, and return what they print."""
        ran = subprocess.run(
            ["/bin/sh", "-c", block.text.replace(URL, url)],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        return ran.stdout


def put_token(remote: Anvil) -> None:
    """Put a token at the address of the real one, with a balance of the holder, and go to the block of the page."""
    made = artifact("TestERC20")
    arguments = "".join(number.to_bytes(32, "big").hex() for number in (96, 160, 6))
    strings = "".join(
        len(entry).to_bytes(32, "big").hex() + entry.ljust(32, b"\0").hex()
        for entry in (b"USD Coin", b"USDC")
    )
    sender = remote("eth_accounts")[0]
    sent = remote(
        "eth_sendTransaction", {"from": sender, "data": f"{made.bytecode}{arguments}{strings}"}
    )
    deployed = remote("eth_getTransactionReceipt", sent)["contractAddress"]
    remote("anvil_setCode", USDC, remote("eth_getCode", deployed, "latest"))
    for slot in range(8):
        value = remote("eth_getStorageAt", deployed, hex(slot), "latest")
        remote("anvil_setStorageAt", USDC, hex(slot), value)
    mint = f"0x40c10f19{HOLDER[2:]:0>64}{MINTED:064x}"
    remote("eth_sendTransaction", {"from": sender, "to": USDC, "data": mint})
    latest = int(remote("eth_blockNumber"), 16)
    remote("anvil_mine", hex(BLOCK + 3 - latest))


def plain(text: str) -> list[str]:
    return [VARYING.sub("…", line) for line in text.strip().splitlines()]


def test_the_tutorial_of_a_real_token_prints_what_it_shows(tmp_path: Path) -> None:
    blocks = list(blocks_of(PAGE))
    commands = [block for block in blocks if block.language == "sh"]
    record, keep, offline, miss = commands
    files = {block.title: block.text for block in blocks if block.title}
    shell = Shell(tmp_path)
    (tmp_path / "test_usdc.py").write_text(files["test_usdc.py"], encoding="utf-8")
    with running_anvil("--chain-id", "1", "--number", str(BLOCK - 10)) as remote:
        put_token(remote)
        recorded = shell.run(record, url=remote.url)
    assert plain(recorded) == plain(record.output or "")
    assert plain(shell.run(keep)) == plain(keep.output or "")
    assert plain(shell.run(offline)) == plain(offline.output or "")
    assert remote.url.encode() not in (tmp_path / "fork.sqlite").read_bytes()
    (tmp_path / "test_more.py").write_text(files["test_more.py"], encoding="utf-8")
    missed = shell.run(miss)
    assert [line for line in plain(miss.output or "") if line not in "\n".join(plain(missed))] == []
