from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from entresol.node.metrics import (
    Sample,
    chain_samples,
    labelled,
    memory_samples,
    render,
    request_memory,
    server_samples,
)
from entresol.server.config import ServerConfig
from entresol.server.limits import RequestBytes, UnsentBytes
from entresol.server.server_state import Counters
from tests.support.chain.api_client import ApiClient, running_api, send
from tests.support.chain.dev_chain import ALICE, LOGGER, transaction
from tests.support.rollup.settling_chain import SettlingChain


@pytest.fixture
def client() -> Iterator[ApiClient]:
    with running_api() as client:
        yield client


def test_samples_of_one_name_share_their_description() -> None:
    samples = [
        Sample("head_block", "Number of the last block.", 3),
        Sample("problem", "Whether there is one.", True, labels='part="a"'),
        Sample("problem", "Whether there is one.", False, labels='part="b"'),
    ]
    assert render(samples).splitlines() == [
        "# HELP entresol_head_block Number of the last block.",
        "# TYPE entresol_head_block gauge",
        "entresol_head_block 3",
        "# HELP entresol_problem Whether there is one.",
        "# TYPE entresol_problem gauge",
        'entresol_problem{part="a"} 1',
        'entresol_problem{part="b"} 0',
    ]


def test_samples_of_one_of_several_chains_have_its_label_first() -> None:
    text = '# HELP entresol_a b {c}\nentresol_a 1\nentresol_b{part="x y"} 2.5\n'
    assert labelled(text, "270").splitlines() == [
        "# HELP entresol_a b {c}",
        'entresol_a{chain="270"} 1',
        'entresol_b{chain="270",part="x y"} 2.5',
    ]
    assert labelled(text, "") == text


def test_a_chain_reports_its_head_and_pending_transactions() -> None:
    chain = SettlingChain.begin()
    chain.transfer()
    chain.builder.seal()
    chain.transfer()
    chain.deposit()
    chain.set_finality(safe=1)
    samples = {chain_sample.name: chain_sample.value for chain_sample in chain_samples(chain)}
    chain.close()
    assert (samples["head_block"], samples["safe_block"], samples["finalized_block"]) == (1, 1, 0)
    assert (samples["pool_transactions"], samples["pool_priority_transactions"]) == (1, 1)


def test_a_server_reports_its_connections() -> None:
    counters = Counters()
    counters.connections_open = 2
    counters.requests_total = 7
    unsent = UnsentBytes(1_000, ())
    unsent.total, unsent.dropped = 300, 4
    requests = RequestBytes(100)
    assert requests.hold(200) is None
    samples = {
        server_sample.name: (server_sample.value, server_sample.kind)
        for server_sample in server_samples(counters, unsent, requests)
    }
    expected = {
        "connections_open": (2, "gauge"),
        "requests_total": (7, "counter"),
        "unsent_bytes": (300, "gauge"),
        "connections_dropped_total": (4, "counter"),
        "long_requests_rejected_total": (1, "counter"),
    }
    assert {name: samples[name] for name in expected} == expected


def test_what_grows_with_requests_reports_its_memory_and_its_limit(client: ApiClient) -> None:
    def memory() -> dict[str, tuple[int, int]]:
        return {it.part: (it.used, it.limit) for it in client.api.memory()}

    before = memory()
    client("eth_newFilter", {"address": [str(ALICE)]})
    send(client, to=LOGGER)
    client.chain.schedule.seal_on_request()
    client("evm_snapshot")
    # Long enough to be cached.
    client("eth_call", {"to": str(ALICE), "data": "0x" + "ff" * 2_000})
    client("eth_feeHistory", "0x2", "latest", [50])
    client("eth_getLogs", {"fromBlock": "0x0"})
    client("eth_getBlockByNumber", "0x1", True)
    client.chain.add(transaction(1))
    client("evm_snapshot")
    after = memory()
    grown = {part for part, (used, _) in after.items() if used > before[part][0]}
    assert grown == {
        *(
            "pool",
            "snapshots",
            "filters",
            "filter_events",
            "blocks",
            "rendered",
            "logs",
            "calls",
            "fees",
            "responses",
        )
    }
    assert all(used <= limit for used, limit in after.values())
    text = render(memory_samples(client.api.memory()))
    assert 'entresol_memory_limit_bytes{part="filters"} 67108864' in text
    assert text.count("# HELP") == 2


def test_the_documented_limits_of_memory_are_those_of_a_chain(client: ApiClient) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "reports" / "robustness.md").read_text()
    table = page.partition("## Memory that clients can fill")[2].partition("\nTogether ")
    uses = (*client.api.memory(), *request_memory(RequestBytes(ServerConfig().request_limit_bytes)))
    parts = {use.part: use.limit for use in uses}
    assert set(re.findall(r"^\| `([a-z_]+)` \|", table[0], re.MULTILINE)) == set(parts)
    assert table[2].startswith(f"{sum(parts.values()) >> 20} MiB a chain")
