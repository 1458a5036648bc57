"""The Node side: its types, its lock file and its set-up."""

import json
import os
import shutil
import signal
import subprocess

import numpy as np
import pytest
from background import wait_until

from nemesis.core.errors import UserError
from nemesis.core.files import cache_folder
from nemesis.core.game import EndReason
from nemesis.core.masks import unpack_mask
from nemesis.games.pokemon import formats, node
from nemesis.games.pokemon.hosts import host_process as bridge
from nemesis.games.pokemon.hosts.warm_hosts import WarmHosts


@pytest.fixture(scope="module")
def ready():
    found = node.find_node("bundled")
    return found, node.installed_host(found, development=True)


def test_host_passes_the_type_checker(ready):
    found, folder = ready
    command = [found.node, folder / "node_modules/typescript/bin/tsc", "-p", folder]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout


LONG_FUNCTIONS = """
import ts from 'typescript';
import { globSync, readFileSync } from 'node:fs';

for (const file of [...globSync('*.js'), ...globSync('*/*.js')].filter(name => !name.startsWith('node_modules'))) {
    const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
    const line = position => source.getLineAndCharacterOfPosition(position).line;
    const visit = node => {
        const lines = line(node.getEnd()) - line(node.getStart()) + 1;
        if (ts.isFunctionLike(node) && lines > 60) console.log(`${file}:${line(node.getStart()) + 1}: ${lines} lines`);
        ts.forEachChild(node, visit);
    };
    visit(source);
}
"""


def test_no_function_of_the_host_is_too_long(ready):
    found, folder = ready
    command = [found.node, "--input-type=module", "--eval", LONG_FUNCTIONS]
    outcome = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert outcome.stdout == ""


def test_lock_file_pins_the_simulator_and_names_no_address():
    lock = json.loads((node.HOST / "package-lock.json").read_text())
    assert lock["packages"]["node_modules/pokemon-showdown"]["version"] == "0.11.11"
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]
    assert all("integrity" in package for name, package in lock["packages"].items() if name)


def test_facts_of_the_formats_are_those_of_the_package(ready):
    found, folder = ready
    fresh = subprocess.run([found.node, folder / "tools/formats.js"], capture_output=True, text=True, check=True).stdout
    assert json.loads(fresh) == formats._facts()


def test_unreachable_registry_is_said_in_a_sentence(tmp_path, ready):
    found, _ = ready
    for name in ("package.json", "package-lock.json"):
        (tmp_path / name).write_bytes((node.HOST / name).read_bytes())
    (tmp_path / ".npmrc").write_text(
        f"registry=http://127.0.0.1:9/\nfetch-retries=0\ncache={tmp_path / 'cache'}\nreplace-registry-host=always\n"
    )
    with pytest.raises(UserError, match="registry cannot be reached"):
        node._install(found, tmp_path, development=False)


