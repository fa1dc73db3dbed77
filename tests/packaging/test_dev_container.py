"""The dev container has what building needs, and forwards what a node listens on; no container engine has built it."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import pytest

from entresol.node.config.schema import NodeConfig
from tests.support.docs.pages import ROOT

FOLDER: Final = ROOT / ".devcontainer"


@pytest.fixture
def container() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "devcontainer.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture
def image(container: dict[str, Any]) -> str:
    path = FOLDER / str(container["build"]["dockerfile"])
    return path.read_text(encoding="utf-8")


def test_it_forwards_the_ports_of_both_layers_with_their_names(container: dict[str, Any]) -> None:
    config = NodeConfig()
    assert container["forwardPorts"] == [config.server.port, config.l1.l1_port]
    labels = [
        container["portsAttributes"][str(port)]["label"] for port in container["forwardPorts"]
    ]
    assert labels == ["Layer 2, and its explorer", "Layer 1"]


def test_it_builds_by_a_target_of_the_makefile(container: dict[str, Any]) -> None:
    program, target = container["postCreateCommand"].split()
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert program == "make"
    assert f"\n.PHONY: {target}\n" in makefile


def test_its_image_has_what_the_makefile_asks_for(container: dict[str, Any], image: str) -> None:
    (packages,) = re.findall(r"apt-get install \S+ \S+ (.+?) \\", image)
    assert set(packages.split()) >= {"gcc", "git", "make", "perl"}
    assert re.findall(r"^USER (\S+)$", image, re.MULTILINE) == [container["remoteUser"]]
    assert f" {container['remoteUser']}\n" in image
