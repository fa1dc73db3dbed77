"""The node as a process: its output, its errors at start-up, its log, signals, `verify` and `rebuild`."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from entresol.storage.store import Store
from entresol.terminal.exit_codes import OUTPUT_CLOSED
from tests.support.clients.accounts import ALICE, signed_transfer
from tests.support.inprocess_node import InprocessNode, inprocess_node, run_command
from tests.support.node_process import ENTRESOL, RunningNode, run_entresol, running_node
from tests.support.polling import PATIENCE_SECONDS, eventually
from tests.support.rpc_client import HttpRpcClient, get

FOREVER = "0x" + "f0" * 20
STOP_SECONDS = 20.0
"""A second is the rule; a busy machine may take longer, but clients that never end must not matter."""


def post(url: str, method: str, *params: object) -> Any:
    """Call a method over a connection of its own, and return the whole response."""
    with closing(HttpRpcClient(url)) as client:
        return client.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def output_with(node: RunningNode | InprocessNode, *texts: str) -> str:
    """Wait until the node has printed all `texts`, and return its output."""
    eventually(lambda: all(text in node.printed() for text in texts))
    return node.printed()


# Errors at start-up


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["--prot", "4"], 2, "--prot: there is no such flag; did you mean --port?"),
        (["--frobnicate"], 2, "--frobnicate: there is no such flag; --help-all lists them"),
        (["--port"], 2, "--port: it needs a value; see --help"),
        (["--port", "http"], 2, "--port: expected a whole number, got 'http'"),
        (["--mining", "si"], 2, "--mining: it takes no value, got 'si'"),
        (["--workers", "lots"], 2, "--workers: expected N|auto, got 'lots'"),
        (["rnu"], 2, "command: 'rnu' is not known; did you mean run? choose one of run, anvil, "),
        (["cluster", "stauts"], 2, "command: 'stauts' is not known; did you mean status?"),
        (["completion", "bsh"], 2, "shell: 'bsh' is not known; did you mean bash?"),
        (["--data-dir", "/proc/nope"], 1, "/proc/nope cannot be used: No such file or directory"),
        (
            ["--mnemonic", "one two"],
            2,
            "--mnemonic: a mnemonic is 12, 15, 18, 21 or 24 words, got 2",
        ),
        (["a" * 64], 2, "--silent: it takes no value, got '…'"),
        (["verfy"], 2, "command: 'verfy' is not known; did you mean verify?"),
        (["-operator-key", "b" * 64], 2, "command: '…' is not known; "),
        (["--config", "none.toml"], 2, "none.toml: No such file or directory"),
        (["--host", "192.0.2.1"], 1, "192.0.2.1"),
        (["verify", "--data-dir", "none"], 2, "--data-dir: there is no chain in none"),
        (["rebuild"], 2, "--data-dir: this command needs a data directory"),
        (["--genesis", "none.json"], 1, "none.json: No such file or directory"),
        (["--port", "70000"], 2, "--port: expected a whole number of at most 65535, got 70000"),
        (["--hardfork", "atlantis"], 2, "--hardfork: 'atlantis' is not known; choose one of "),
        (
            ["--hardfork", "pragu"],
            2,
            "'pragu' is not known; did you mean prague? choose one of byz",
        ),
        (
            ["--config-out", "none/x.json", "--port", "0", "--l1-port", "0"],
            2,
            "--config-out: none/x.json cannot be written",
        ),
    ],
)
def test_an_error_is_one_line(arguments: list[str], code: int, problem: str) -> None:
    silent = () if arguments[0] in {"rnu", "cluster", "completion"} else ("--silent",)
    ran = run_command(*silent, *arguments)
    assert ran.stderr.startswith("error: ")
    assert problem in ran.stderr
    assert (ran.stderr.count("\n"), ran.stdout, ran.returncode) == (1, "", code)


def test_a_mistyped_variable_is_named_with_what_was_meant(tmp_path: Path) -> None:
    ran = run_command("verify", "--data-dir", str(tmp_path / "none"), ENTRESOL_CHIAN_ID="7")
    assert ran.stderr.splitlines()[0] == (
        "warning: ENTRESOL_CHIAN_ID: there is no such setting; did you mean ENTRESOL_CHAIN_ID?"
    )


def test_a_variable_that_anvil_does_not_read_is_named() -> None:
    ran = run_command("anvil", "--hardfork", "merge", ENTRESOL_CHAIN_ID="7")
    assert ran.stderr.splitlines()[0] == (
        "warning: ENTRESOL_CHAIN_ID: entresol anvil does not read it; give a flag"
    )
    assert "--hardfork: 'merge' is not known; choose one of latest, byzantium" in ran.stderr


def test_a_busy_port_of_the_l1_names_its_own_flag() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = run_command("--port", "0", "--l1-port", port)
    assert ran.stderr == (
        f"error: port {port} of 127.0.0.1 is in use: stop what uses it, "
        "or choose another with --l1-port\n"
    )
    assert ran.returncode == 1


def test_a_busy_port_is_one_line_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = run_entresol("--port", port, "--l1-port", "0", TMPDIR=str(tmp_path))
    assert ran.stderr == (
        f"error: port {port} of 127.0.0.1 is in use: stop what uses it, "
        "or choose another with --port\n"
    )
    assert ran.returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_created_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    directory = tmp_path / "file" / "chain"
    ran = run_command("--data-dir", str(directory))
    assert ran.stderr == (
        f"error: {directory} cannot be used: Not a directory; choose another directory\n"
    )
    assert ran.returncode == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    ran = run_command("--data-dir", str(tmp_path / "chain"))
    assert "cannot be used: Permission denied; choose another directory" in ran.stderr
    assert (ran.stderr.count("\n"), ran.returncode) == (1, 1)


def test_a_second_node_on_a_directory_is_one_line(tmp_path: Path) -> None:
    directory = str(tmp_path / "chain")
    with inprocess_node("--data-dir", directory) as node:
        ran = run_command("--port", "0", "--data-dir", directory)
        assert "result" in post(node.url, "eth_blockNumber")
    assert ran.stderr == (
        f"error: {directory} is in use by another process: stop it, or choose another directory\n"
    )
    assert ran.returncode == 1


def test_output_whose_reader_has_gone_is_no_error(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ran = subprocess.run(
            [*ENTRESOL, "--help-all"],
            stdout=writer,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONUNBUFFERED": "1", "ENTRESOL_CACHE_DIR": str(tmp_path)},
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    finally:
        os.close(writer)
    assert ran.stderr == b""
    assert ran.returncode == OUTPUT_CLOSED


# The log


def test_the_banner_shows_accounts_keys_and_address() -> None:
    with running_node() as node:
        assert ALICE.address in node.output
        assert "0x" + bytes(ALICE.key).hex() in node.output
        assert "test test test" in node.output
        assert node.output.rstrip().splitlines()[-1].startswith("Listening on 127.0.0.1:")
        assert node.stop() == 0


def test_a_request_is_a_line_and_a_transaction_a_block() -> None:
    with inprocess_node() as node:
        post(node.url, "eth_nothing")
        transaction = post(node.url, "eth_sendRawTransaction", signed_transfer(0))["result"]
        output = output_with(node, " ms  ok", "\n    Block number      1")
    after = output.partition("Listening on ")[2].splitlines()
    assert " ".join(after[2].split()).endswith(
        "ms error -32601: the method eth_nothing does not exist/is not available"
    )
    assert after[3].startswith("eth_sendRawTransaction ")
    assert after[3].endswith(" ms  ok")
    assert after[5] == f"    Transaction       {transaction}"
    assert "\x1b" not in output


@pytest.mark.parametrize(("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_a_terminal_gets_colours_unless_disabled(
    environment: dict[str, str], coloured: bool
) -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "entresol", "--port", "0", "--l1-port", "0"]
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with subprocess.Popen(command, stdout=theirs, env=inherited | environment) as process:
        os.close(theirs)
        seen = b""
        while not (listening := re.search(rb"Listening on (\S+)\s", seen)):
            seen += os.read(ours, 1 << 16)
        post(f"http://{listening[1].decode()}", "eth_chainId")
        while b"eth_chainId" not in seen or not seen.endswith(b"\n"):
            seen += os.read(ours, 1 << 16)
        process.terminate()
    os.close(ours)
    assert (b"\x1b[32mok\x1b[0m" in seen) is coloured
    assert (b"\x1b" in seen) is coloured


def test_json_logs_have_an_object_per_line() -> None:
    with inprocess_node("--json-logs") as node:
        post(node.url, "eth_sendRawTransaction", signed_transfer(0))
        entries = [
            json.loads(line)
            for line in output_with(node, '"request"', '"transaction"').splitlines()
        ]
    assert [entry["message"].partition(" 127")[0] for entry in entries] == [
        "Listening on",
        "request",
        "transaction",
    ]
    assert {tuple(entry) for entry in entries} == {("level", "time", "message", "fields")}
    assert entries[0]["fields"]["chain_id"] == 270


def test_a_silent_node_prints_nothing(tmp_path: Path) -> None:
    info = tmp_path / "facts.json"
    with inprocess_node("--silent", "--config-out", str(info), info=info) as node:
        post(node.url, "eth_sendRawTransaction", signed_transfer(0))
        node.stop()
        assert node.printed() == ""


def test_output_that_is_not_read_does_not_block_the_node() -> None:
    command = [sys.executable, "-m", "entresol", "--port", "0", "--l1-port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        listening = next(line for line in process.stdout if line.startswith(b"Listening on "))
        connection = http.client.HTTPConnection(
            listening.split()[2].decode(), timeout=PATIENCE_SECONDS
        )
        body = json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "x" * 200}] * 5)
        # Some times what a pipe holds.
        for _ in range(1_000):
            connection.request("POST", "/", body, {"Content-Type": "application/json"})
            assert len(json.loads(connection.getresponse().read())) == 5
        connection.close()
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0


# Stopping


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_node_soon_while_it_is_busy(number: signal.Signals) -> None:
    with running_node() as node:
        clients = [threading.Thread(target=call_forever, args=[node.url]) for _ in range(12)]
        for client in clients:
            client.start()
        host, port = node.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))):
            eventually(lambda: is_busy(node.url))
            started = time.monotonic()
            node.process.send_signal(number)
            assert node.process.wait(PATIENCE_SECONDS) == 0
            assert time.monotonic() - started < STOP_SECONDS
        for client in clients:
            client.join()
        assert "Traceback" not in node.printed()


def call_forever(url: str) -> None:
    """Send calls that run into the time limit, until there is no response any more."""
    # Hashes 64 KiB again and again.
    code = {FOREVER: {"code": "0x5b620100005f20505f56"}}
    try:
        while True:
            post(url, "eth_call", {"to": FOREVER, "gas": "0x2faf080"}, "latest", code)
    except (OSError, http.client.HTTPException):
        return


def is_busy(url: str) -> bool:
    """Return whether calls are in progress: some got responses, and their clients continue."""
    return b'entresol_rpc_seconds_count{method="eth_call"}' in get(f"{url}/metrics")


# Data directories


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data directory with L1 and L2, of some blocks each."""
    path = tmp_path_factory.mktemp("sealed") / "chain"
    quick = ("--l1-delay", "0.02", "--settle-interval", "0.02")
    with inprocess_node("--data-dir", str(path), *quick) as node:
        for nonce in range(3):
            post(node.url, "eth_sendRawTransaction", signed_transfer(nonce))
        eventually(lambda: post(node.url, "zks_getFinalityStatus")["result"]["lastExecutedBatch"])
    return path