def test_set_up_that_cannot_write_ends_in_a_sentence(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(os, "access", lambda *_: False)
    node.installed_host.cache_clear()
    assert node.main() == 1
    assert "The Pokémon simulator cannot be installed in" in capsys.readouterr().err
    assert "is full" in node._install_error("npm error code ENOSPC\nnpm error syscall write", tmp_path)


def test_read_only_host_runs_from_a_copy_with_its_folders(tmp_path, monkeypatch):
    package = tmp_path / "host"
    shutil.copytree(node.HOST, package, ignore=shutil.ignore_patterns("node_modules"))
    (package / "node_modules" / "left-pad.js").mkdir(parents=True)
    (package / "node_modules" / "left-pad.js" / "index.js").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(node, "HOST", package)
    monkeypatch.setattr(os, "access", lambda *_: False)
    copy = node._host_folder()
    assert copy.parent == cache_folder()
    assert copy.stat().st_mode == copy.parent.stat().st_mode

    def sources(folder):
        found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
        return {path: (folder / path).read_bytes() for path in found if path.parts[0] != "node_modules"}

    wanted = {path: text for path, text in sources(package).items() if path.name != ".install.lock"}
    assert sources(copy) == wanted
    assert not (copy / "node_modules").exists()
    assert node._host_folder() == copy
    with (package / "battle" / "match.js").open("a") as file:
        file.write("// another version\n")
    assert node._host_folder() != copy


def test_old_system_node_is_refused(tmp_path, monkeypatch):
    for name in ("node", "npm"):
        (tmp_path / name).write_text("#!/bin/sh\necho v18.1.0\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    node.find_node.cache_clear()
    with pytest.raises(UserError, match=r"v18\.1\.0.*20 or newer"):
        node.find_node("system")
    node.find_node.cache_clear()


def test_other_protocol_or_layout_is_refused():
    host = bridge.Host("bundled")
    facts = formats.find_format("gen1randombattle")
    details = {
        "format": facts.id,
        "facts": {"slots": 1, "brought": 6, "generated": True},
        "slots": 1,
        "sheets": False,
        "turnLimit": 100,
        "reasons": {},
        "vocabulary": bridge.dex.vocabulary().for_host(),
    }
    layout = bridge.layout.for_host()
    with pytest.raises(UserError, match="protocol"):
        host.ask("start", protocol=bridge.PROTOCOL + 1, layout=layout, **details)
    strange = json.loads(json.dumps(layout))
    strange["blocks"]["position"]["fields"]["mood"] = [0, 1]
    with pytest.raises(UserError, match="mood"):
        host.ask("start", protocol=bridge.PROTOCOL, layout=strange, **details)
    missing = json.loads(json.dumps(layout))
    del missing["blocks"]["pokemon"]["fields"]["hp"]
    with pytest.raises(UserError, match="hp"):
        host.ask("start", protocol=bridge.PROTOCOL, layout=missing, **details)
    host.close()


def test_hosts_are_reused_unless_they_died_or_owe_an_answer():
    hosts, setting = WarmHosts("bundled"), bridge.Setting(formats.find_format("gen1randombattle"), 1, False, 100)
    (first,) = hosts.take([setting])
    with pytest.raises(UserError, match="protocol"):
        first.ask("start", protocol=bridge.PROTOCOL + 1)
    hosts.give_back(first)
    assert hosts.take([setting]) == [first]
    hosts.give_back(first)
    os.kill(first.pid, signal.SIGKILL)
    wait_until(lambda: not first.reusable)
    (second,) = hosts.take([setting])
    assert second is not first
    second.begin_step(np.zeros(0, dtype=np.int64), [])  # its user is interrupted before it reads the answer
    hosts.give_back(second)
    assert hosts._idle == []
    assert second._process.poll() is not None


def test_the_third_refusal_voids_the_battle_and_each_before_it_is_a_new_decision():
    no_gimmick = 7  # of Gen 1, so that no choice of it is ever taken
    host = bridge.Host("bundled")
    host.start(bridge.Setting(formats.find_format("gen1randombattle"), 1, False, 100))
    setup = {"seed": "gen5,0000000000000001", "teams": ["gen5,0000000000000002", "gen5,0000000000000003"]}
    host.begin_step(np.zeros(0, dtype=np.int64), [{"slot": 0, "setup": setup}])
    waiting = host.end_step()
    assert waiting.seat.tolist() == [0, 1]
    other = int(unpack_mask(waiting.mask[1], 8).argmax())  # a move
    for actions in ([no_gimmick, other], [no_gimmick]):
        host.begin_step(np.array(actions), [])
        waiting = host.end_step()
        assert waiting.seat.tolist() == [0]
        assert waiting.ended == []
    host.begin_step(np.array([no_gimmick]), [])
    waiting = host.end_step()
    assert len(waiting.seat) == 0
    (ended,) = waiting.ended
    assert (ended.winner, ended.reason) == (-1, EndReason.REFUSED)
    assert ended.problem
    host.close()


def test_an_installation_ends_by_a_signal_without_a_traceback(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(node, "installed_host", interrupted)
    assert node.main() == 130
    assert "Traceback" not in capsys.readouterr().err
