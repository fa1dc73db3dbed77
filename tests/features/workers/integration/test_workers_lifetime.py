"""Workers that are killed, stopped or orphaned: others go on, and nothing is left behind."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import threading
import urllib.request
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.support.clients.accounts import ALICE, BOB
from tests.support.http_server import RawConnection
from tests.support.node_process import RunningNode, run_entresol, running_node
from tests.support.polling import PATIENCE_SECONDS, eventually
from tests.support.rpc_client import RpcError
from tests.support.workers import ProcessClient, clients_of, connect_to, processes_of, workers_of

KILLS = int(os.environ.get("ENTRESOL_WORKER_KILLS", "1"))
FLAGS = ("--workers", "3", "--no-l1", "--log-level", "warning")
ALL_RUNNING = {"running": 2, "expected": 2, "silent": 0}


def health(node: RunningNode) -> Any:
    """Return what is said of the workers; nothing if the connection was that of a worker that ends."""
    try:
        return json.loads(urllib.request.urlopen(f"{node.url}/health").read())["workers"]
    except OSError:
        return None


def metric(node: RunningNode, name: str) -> int:
    with closing(ProcessClient(node.url, node.process.pid)) as producer:
        return metric_in(producer.get("/metrics").decode(), name)


def metric_in(text: str, name: str) -> int:
    return int(re.findall(rf"^entresol_{name} (\d+)$", text, re.MULTILINE)[0])


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


class Load:
    """Reads and sends on one process until it is told to stop."""

    def __init__(self, node: RunningNode, pid: int) -> None:
        self.done = 0
        self.failure: Exception | None = None
        self._stopped = threading.Event()
        self._client = ProcessClient(node.url, pid)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        self._client.close()

    def _run(self) -> None:
        client = self._client
        try:
            while not self._stopped.is_set():
                head = int(client("eth_blockNumber"), 16)
                transfer = {"from": ALICE.address, "to": BOB.address}
                sent = client("eth_sendTransaction", transfer)
                receipt = client("eth_getTransactionReceipt", sent)
                assert int(receipt["blockNumber"], 16) > head
                self.done += 1
        except Exception as error:  # noqa: BLE001 - asserted by the test
            self.failure = error


def test_a_killed_worker_is_replaced_and_others_go_on() -> None:
    randomness = random.Random(1)
    with running_node(*FLAGS) as node:
        for _ in range(KILLS):
            kill_one(node, randomness)
        assert "is replaced" in node.printed()
        assert node.stop() == 0


def kill_one(node: RunningNode, randomness: random.Random) -> None:
    """Kill a worker at some moment, and check that only its own clients notice."""
    victim, other = randomness.sample(workers_of(node), 2)
    loads = [Load(node, pid) for pid in (node.process.pid, other)]
    doomed, doom = Load(node, victim), randomness.randrange(20)
    eventually(lambda: doomed.done > doom)
    os.kill(victim, signal.SIGKILL)
    before = [load.done for load in loads]
    eventually(lambda: all(it.done > was + 5 for it, was in zip(loads, before, strict=True)))
    eventually(lambda: health(node) == ALL_RUNNING)
    for load in (*loads, doomed):
        load.stop()
    assert [load.failure for load in loads] == [None, None]
    assert doomed.failure is not None
    assert victim not in workers_of(node)
    with closing(ProcessClient(node.url, max(workers_of(node)))) as newest:
        assert int(newest("eth_blockNumber"), 16) > 0


@pytest.mark.parametrize("is_paused", [False, True])
def test_the_end_of_the_producer_ends_all(is_paused: bool) -> None:
    with running_node(*FLAGS) as node:
        workers = workers_of(node)
        assert len(workers) == 2
        if is_paused:
            os.kill(workers[0], signal.SIGSTOP)
        node.process.kill()
        node.process.wait()
        eventually(lambda: all(map(is_gone, workers)))


def test_a_signal_to_stop_lets_requests_in_progress_finish() -> None:
    with running_node(*FLAGS, "--stop-seconds", "60") as node:
        pids, workers = processes_of(node), workers_of(node)
        responses: list[Any] = []
        clients = [ProcessClient(node.url, pid) for pid in pids]
        # A loop until the gas is spent.
        endless = [{"data": "0x5b5f56", "gas": hex(300_000_000)}, "latest"]

        def request(client: ProcessClient) -> None:
            responses.append(
                client.post({"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": endless})
            )

        threads = [threading.Thread(target=request, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        eventually(lambda: metric(node, "requests_total") >= len(pids))
        assert node.stop() == 0
        for thread in threads:
            thread.join()
        for client in clients:
            client.close()
        assert [response["id"] for response in responses] == [1, 1, 1]
        assert all(map(is_gone, workers))


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> int:
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def send_and_drop(client: ProcessClient, count: int) -> None:
    """Send transactions of 120 KiB, which do not stay in the pool."""
    transfer = {"from": ALICE.address, "to": BOB.address, "data": "0x" + "00" * (120 << 10)}
    for number in range(count):
        client(
            "eth_sendTransaction", {**transfer, "gas": hex(2_000_000), "nonce": hex(number % 10)}
        )
        if number % 10 == 9:
            client("anvil_dropAllTransactions")


def test_a_worker_that_does_not_read_costs_a_bounded_number_of_bytes() -> None:
    sent = 800
    with (
        running_node(*FLAGS, "--no-mining", "--worker-silence-seconds", "600") as node,
        closing(ProcessClient(node.url, node.process.pid)) as producer,
    ):
        victim = workers_of(node)[0]
        url, accepted = node.url.replace("http:", "ws:"), connect_to(node.url, victim)
        with connect(url, sock=accepted, ping_interval=None) as subscriber:
            for kind in ("newPendingTransactions", "newHeads"):
                call = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": [kind]}
                subscriber.send(json.dumps(call))
                subscriber.recv(PATIENCE_SECONDS)
            send_and_drop(producer, 10)
            subscriber.recv(PATIENCE_SECONDS)
            os.kill(victim, signal.SIGSTOP)
            before = resident_bytes(node.process.pid)
            send_and_drop(producer, sent)
            producer("evm_mine")
            assert resident_bytes(node.process.pid) - before < sent * (120 << 10) * 2 // 3
            os.kill(victim, signal.SIGCONT)
            # Its subscribers have missed transactions, so it is replaced, and they notice.
            with suppress(ConnectionClosed):
                while True:
                    subscriber.recv(PATIENCE_SECONDS)
            eventually(lambda: is_gone(victim) and health(node) == ALL_RUNNING)


def test_a_worker_that_hangs_is_reported_and_replaced() -> None:
    with (
        running_node(*FLAGS, "--worker-silence-seconds", "5") as node,
        # Other connections may be those of the worker that hangs.
        closing(ProcessClient(node.url, node.process.pid)) as producer,
    ):
        victim, other = workers_of(node)

        def workers() -> Any:
            return json.loads(producer.get("/health"))["workers"]

        os.kill(victim, signal.SIGSTOP)
        eventually(lambda: workers() == {"running": 2, "expected": 2, "silent": 1})
        eventually(lambda: is_gone(victim) and len(workers_of(node)) == 2)
        eventually(lambda: workers() == ALL_RUNNING)
        metrics = producer.get("/metrics").decode()
        assert metric_in(metrics, "worker_hangs_total") == 1
        assert metric_in(metrics, "workers_silent") == 0
        eventually(lambda: "no sign of life" in node.printed())
        assert other in workers_of(node)
        producer.close()
        assert node.stop() == 0


def test_many_requests_for_the_metrics_are_answered_by_few_collections() -> None:
    """Each would take the producer some milliseconds, and a turn of every worker."""
    count = 400
    with running_node(*FLAGS) as node:
        processes = processes_of(node)
        clients = [RawConnection(node.port) for _ in range(count)]
        before = [cpu_seconds(pid) for pid in processes]
        for client in clients:
            client.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for client in clients:
            assert b"entresol_workers 2" in client.response().body
            client.socket.close()
        taken = [cpu_seconds(pid) - was for pid, was in zip(processes, before, strict=True)]
        assert taken[0] < count * 0.001


def test_a_port_that_another_node_has_is_reported_and_lines_of_workers_are_whole() -> None:
    with running_node("--workers", "3", "--no-l1") as node:
        other = run_entresol(*FLAGS, "--port", str(node.port))
        assert other.returncode == 1
        assert f"port {node.port}" in other.stderr
        assert "in use" in other.stderr
        for pid in processes_of(node):
            client = ProcessClient(node.url, pid)
            for _ in range(30):
                client("eth_getBalance", ALICE.address, "latest")
            client.close()
        eventually(lambda: node.printed().count("eth_getBalance") >= 90)
        assert all(line.count("eth_getBalance") <= 1 for line in node.printed().splitlines())


def test_long_calls_of_clients_that_leave_a_worker_end_on_the_producer() -> None:
    endless = {"to": ALICE.address, "gas": hex(2**50)}
    flags = ("--workers", "2", "--call-gas-cap", str(2**50), "--call-seconds", "600")
    with running_node(*flags, "--log-level", "warning") as node, clients_of(node) as clients:
        clients[0]("anvil_setCode", ALICE.address, "0x5b5f56")
        before = cpu_seconds(node.process.pid)
        leaving = [connect_to(node.url, workers_of(node)[0]) for _ in range(2)]
        for connected in leaving:
            # Two for each: a client has three of the four threads at most.
            connected.sendall(batch_request([("eth_call", [endless, "pending"])] * 2))
        eventually(lambda: cpu_seconds(node.process.pid) > before + 1)
        for connected in leaving:
            connected.close()
        # It needs a thread, too, and has one once they end.
        with pytest.raises(RpcError, match="out of gas"):
            clients[1]("eth_call", {**endless, "gas": hex(5_000_000)}, "pending")


def batch_request(calls: list[tuple[str, list[object]]]) -> bytes:
    """Return a batch as it is sent over a socket."""
    batch = [{"jsonrpc": "2.0", "id": 1, "method": name, "params": it} for name, it in calls]
    body = json.dumps(batch).encode()
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body)
