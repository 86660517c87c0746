"""The free instrument without a browser: its dials follow each other, what can't stay says so, and the socket answers."""

import json
import re

import pytest
from starlette.testclient import TestClient

import ironlaw as il
from ironlaw.pages.choices import choices
from ironlaw.pages.explore import explore_settings
from ironlaw.pages.explore.explore_formula import formula
from ironlaw.pages.explore.explore_page import piece
from ironlaw.pages.explore.view import view
from ironlaw.widget.quantities import format_quantity

OURS = {"origin": "http://127.0.0.1:2718"}


def turned(**values) -> dict:
    """The view after a dial was turned."""
    return view({"dials": explore_settings.strict(values)[1], "seq": 1})


def opened(**values) -> dict:
    """The view of an address."""
    return view({"dials": explore_settings.strict(values)[1]})


def test_every_model_and_machine_can_be_chosen():
    listed = {dial["id"]: [option["value"] for option in dial["options"]] for dial in explore_settings.dials({})[:2]}
    assert set(listed["workload"]) == set(il.workloads())
    assert set(listed["hardware"]) == {machine["slug"] for machine in choices()["machines"]}


def test_dials_are_there_where_the_model_takes_them():
    def shown(**values) -> set[str]:
        return {dial["id"] for dial in explore_settings.dials(values) if not dial.get("hidden")}

    assert not {"seq", "context", "phase"} & shown(workload="resnet50")
    assert {"seq", "phase"} <= shown(workload="gpt2") and "context" not in shown(workload="gpt2")
    assert {"context", "phase"} <= shown(workload="gpt2", phase="decode") and "seq" not in shown(workload="gpt2", phase="decode")
    assert "figures" in shown(hardware="h200_sxm") and "figures" not in shown(hardware="cortex_m7")


@pytest.mark.parametrize(
    ("machine", "dial", "says"),
    [
        ("h200_sxm", "measured", "curves fitted to measurements of this machine"),
        ("h100_sxm", "transferred", "≈ Estimated from"),
        ("cortex_m7", None, "A bound from"),
    ],
)
def test_a_machine_nobody_measured_has_an_estimate_that_says_so(machine, dial, says):
    named = next(each for each in explore_settings.dials({"hardware": machine}) if each["id"] == "figures")
    assert bool(named.get("hidden")) is (dial is None)
    assert dial is None or named["options"][0]["label"] == dial
    workload = {"workload": "dscnn_kws", "dtype": "int8"} if machine == "cortex_m7" else {"workload": "gpt2"}
    shown = turned(hardware=machine, **workload)
    assert says in str(shown["figures"][0]) and ("four measured runs in five" in shown["note"]) is (dial is not None)
    if dial is not None:
        assert "A bound from" in str(turned(hardware=machine, figures="datasheet", **workload)["figures"][0])


def test_another_host_launches_the_same_kernels():
    usual, bare, vm = (turned(workload="gpt2", batch=1, **host) for host in ({}, {"host": "dgx_h100"}, {"host": "xeon_vm"}))
    seconds = [float(shown["cards"][0]["exact"].split("\u202f")[0]) for shown in (bare, usual, vm)]
    assert seconds == sorted(seconds) and seconds[0] < 0.85 * seconds[2]  # the device waits for its launches
    assert "host" not in usual["query"] and bare["query"].endswith("&host=dgx_h100")
    assert dict(explore_settings.read([("host", "dgx_h100")])) == {"host": "dgx_h100"}
    assert "8.14" in bare["dials"]["host"]["help"]  # µs for an element-wise operator


def test_a_processor_has_no_host_to_choose():
    hidden = {
        machine: next(d for d in explore_settings.dials({"hardware": machine}) if d["id"] == "host")["hidden"] for machine in ("t4", "pi5")
    }
    assert hidden == {"t4": False, "pi5": True}
    assert opened(host="nobody")["error"]["dial"] == "host"


def test_a_precision_that_a_machine_lacks_is_replaced_and_what_was_asked_is_kept():
    shown = turned(hardware="cortex_m7", dtype="fp16")
    assert shown["moved"]["dtype"]["asked"] == "fp16" and shown["moved"]["dtype"]["value"] == "fp32"
    assert "This machine has no fp16, so this shows fp32" in shown["dials"]["dtype"]["help"]
    assert "dtype=fp32" in shown["query"] and shown["error"] is None
    back = turned(hardware="h100_sxm", dtype="fp16")
    assert back["moved"] == {} and "dtype=fp16" in back["query"]


