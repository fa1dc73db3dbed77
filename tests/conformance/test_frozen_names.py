"""Every recorded name is still there; `python -m tools.frozen_names` records new ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from tests.support.cluster.nodes import running_cluster
from tests.support.cluster.postgres import Postgres
from tools.frozen_names import RECORDED, Names, cluster_names, pair_names, written_names

FROZEN: Final[Names] = json.loads(RECORDED.read_text(encoding="utf-8"))


def lost(names: Names) -> Names:
    gone = {kind: sorted(set(FROZEN[kind]) - set(found)) for kind, found in names.items()}
    return {kind: missing for kind, missing in gone.items() if missing}


def test_no_name_in_the_code_is_lost() -> None:
    assert lost(written_names()) == {}


def test_both_layers_serve_every_name() -> None:
    assert lost(pair_names()) == {}


@pytest.mark.slow
def test_a_node_of_a_cluster_serves_every_name(postgres: Postgres, tmp_path: Path) -> None:
    with running_cluster(postgres, tmp_path) as cluster:
        assert lost(cluster_names(cluster)) == {}