@pytest.fixture
def directory(sealed: Path, tmp_path: Path) -> str:
    """Return a copy of that directory."""
    return str(shutil.copytree(sealed, tmp_path / "chain"))


def test_both_layers_of_a_directory_are_verified_with_progress(directory: str) -> None:
    ran = run_command("verify", "--data-dir", directory)
    progress = re.compile(
        r"layer 2: verified 4 of 4 blocks\nlayer 1: verified ([1-9]\d*) of \1 blocks\n"
    )
    blocks = progress.fullmatch(ran.stderr)
    assert blocks is not None
    *results, last = [line.partition(" 0x")[0] for line in ran.stdout.splitlines()]
    # The genesis is counted, too.
    assert results == ["layer 2: block 3", f"layer 1: block {int(blocks[1]) - 1}"]
    count = 4 + int(blocks[1])
    assert last == f"{count} blocks of 2 chains in {directory} executed again: all match."
    assert ran.returncode == 0


def test_a_directory_without_l1_is_verified(tmp_path: Path) -> None:
    alone = ("--no-l1", "--data-dir", str(tmp_path / "chain"))
    with inprocess_node(*alone) as node:
        post(node.url, "eth_sendRawTransaction", signed_transfer(0))
        node.stop()
    ran = run_command("verify", *alone)
    assert (ran.stderr, ran.returncode) == ("layer 2: verified 2 of 2 blocks\n", 0)