def test_a_longer_sequence_than_the_model_has_gives_way():
    shown = turned(workload="bert_base", seq=9999)
    assert shown["moved"]["seq"]["asked"] == 9999
    assert shown["error"] is None


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"hardware": "h900"}, "hardware"),
        ({"workload": "resnet5000"}, "workload"),
        ({"batch": 0}, "batch"),
        ({"batch": "many"}, "batch"),
        ({"hardware": "cortex_m7", "dtype": "fp16"}, "dtype"),
        ({"workload": "bert_base", "seq": 9999}, "seq"),
        ({"workload": "gpt2", "phase": "sleep"}, "phase"),
        ({"mode": "fast"}, "mode"),
    ],
)
def test_an_address_is_taken_as_it_is_and_refused_at_its_dial(values, field):
    shown = opened(**values)
    assert shown["error"]["dial"] == field
    assert "figures" not in shown


@pytest.mark.parametrize("values", [{"hardware": "h900"}, {"workload": "resnet5000"}, {"batch": 0}, {"batch": "many"}, {"mode": "fast"}])
def test_after_a_turn_whatever_an_address_asked_gives_way(values):
    shown = turned(**values)
    assert shown["error"] is None
    assert len(shown["figures"]) == 2


def test_the_view_says_what_the_engine_says():
    shown = turned(workload="resnet50", hardware="h100_sxm", batch=8, dtype="fp16")
    p = il.predict(il.workload("resnet50", batch=8, dtype="fp16"), il.hardware("h100_sxm"))
    time, _, _, kernels, memory, _ = shown["cards"]
    assert f"{time['value']}\u202f{time['unit']}" == format_quantity(p.seconds, "s")
    assert kernels["value"] == f"{int(p.kernels):,}"
    assert f"{memory['value']}\u202f{memory['unit']}" == format_quantity(p.memory.total, "B")
    rows = shown["sections"][0]["table"]["rows"]
    assert sum(row[6] for row in rows) == pytest.approx(sum(row.seconds for row in p.ops))


def test_tables_wait_until_the_dials_rest():
    moving = view({"dials": explore_settings.strict({})[1], "seq": 1, "moving": True})
    assert "sections" not in moving and moving["figures"] == turned()["figures"]


def test_out_of_memory_offers_settings_that_fit():
    values = {"workload": "resnet50", "hardware": "cortex_m7", "dtype": "fp32"}
    banner = turned(**values)["banner"]
    assert banner["tone"] == "fail" and "20.8×" in banner["text"] and "weights" not in banner["text"]
    for action in banner["actions"]:
        assert turned(**values | action["dials"])["banner"] is None, action


def test_the_socket_answers_for_the_page(client: TestClient):
    with client.websocket_connect("ws://127.0.0.1:2718/direct", headers=OURS) as socket:
        state = {"dials": {**piece().state["dials"], "batch": 4}, "seq": 7}
        socket.send_text(json.dumps({"piece": "explore", "state": state}))
        reply = json.loads(socket.receive_text())
    assert reply["piece"] == "explore" and reply["view"]["seq"] == 7
    assert "batch=4" in reply["view"]["query"] and "sections" in reply["view"]


@pytest.mark.parametrize(
    ("model", "fmt", "machine"), [("resnet50", "int8", "h200_sxm"), ("resnet50", "fp16", "h200_sxm"), ("gpt2", "fp16", "h100_sxm")]
)
def test_no_rate_over_the_rated_one_is_said_to_be_reached(model: str, fmt: str, machine: str):
    """Ops bound by memory leave next to nothing under O/R: their operations over that are no rate."""
    text = re.sub(r"<[^>]+>", "", formula(il.predict(il.workload(model, dtype=fmt), il.hardware(machine))))
    shares = [float(number.replace(",", "")) for number in re.findall(r"reached on average, ([\d.,]+)", text)]
    assert all(share <= 100.5 for share in shares), text
    assert ("the rest overlaps with the other terms" in text) == (fmt == "int8")
