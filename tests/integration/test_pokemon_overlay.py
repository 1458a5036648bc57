"""The speed overlay changes nothing but the speed."""

import json
import subprocess

import pytest

from nemesis.games.pokemon import node


def compare(*options):
    found = node.find_node("bundled")
    command = [found.node, node.installed_host(found) / "tools/identity.js", *options]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.stdout, outcome.stderr
    return outcome.returncode, json.loads(outcome.stdout.splitlines()[-1])


def test_overlaid_battles_are_those_of_the_stock_simulator():
    code, found = compare("--battles", "21", "--seed", "1")
    assert found["difference"] is None
    assert code == 0
    assert sum(count_reasons["battles"] for count_reasons in found["formats"].values()) == 21
    assert {"gen1ou", "gen1randombattle", "gen4randombattle", "gen7randombattle", "gen9ou", "gen9randombattle"} <= set(
        found["formats"]
    )
    for name in (
        "gen9randomdoublesbattle",
        "gen9vgc2025regi",
        "gen9championsvgc2026regma",
        "gen9championsvgc2026regmb",
    ):
        assert found["formats"][name]["lines"] > 0
    assert all(count_reasons["failures"] < count_reasons["battles"] for count_reasons in found["formats"].values())


@pytest.mark.parametrize(
    "change",
    [
        pytest.param("prototype.random = function () { return this.prng.random(2) }", id="draws"),
        pytest.param("prototype.runEvent = function () { return true }", id="events"),
    ],
)
def test_wrong_overlay_is_found_out(change, tmp_path):
    wrong = tmp_path / "overlay.mjs"
    wrong.write_text(f"export function installOverlay({{ load }}) {{ load('battle').Battle.{change}; }}")
    code, found = compare("--battles", "3", "--formats", "gen1ou", "--overlay", str(wrong))
    assert code == 1
    assert found["difference"]["format"] == "gen1ou"
    assert found["difference"]["stock"] != found["difference"]["overlaid"]


def test_overlay_that_misses_one_rare_event_is_found_out(tmp_path):
    overlay = (node.HOST / "overlay/install.js").as_uri()
    nearly_right = tmp_path / "overlay.mjs"
    nearly_right.write_text(
        f"""
        import {{ installOverlay as install }} from {json.dumps(overlay)};
        export function installOverlay(modules) {{
          install(modules);
          const {{ prototype }} = modules.load('battle').Battle;
          const {{ runEvent }} = prototype;
          prototype.runEvent = function (event, target, source, effect, relayed, ...more) {{
            if (event === 'ModifySecondaries') return relayed;
            return runEvent.call(this, event, target, source, effect, relayed, ...more);
          }};
        }}
        """
    )
    code, found = compare("--battles", "30", "--formats", "gen9randomdoublesbattle", "--overlay", str(nearly_right))
    assert code == 1
    assert found["difference"]["stock"] != found["difference"]["overlaid"]
