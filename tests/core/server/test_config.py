from __future__ import annotations

from entresol.server.config import ServerConfig


def test_hosts_are_a_list_in_which_blanks_and_repetitions_count_for_nothing() -> None:
    assert ServerConfig(host="127.0.0.1, ::1 ,127.0.0.1").hosts == ("127.0.0.1", "::1")
