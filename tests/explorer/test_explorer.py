"""The explorer in a real Chromium: the checks are in the files beside this one."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from fcntl import LOCK_EX, flock
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile, gettempdir
from typing import Any, Final

import pytest

from entresol.contracts import artifact
from entresol.primitives import abi
from entresol.primitives.values import Address
from tests.support.clients.javascript import Results, checks_of, node_program, run_checks
from tests.support.clients.layers import OPERATOR_KEY
from tests.support.fork.remote_anvil import RemoteAnvil, remote_anvil
from tests.support.inprocess_node import InprocessNode, inprocess_anvil, inprocess_node
from tests.support.node_process import DEVELOPMENT_FLAGS
from tests.support.polling import PATIENCE_SECONDS

pytestmark = [
    pytest.mark.clients,
    pytest.mark.slow,
    # The one from npm is for Linux; elsewhere the variable names another.
    pytest.mark.skipif(
        sys.platform != "linux" and "CHROMIUM" not in os.environ, reason="there is no Chromium"
    ),
]

FOLDER: Final = Path(__file__).resolve().parent
FILES: Final = (
    *("pages.mjs", "tokens.mjs", "reasons.mjs", "debugger.mjs", "compiled.mjs"),
    *("wallets.mjs", "editing.mjs", "acting.mjs"),
    *("truth.mjs", "hostile.mjs", "answers.mjs", "a11y.mjs"),
    "budget.mjs",
)
SEVERAL: Final = {
    "street.mjs": (
        "[[chains]]\nchain_id = 270\n"
        '[[chains]]\nchain_id = 271\nbase_token = "ZOO"\nbase_token_decimals = 6\nbase_token_ratio = "3000"\n'
    ),
    "passages.mjs": "".join(f"[[chains]]\nchain_id = {270 + index}\n" for index in range(2)),
    "terrace.mjs": "".join(f"[[chains]]\nchain_id = {270 + index}\n" for index in range(6)),
}
"""The files that need several chains, and their configuration."""
ALONE: Final = "alone.mjs"
REMOTE: Final = "remote.mjs"
FORK: Final = "fork.mjs"
OFFLINE: Final = "offline.mjs"
BROWSER: Final = "browser.mjs"
BENCHMARKS: Final = {"drawing.mjs", "large.mjs"}
"""What `make bench` runs."""


def test_every_file_is_run_or_imported() -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in FOLDER.iterdir() if path.is_file())
    assert {path.name for path in FOLDER.glob("*.mjs") if path.name not in texts} == set()


@pytest.fixture(scope="module")
def browser() -> Iterator[None]:
    """Start one Chromium on each worker, which all files of checks connect to.

    One after the other: the first unpacks the program, and there is none for the others before that is done.
    """
    command = [node_program(), str(FOLDER / BROWSER)]
    with contextlib.ExitStack() as stack:
        with (Path(gettempdir()) / "chromium.lock").open("w") as lock:
            flock(lock, LOCK_EX)
            process = stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            assert process.stdin is not None
            assert process.stdout is not None
            address = process.stdout.readline().strip()
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        assert address
        patch.setenv("BROWSER", address)
        yield
        process.stdin.close()
        process.wait(PATIENCE_SECONDS)


def l1_url_of(node: InprocessNode) -> str:
    """Return the URL of the development L1, which the banner has below its heading."""
    found = re.search(r"^Layer 1 .*?^HTTP +(\S+)", node.output, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@cache
def results(file: str) -> Results:
    """Run a file on a node of its own, once."""
    with NamedTemporaryFile("w", suffix=".toml") as config:
        config.write(SEVERAL.get(file, ""))
        config.flush()
        with inprocess_node("--config", config.name) as node:
            return run_checks(file, node.url, l1_url_of(node), FOLDER)


@pytest.mark.usefixtures("browser")
@pytest.mark.parametrize(
    ("file", "check"),
    [(file, check) for file in (*FILES, *SEVERAL) for check in checks_of(file, FOLDER)],
)
def test_a_browser_shows_it(file: str, check: str) -> None:
    problem = results(file)[check]
    assert problem is None, problem


@pytest.mark.usefixtures("browser")
@pytest.mark.parametrize("layer", ["l1", "l2"])
def test_a_layer_alone_draws_only_its_floor(layer: str) -> None:
    with inprocess_anvil("anvil") if layer == "l1" else inprocess_node("--no-l1") as node:
        found = run_checks(ALONE, node.url, folder=FOLDER)
    assert [problem for problem in found.values() if problem is not None] == []


@pytest.mark.usefixtures("browser")
def test_a_remote_layer_1_is_drawn() -> None:
    flags = ("--deploy-l1", "--operator-key", OPERATOR_KEY, "--l1-confirmations", "0")
    with (
        inprocess_anvil("anvil") as l1,
        inprocess_node("--l1-url", f"{l1.url}/a-key", *flags, *DEVELOPMENT_FLAGS) as node,
    ):
        found = run_checks(REMOTE, node.url, folder=FOLDER)
    assert [problem for problem in found.values() if problem is not None] == []


def _sent(remote: RemoteAnvil, transaction: dict[str, str]) -> dict[str, Any]:
    sent = remote.node("eth_sendTransaction", {"from": remote.accounts[0], **transaction})
    receipt: dict[str, Any] = remote.node("eth_getTransactionReceipt", sent)
    return receipt


def remote_token(remote: RemoteAnvil) -> tuple[str, int]:
    """Return a token on a remote of which its first account has 1,000, and the last block."""
    creation = artifact("TestERC20").bytecode + abi.encode(
        "(string,string,uint8)", ("Remote", "REM", 6)
    )
    made = _sent(remote, {"data": "0x" + creation.hex()})
    token: str = made["contractAddress"]
    data = abi.encode_call(
        "mint(address,uint256)", Address.parse(remote.accounts[0]), 1_000_000_000
    )
    return token, int(_sent(remote, {"to": token, "data": "0x" + data.hex()})["blockNumber"], 16)


@pytest.mark.usefixtures("browser")
def test_a_copy_of_another_chain_stands_on_its_anchor() -> None:
    with remote_anvil() as remote:
        token, number = remote_token(remote)
        flags = ("--fork-url", f"{remote.url}@{number}", "--no-storage-caching")
        with inprocess_node(*flags) as node:
            found = run_checks(FORK, node.url, l1_url_of(node), FOLDER, TOKEN=token)
    assert [problem for problem in found.values() if problem is not None] == []


@pytest.mark.usefixtures("browser")
def test_a_copy_that_is_offline_says_what_it_has_not(tmp_path: Path) -> None:
    file = str(tmp_path / "fork.sqlite")
    flags = ("--fork-cache", file)
    with remote_anvil() as remote:
        (kept, _), (other, number) = remote_token(remote), remote_token(remote)
        url = f"{remote.url}@{number}"
        with inprocess_anvil("anvil", "--fork-url", url, *flags) as node:
            assert node("entresol_getToken", kept)["symbol"] == "REM"
    with inprocess_anvil("anvil", "--offline", *flags) as node:
        found = run_checks(OFFLINE, node.url, folder=FOLDER, TOKEN=kept, OTHER_TOKEN=other)
    assert [problem for problem in found.values() if problem is not None] == []
