"""Metrics of several processes are added up, and stay in their families."""

from __future__ import annotations

from entresol.features.workers.producer_role import sum_metrics

ONE = """# HELP a Things.
# TYPE a counter
a{x="1"} 2
# HELP b Seconds.
# TYPE b histogram
b_bucket{le="1"} 3
b_sum 0.500000000
"""
TWO = """# HELP a Things.
# TYPE a counter
a{x="1"} 5
a{x="2"} 1
# HELP b Seconds.
# TYPE b histogram
b_bucket{le="1"} 4
b_sum 0.250000000
"""


def test_equal_samples_are_added_up() -> None:
    assert sum_metrics([ONE, TWO, ""]).splitlines() == [
        "# HELP a Things.",
        "# TYPE a counter",
        'a{x="1"} 7',
        'a{x="2"} 1',
        "# HELP b Seconds.",
        "# TYPE b histogram",
        'b_bucket{le="1"} 7',
        "b_sum 0.750000000",
    ]