@pytest.mark.parametrize(("layer", "folder"), [("layer 1", "l1"), ("layer 2", "")])
def test_a_layer_that_does_not_match_its_transactions_is_reported(
    directory: str, layer: str, folder: str
) -> None:
    forge_last_block(Path(directory) / folder)
    ran = run_command("verify", "--data-dir", directory)
    (problem,) = [line for line in ran.stderr.splitlines() if line.startswith("error: ")]
    assert re.match(rf"error: {layer}: block \d+ differs from its record: ", problem)
    # The other one is intact, and reported so.
    assert len(ran.stdout.splitlines()) == 1
    assert not ran.stdout.startswith(layer)
    last = ran.stderr.splitlines()[-1]
    assert last == f"1 of 2 chains in {directory} differs from what was stored."
    assert ran.returncode == 1


def forge_last_block(path: Path) -> None:
    """Replace the last block by one whose transaction records other gas than it used."""
    store = Store.open(path)
    number = store.head_number
    assert number is not None
    record = store.get_record(number)
    assert record is not None
    outcome, *others = record.results
    outcome = msgspec.structs.replace(outcome, gas_used=outcome.gas_used + 1)
    store.unwind(number - 1)
    store.append(msgspec.structs.replace(record, results=(outcome, *others)), [])
    store.close()


