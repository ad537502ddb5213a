"""Units from the installed package: each in its place, and what operators edit is left alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from headrace.cli import systemd_files
from headrace.cli.systemd_files import EDITED, NEWER_SYSTEMD, PLACES, SHIPPED_PROGRAMS

FOLDER = Path(__file__).resolve().parent.parent.parent / "systemd"


def test_every_file_of_the_folder_has_a_place():
    shipped = {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*") if path.is_file()}
    assert {name for name in shipped if not name.endswith((".py", ".pyc", ".md"))} == PLACES.keys()
    assert PLACES.keys() >= EDITED | NEWER_SYSTEMD.keys()


def test_the_files_are_written_below_the_root_and_name_the_program_that_wrote_them(tmp_path, monkeypatch):
    monkeypatch.setattr(systemd_files, "_systemd_version", lambda: 254)
    assert systemd_files.systemd_files(tmp_path) == 0
    for name, place in PLACES.items():
        expected = (FOLDER / name).read_text().replace(SHIPPED_PROGRAMS, f"{sys.prefix}/bin/")
        assert (tmp_path / place).read_text() == expected
        assert (tmp_path / place).stat().st_mode & 0o777 == 0o644
    assert f"ExecStart={sys.prefix}/bin/headrace start" in (tmp_path / PLACES["headrace.service"]).read_text()


@pytest.mark.process
def test_an_edited_file_is_kept_and_a_unit_is_renewed(tmp_path, capsys):
    systemd_files.systemd_files(tmp_path)
    edited, unit = tmp_path / PLACES["server.properties"], tmp_path / PLACES["headrace.service"]
    edited.write_text("broker.id=7\n")
    unit.write_text("[Unit]\n")
    systemd_files.systemd_files(tmp_path)
    assert edited.read_text() == "broker.id=7\n"
    assert "ExecStart=" in unit.read_text()
    assert f"kept     {edited}" in capsys.readouterr().out


def test_an_older_systemd_gets_no_keys_that_it_would_warn_of(tmp_path, monkeypatch):
    monkeypatch.setattr(systemd_files, "_systemd_version", lambda: 252)
    systemd_files.systemd_files(tmp_path)
    assert not (tmp_path / PLACES["headrace.service.d/restart-delay.conf"]).exists()
    assert (tmp_path / PLACES["headrace.service.d/data-disks.conf"]).exists()


@pytest.mark.process
def test_a_directory_that_cannot_be_written_is_an_error_in_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    command = [sys.executable, "-m", "headrace.cli.main", "systemd-files", str(tmp_path / "file")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("headrace: ")
    assert done.stderr.count("\n") == 1
