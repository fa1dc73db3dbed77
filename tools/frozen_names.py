"""Names that clients, operators and stored data depend on, so that no change of the code's shape may lose one.

`python -m tools.frozen_names` records those of today in `tests/conformance/frozen_names.json`.
"""

from __future__ import annotations

import contextlib
import json
import re
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias

import entresol
from entresol import testing
from entresol.cli import parsers
from entresol.inprocess.bridge import Bridge
from entresol.inprocess.devnet import Devnet
from entresol.inprocess.layer import DevnetLayer
from entresol.node.config.anvil import ANVIL_SETTINGS
from entresol.node.config.schema import SETTINGS
from entresol.node.config.setting import Setting
from entresol.replication.postgres.tables import MIGRATIONS
from entresol.storage import tables
from entresol.testing import fixtures
from entresol.testing.chain_time import ChainTime
from tests.support.cluster.nodes import ClusterProcesses, running_cluster
from tests.support.cluster.postgres import running_postgres
from tests.support.polling import eventually
from tests.support.rpc_client import HttpRpcClient

RECORDED: Final = Path(__file__).parents[1] / "tests" / "conformance" / "frozen_names.json"

Names: TypeAlias = dict[str, list[str]]


def written_names() -> Names:
    """Return the names that stand in the code."""
    return {
        "exports": sorted(_exports()),
        "fixtures": sorted(_fixtures()),
        "commands": sorted(set(re.findall(r"[a-z]+", parsers.USAGE)) - {"flags"}),
        "settings": sorted(_settings(SETTINGS.all)),
        "settings of anvil": sorted(_settings(ANVIL_SETTINGS.all)),
        "columns": sorted(_columns()),
        "stored keys": sorted(
            value.decode()
            for name, value in vars(tables).items()
            if name.isupper() and isinstance(value, bytes) and value.isalnum()
        ),
    }


def served_names(layers: Mapping[str, str]) -> Names:
    """Return the methods, the metrics and the members of `/health` that nodes serve, by name and URL."""
    names: Names = {}
    for layer, url in layers.items():
        client = HttpRpcClient(url)
        methods = client("rpc.discover")["methods"]
        client.close()
        names[f"methods of {layer}"] = sorted(it["name"] for it in methods)
        names[f"metrics of {layer}"] = sorted(set(_metrics(_page(url, "metrics").decode())))
        names[f"health of {layer}"] = sorted(_members(json.loads(_page(url, "health"))))
    return names


def pair_names() -> Names:
    """Return the names that both layers of one process serve."""
    with entresol.devnet() as net:
        return served_names({"l1": net.l1.url, "l2": net.l2.url})


def cluster_names(cluster: ClusterProcesses) -> Names:
    """Return the names that a node of a cluster serves beside those, with a worker."""
    node = cluster.add("--workers", "2")
    url = cluster.producer().url
    with contextlib.closing(HttpRpcClient(cluster.l1_url)) as l1:
        # It is known by a block of L1 that is seen when it is sealed.
        eventually(lambda: l1("evm_mine") and b"l1_clock_skew_seconds" in _page(url, "metrics"))
    names = served_names({"a cluster": url})
    node.stop()
    return names


def _exports() -> Iterator[str]:
    for package in (entresol, testing):
        yield from (f"{package.__name__}.{name}" for name in package.__all__)
    for cls in (Devnet, DevnetLayer, Bridge, ChainTime):
        yield from (f"{cls.__name__}.{name}" for name in dir(cls) if not name.startswith("_"))


def _fixtures() -> Iterator[str]:
    for name, value in vars(fixtures).items():
        if type(value).__name__ == "FixtureFunctionDefinition":
            yield name


def _settings(settings: Iterable[Setting]) -> Iterator[str]:
    for it in settings:
        yield " ".join((it.flag, *it.aliases, *it.counted, it.variable, it.key))


def _columns() -> Iterator[str]:
    for name, body in re.findall(
        r"create table (\w+) \(\n(.*?)\n\);", "".join(MIGRATIONS), re.DOTALL
    ):
        for column in re.findall(r"^    (\w+ \w+)", body, re.MULTILINE):
            yield f"{name}.{column}"


def _metrics(text: str) -> Iterator[str]:
    """Yield each metric with its labels; values of `part` and `kind` name what the node has."""
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, labels = line.partition("{")
            kept = re.findall(r'part="\w+"', labels) or re.findall(r"(\w+)=", labels)
            yield " ".join((name.partition(" ")[0], *kept))


def _members(document: Any, path: str = "") -> Iterator[str]:
    for name, value in document.items():
        yield f"{path}{name}"
        if isinstance(value, dict):
            yield from _members(value, f"{path}{name}.")


def _page(url: str, name: str) -> bytes:
    with urllib.request.urlopen(f"{url}/{name}") as response:  # noqa: S310 - a node that was started here
        body: bytes = response.read()
        return body


def main() -> None:
    """Record the names of today."""
    names = {**written_names(), **pair_names()}
    with (
        TemporaryDirectory() as folder,
        running_postgres() as postgres,
        running_cluster(postgres, Path(folder)) as cluster,
    ):
        names |= cluster_names(cluster)
    RECORDED.write_text(json.dumps(names, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