def test_both_layers_of_a_directory_are_rebuilt_with_progress_and_serve_again(
    directory: str,
) -> None:
    ran = run_command("rebuild", "--data-dir", directory)
    assert re.fullmatch(
        r"layer 2: rebuilt 4 of 4 blocks\nlayer 1: rebuilt (\d+) of \1 blocks\n", ran.stderr
    )
    assert f"The indexes of 2 chains in {directory} are rebuilt from " in ran.stdout
    assert ran.returncode == 0
    assert run_command("verify", "--data-dir", directory).returncode == 0
    with inprocess_node("--data-dir", directory) as node:
        assert post(node.url, "eth_getTransactionCount", ALICE.address)["result"] == "0x3"


@pytest.mark.parametrize("folder", ["", "l1"])
def test_an_interrupted_rebuild_can_be_repeated(directory: str, folder: str) -> None:
    path = Path(directory) / folder
    store = Store.open(path)

    def interrupted(_record: object) -> list[tuple[bytes, bytes]]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.rebuild(interrupted)
    store.close()
    ran = run_command("verify", "--data-dir", directory)
    assert ran.stderr.endswith(f"error: rebuilding {path} was interrupted: rebuild it again\n")
    assert run_command("rebuild", "--data-dir", directory).returncode == 0
    assert run_command("verify", "--data-dir", directory).returncode == 0


@pytest.mark.slow
def test_a_backup_of_a_running_node_has_both_chains_which_verify_and_rebuild_count_alike(
    tmp_path: Path,
) -> None:
    directory, copy = str(tmp_path / "chain"), str(tmp_path / "copy")
    with inprocess_node("--data-dir", directory) as node:
        post(node.url, "anvil_mine", "0x5")
        eventually(lambda: run_command("backup", "--data-dir", directory, copy).returncode == 0)
    counts = [
        re.findall(r"(layer [12]): \w+ ([\d,]+) of ([\d,]+) blocks", ran.stderr)
        for ran in (run_command(name, "--data-dir", copy) for name in ("verify", "rebuild"))
    ]
    assert sorted(counts[0]) == sorted(counts[1])
    assert ("layer 2", "6", "6") in counts[0]
    with inprocess_node("--data-dir", copy) as node:
        assert post(node.url, "eth_blockNumber")["result"] == "0x5"
        assert post(node.url, "zks_getFinalityStatus")["result"] is not None
