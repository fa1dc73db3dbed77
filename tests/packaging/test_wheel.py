"""The wheel has what the node needs at run time and nothing else, and the source distribution builds it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from zipfile import ZipFile

import pytest

from tests.support.docs.pages import ROOT
from tests.support.packages.distribution import INSTALL_SECONDS, built, package_files

NATIVE: Final = "entresol/_native.abi3.so"
COMMIT: Final = "entresol/commit.txt"
MAKEFILE: Final = ROOT / "Makefile"
METADATA: Final = {
    "METADATA", "WHEEL", "RECORD", "entry_points.txt",
    "licenses/LICENSE", "licenses/LICENSE-APACHE", "licenses/LICENSE-MIT",
}  # fmt: skip


@pytest.fixture
def wheel() -> Iterator[ZipFile]:
    with ZipFile(built("*.whl")) as archive:
        yield archive


@pytest.fixture
def source() -> Path:
    return built("*.tar.gz")


def files_of(wheel: ZipFile) -> dict[str, bytes]:
    """Return the files of a wheel, without those that describe it."""
    return {name: wheel.read(name) for name in wheel.namelist() if ".dist-info/" not in name}


def test_it_has_the_package_the_crate_and_the_commit(wheel: ZipFile) -> None:
    files = files_of(wheel)
    assert files.pop(NATIVE)
    files.pop(COMMIT, None)
    package = package_files()
    assert files.keys() == package.keys()
    assert [name for name in files if files[name] != package[name].read_bytes()] == []


def test_it_is_described_and_licensed(wheel: ZipFile) -> None:
    described = {
        name.partition(".dist-info/")[2] for name in wheel.namelist() if ".dist-info/" in name
    }
    assert described == METADATA


@pytest.mark.skipif(platform.system() != "Linux", reason="manylinux is for Linux")
def test_one_wheel_serves_every_python_from_3_11_on() -> None:
    name = built("*.whl").name
    assert re.fullmatch(r"entresol-[\d.]+-cp311-abi3-manylinux_2_\d+_\w+\.whl", name)


def test_no_file_names_a_folder_of_this_machine(wheel: ZipFile, source: Path) -> None:
    with tarfile.open(source) as archive:
        texts = {
            getmember.name: archive.extractfile(getmember)
            for getmember in archive.getmembers()
            if getmember.isfile()
        }
        contents = {name: file.read() for name, file in texts.items() if file is not None}
    contents |= {name: wheel.read(name) for name in wheel.namelist() if name != NATIVE}
    assert [name for name, data in contents.items() if str(ROOT).encode() in data] == []


@pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo")
def test_the_source_distribution_is_packed_without_an_error(tmp_path: Path) -> None:
    (command,) = re.findall(r"maturin sdist.*(?= --out dist$)", MAKEFILE.read_text(), re.MULTILINE)
    ran = subprocess.run(
        [Path(sys.executable).parent / "maturin", *command.split()[1:], "--out", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=True,
    )
    assert "error" not in ran.stdout + ran.stderr


@pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="the page is of x86-64 Linux"
)
def test_the_page_has_the_sizes_of_what_was_built(wheel: ZipFile, source: Path) -> None:
    page = (ROOT / "docs" / "install.md").read_text()
    crate = wheel.getinfo(NATIVE).file_size
    for row, sizes in (
        ("the wheel for glibc 2.34", (built("*.whl").stat().st_size, crate)),
        ("the source distribution", (source.stat().st_size,)),
    ):
        (line,) = (line for line in page.splitlines() if line.startswith(f"| {row}"))
        told = [float(word) for word in re.findall(r"([\d.]+) MB", line)]
        assert told == pytest.approx([size / 1e6 for size in sizes], rel=0.1), line


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo")
def test_the_source_distribution_builds_the_wheel(
    wheel: ZipFile, source: Path, tmp_path: Path
) -> None:
    # cargo finds what it compiled already, unless a source of the crate is missing.
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "native" / "target"))
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    ran = subprocess.run(
        [*command, "--wheel-dir", str(tmp_path), str(source)],
        env=os.environ | {"CARGO_TARGET_DIR": target, "PATH": tools},
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (path,) = tmp_path.glob("*.whl")
    with ZipFile(path) as again:
        assert files_of(again).keys() == files_of(wheel).keys()
