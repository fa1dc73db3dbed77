"""Figures in the text format of Prometheus."""

from __future__ import annotations

from entresol.node.metrics import Sample, of_chain, of_server, render
from entresol.server.state import Counters
from tests.support.rollup.settling_chain import SettlingChain


def test_figures_of_one_name_share_their_description() -> None:
    figures = [
        Sample("head_block", "Number of the last block.", 3),
        Sample("problem", "Whether there is one.", True, labels='part="a"'),
        Sample("problem", "Whether there is one.", False, labels='part="b"'),
    ]
    assert render(figures).splitlines() == [
        "# HELP entresol_head_block Number of the last block.",
        "# TYPE entresol_head_block gauge",
        "entresol_head_block 3",
        "# HELP entresol_problem Whether there is one.",
        "# TYPE entresol_problem gauge",
        'entresol_problem{part="a"} 1',
        'entresol_problem{part="b"} 0',
    ]


def test_a_chain_tells_how_far_it_is_and_what_waits() -> None:
    chain = SettlingChain.begin()
    chain.transfer()
    chain.seal()
    chain.transfer()
    chain.deposit()
    chain.set_finality(safe=1)
    told = {it.name: it.value for it in of_chain(chain)}
    chain.close()
    assert (told["head_block"], told["safe_block"], told["finalized_block"]) == (1, 1, 0)
    assert (told["pool_transactions"], told["pool_priority_transactions"]) == (1, 1)


def test_a_server_tells_who_is_connected() -> None:
    counters = Counters()
    counters.connections_open = 2
    counters.requests_total = 7
    told = {it.name: (it.value, it.kind) for it in of_server(counters)}
    assert told["connections_open"] == (2, "gauge")
    assert told["requests_total"] == (7, "counter")
