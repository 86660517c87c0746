"""Where `analyze` takes a list, the other commands do: batches, machines and modes side by side, each as if asked for alone."""

import pytest


def test_batches_of_a_workload(sh):
    told = sh.json("workload", "resnet50", "--batch", "1,8,8")
    assert [one["batch"] for one in told["variants"]] == [1, 8]
    assert told["variants"][1].items() >= {"flops": sh.json("workload", "resnet50", "--batch", "8")["flops"]}.items()
    assert told["flops"] == told["variants"][0]["flops"] and sh.json("workload", "resnet50")["variants"] == []
    assert "batches" in sh.out("workload", "resnet50", "--batch", "1,8")


def test_batches_of_a_fused_model(sh):
    told = sh.json("fuse", "gpt2_layer", "--batch", "1,8")
    assert [one["batch"] for one in told["variants"]] == [1, 8]
    alone = sh.json("fuse", "gpt2_layer", "--batch", "8")
    assert (told["variants"][1]["before"], told["variants"][1]["after"]) == (alone["before"], alone["after"]) and alone["variants"] == []
    assert "saved" in sh.out("fuse", "gpt2_layer", "--batch", "1,8").partition("batches")[2]


def test_batches_of_a_training_step(sh):
    argv = ("memory", "gpt2", "--seq", "256", "--on", "t4,h200")
    told = sh.json(*argv, "--batch", "2,64")
    assert [one["batch"] for one in told["variants"]] == [2, 64] and told["batch"] == 2
    alone = sh.json(*argv, "--batch", "64")
    assert told["variants"][1]["peak_bytes"] == alone["peak_bytes"] and alone["variants"] == []
    assert told["variants"][1]["fits"] == {one["hardware"]: one["fits"] for one in alone["machines"]}
    assert "does not fit" in sh.out(*argv, "--batch", "2,64")


def test_machines_and_modes_of_a_queue(sh):
    argv = ("queue", "--rate", "100", "--workload", "mlp8_1024")
    told = sh.json(*argv, "--on", "h200,t4", "--mode", "eager,graphs")
    assert [(one["hardware"], one["mode"]) for one in told["variants"]] == [
        ("h200_sxm", "eager"), ("h200_sxm", "graphs"), ("t4", "eager"), ("t4", "graphs"),
    ]  # fmt: skip
    alone = sh.json(*argv, "--on", "t4", "--mode", "graphs")
    assert told["variants"][3]["capacity"] == alone["capacity"] and told["variants"][3]["rates"] == alone["rates"]
    assert told["capacity"] == told["variants"][0]["capacity"] and alone["variants"] == []
    out = sh.out(*argv, "--on", "h200,t4")
    assert "h200_sxm, eager" in out and "t4, eager" in out


@pytest.mark.parametrize(
    "command", [("workload", "resnet50"), ("fuse", "gpt2_layer"), ("memory", "gpt2"), ("predict", "resnet50", "--on", "t4")]
)
def test_an_empty_place_in_a_list_is_refused(sh, command):
    code, _, err = sh(*command, "--batch", "1,,8")
    assert code == 2 and "empty number" in err
