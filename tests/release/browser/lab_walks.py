"""What a learner does in one lab and in no other, and what comes of it; test_labs_walked.py walks through all of them."""

import re

from lab_steps import changes, choose_context
from lab_walk import Walk, banner, hud, number, pick
from playwright.sync_api import Locator, Page, expect

from ironlaw.labs.lab_10_frontier import llama
from ironlaw.registry.workloads import about
from ironlaw.units import significant

# --- Lab 08


def ledger_step(page: Page, step: Locator) -> None:
    expect(page.get_by_text("too low by a factor of 7.51")).to_be_visible()
    step.get_by_role("tab", name="The step").click()
    expect(step.locator("[data-figure=mountain] .il-target[aria-label*='log-softmax']").first).to_be_attached()
    changes(page, step.locator(".il-show"), lambda: step.get_by_label("Precision").select_option(label="BF16, FP32 master"))
    expect(hud(page)).to_contain_text("44×")  # over BF16 weights


def ledger_levers(page: Page, levers: Locator) -> None:
    expect(banner(levers)).to_contain_text("The saved activations do not fit")
    pick(levers, "every layer")
    expect(banner(levers)).to_contain_text("The output head and the loss do not fit")
    page.get_by_role("button", name="then compute the loss in chunks").click()
    expect(banner(levers)).to_contain_text("It fits")


def ledger_controls(page: Page, step: Locator, levers: Locator) -> None:
    changes(page, step, lambda: step.get_by_label("Precision").select_option(index=0))
    changes(page, levers, lambda: pick(levers, "nothing"))


# --- Lab 10


def listed(row: str) -> str:
    """A format as the menu has it."""
    return f"{row}, {significant(llama.size(row) / 1e9)} GB"


def bits_and_channels(page: Page, first: Locator) -> None:
    expect(page.locator("#act1-reveal")).to_contain_text("×4.26")
    expect(hud(page)).to_contain_text("8 bits, 10.2%")
    page.locator("#act1-reveal").get_by_role("button", name=re.compile("Now take away bits")).click()
    pick(first, "2")
    expect(hud(page)).to_contain_text("2 bits, 90%")
    expect(first.locator(".il-thumbs li")).to_have_count(8)
    page.locator("#act1-reveal").get_by_role("button", name=re.compile("Give each channel")).click()
    expect(hud(page)).to_contain_text("8 bits, 82.9%")


def frontier(page: Page, second: Locator) -> None:
    expect(banner(second)).to_contain_text("Off the frontier")
    second.get_by_label("Format", exact=True).select_option(label=listed("Q8_0"))
    expect(banner(second)).to_contain_text("Worth shipping")
    pick(second, "unpacks to FP16 first")
    expect(banner(second)).to_contain_text("Smaller, but slower")
    changes(page, second, lambda: number(second, "Perplexity, at most", "6.3"))
    pick(second, "digit classifier", "INT8 product", "6")
    expect(banner(second)).to_contain_text("Worth shipping")
    expect(hud(page)).to_contain_text("meets the goal")


def frontier_controls(page: Page, first: Locator, second: Locator) -> None:
    for option in ("4", "tensor", "where the error is least", "depthwise convolutions"):
        changes(page, first, lambda option=option: pick(first, option))
    for option in ("50%", "left out, a bitmap", "sparse product", "3"):
        changes(page, second, lambda option=option: pick(second, option))
    changes(page, second, lambda: second.get_by_label("Width", exact=True).select_option(label="a quarter"))


# --- Lab 12


def the_pass(page: Page, first: Locator) -> None:
    expect(first.locator('[data-figure="pass"]')).to_contain_text("you said 11")
    page.get_by_role("button", name="Take the host's time away").click()
    expect(hud(page)).to_contain_text("of 10.9× at most")


def workers(page: Page, second: Locator) -> None:
    expect(banner(second)).to_contain_text("Out of reach")
    number(second, "Workers", "18")
    number(second, "Weeks of work", "2")
    expect(banner(second)).to_contain_text("The promise is kept")
    page.get_by_role("button", name="Commit this design").click()
    expect(page.locator("#act2-decide .il-feedback")).to_contain_text("397")


def workers_controls(page: Page, first: Locator, second: Locator) -> None:
    passes = first.get_by_label("Pass", exact=True)
    passes.select_option(label="Your pipeline, four stages")  # what was measured is one of the passes
    expect(first.get_by_label("What gets faster", exact=True).last).to_be_visible()
    changes(page, first, lambda: passes.select_option(label=f"{about('gpt2')['name']}, batch 16"))
    changes(page, first, lambda: first.get_by_role("button", name="100", exact=True).click())
    changes(page, first, lambda: first.get_by_text("overlap", exact=True).click())
    changes(page, second, lambda: second.get_by_text("the serial share", exact=True).click())
    changes(page, second, lambda: number(second, "Serial share", "5"))
    changes(page, second, lambda: second.get_by_text("grows with the workers", exact=True).click())
    changes(page, first, lambda: choose_context(page, "Arm Neoverse, two cores"))


# --- Lab 13


def the_line(page: Page, first: Locator) -> None:
    changes(page, first, lambda: pick(first, "rows"))
    changes(page, first, page.get_by_role("button", name="in bursts").click)
    expect(first.get_by_role("spinbutton", name="Requests in a burst")).to_have_value("50")


def the_server(page: Page, second: Locator) -> None:
    expect(banner(second)).to_contain_text("It works")
    rate = second.get_by_role("spinbutton", name="Requests per second")
    rate.fill("50000")
    expect(banner(second)).to_contain_text("The queue never stops growing")
    expect(hud(page)).to_contain_text("unbounded")
    held = second.locator('[data-figure="by-rate"] .il-target[aria-label^="as set"]')
    held.scroll_into_view_if_needed()
    box = held.bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 150, y, steps=4)
    page.mouse.up()
    expect(rate).not_to_have_value("50,000")
    expect(banner(second)).to_contain_text("It works")
    takes = second.get_by_label("When free, the server picks up")
    takes.select_option(label="a full batch")
    expect(banner(second)).to_contain_text(re.compile("Waiting for nothing|Too slow"))
    takes.select_option(label="everyone waiting")
    expect(banner(second)).to_contain_text("It works")


def line_controls(page: Page, first: Locator, second: Locator) -> None:
    changes(page, first, lambda: pick(first, "a slice"))
    expect(first.locator('[data-figure="staircase"]')).to_contain_text("it is 24")
    changes(page, second, lambda: number(second, "GPUs", "4"))
    second.get_by_role("tab", name="Busy and loaded").click()
    expect(second.locator('[data-figure="meters"] .il-drawing')).to_be_visible()


# --- Lab 14


def the_load_test(page: Page, first: Locator) -> None:
    expect(banner(first)).to_contain_text("The test misses the stall")
    expect(page.locator("#act1-reveal")).to_contain_text("too low by a factor of 91.1")
    page.get_by_role("button", name="Open 64 connections").click()  # a sentence that turns a dial
    expect(banner(first)).to_contain_text("The test agrees")
    for tab in ("Around a stall", "All requests"):
        first.get_by_role("tab", name=tab).click()
        expect(first.locator(".il-drawing").first).to_be_visible()
    changes(page, first, lambda: number(first, "Stopped", "30"))


def the_page_of_shards(page: Page, second: Locator) -> None:
    expect(banner(second)).to_contain_text("It can get stuck")
    second.get_by_text("cancel the slower one", exact=True).click()
    expect(banner(second)).to_contain_text("Pages are in time")
    number(second, "Page's P99, at most", "50")
    expect(banner(second)).to_contain_text("Pages are too slow")
    number(second, "Shards per page", "2000")
    expect(banner(second)).to_contain_text("Too few requests to know")


def tail_controls(page: Page, first: Locator, second: Locator) -> None:
    expect(page.locator("#act1-measure")).to_contain_text("on schedule")
    changes(page, second, lambda: second.get_by_role("slider", name="Utilisation", exact=True).press("Home"))
    expect(banner(second)).not_to_contain_text("stuck")


# --- Lab 15


def two_groups(page: Page, first: Locator) -> None:
    expect(first.locator('[data-figure="ratio"]')).to_contain_text("you said 3")
    expect(hud(page)).to_contain_text("5.6 points")
    page.get_by_role("button", name="The vendor's question").click()
    expect(hud(page)).to_contain_text("21.4 points")
    first.get_by_role("tab", name="A hundred people").click()
    expect(first.locator('[data-figure="people"]')).to_contain_text("59.1")
    choose_context(page, "Credit scores")
    expect(first.get_by_label("First group", exact=True)).to_be_visible()


def a_rule(page: Page, second: Locator) -> None:
    expect(banner(second)).to_contain_text("Too little profit")
    second.get_by_label("Rule", exact=True).select_option(label="equal selection rates")
    expect(banner(second)).to_contain_text("The gap is too large")
    number(second, "Profit to keep", "70")
    number(second, "Largest gap allowed", "40")
    expect(banner(second)).to_contain_text("The board can defend it")


def parity_controls(page: Page, first: Locator, second: Locator) -> None:
    changes(page, first, lambda: number(first, "Threshold", "70"))
    changes(page, second, lambda: number(second, "Repayment", "70"))
    changes(page, second, lambda: pick(second, "one for all, by law"))
    changes(page, first, lambda: choose_context(page, "Two made-up groups"))
    changes(page, first, lambda: number(first, "Base rate of A", "60"))


# --- Lab V2-02


def the_ring(page: Page, first: Locator) -> None:
    expect(page.locator("#act1-reveal")).to_contain_text("23.6")
    into = first.get_by_role("slider", name="Progress of the step", exact=True)
    first.get_by_role("button", name="Progress of the step: one step on").click()
    expect(into).to_have_value("21")
    first.get_by_role("button", name="Progress of the step: play").click()
    expect(into).to_have_value("50")  # the end of fifty steps
    expect(first.locator('[data-figure="wires"] .il-drawing')).to_have_attribute("aria-label", re.compile("4 of 4 have arrived"))
    page.get_by_role("button", name="Let the ring alternate between the pairs").click()
    expect(first.get_by_label("alternating")).to_be_checked()
    changes(page, first, lambda: number(first, "Cards in use", "2"))
    expect(hud(page)).to_contain_text("210 GB/s")  # two steps of latency are nothing beside a gigabyte


def the_groups(page: Page, second: Locator) -> None:
    choose_context(page, "DGX H100", "act2")
    expect(banner(second)).to_contain_text("over the cliff")  # the question's own group
    group = second.locator('[data-dial="tensor"]')
    group.get_by_text("2", exact=True).click()
    expect(banner(second)).to_contain_text("The gradients wait")
    number(second, "NICs in use per box", "8")
    expect(banner(second)).to_contain_text("It works")
    group.get_by_text("8", exact=True).click()
    expect(banner(second)).to_contain_text("It runs, but it waits too much")
    group.get_by_text("2", exact=True).click()
    expect(banner(second)).to_contain_text("It works")


def wires_controls(page: Page, first: Locator, second: Locator) -> None:
    changes(page, first, lambda: pick(first, "all-to-all"))
    for tab, drawn in (("Time by size", "by-size"), ("Wires and ring", "staircase")):
        first.get_by_role("tab", name=tab).click()
        expect(first.locator(f'[data-figure="{drawn}"] .il-drawing')).to_be_visible()
    changes(page, second, lambda: second.get_by_label("Tokens per sequence").select_option(label="2,048"))
    second.get_by_role("tab", name="Memory").click()
    expect(second.locator('[data-figure="memory"] .il-drawing')).to_be_visible()


# --- Lab V2-06


def the_sum(page: Page, first: Locator) -> None:
    expect(page.locator("#act1-reveal")).to_contain_text("8.82")
    page.get_by_role("button", name="Watch the tree").click()
    first.get_by_role("tab", name="Step by step").click()
    steps = first.locator('[data-figure="steps"] .il-drawing')
    expect(steps).to_have_attribute("aria-label", re.compile("4 messages of 1"))
    first.get_by_role("button", name="Progress of the sum: play").click()
    expect(steps).to_have_attribute("aria-label", re.compile("8 of 8 ranks hold the whole sum"))
    page.get_by_role("button", name="Set it beside the ring").click()
    expect(hud(page)).to_contain_text("480 MB")


def the_buckets(page: Page, second: Locator) -> None:
    expect(banner(second)).to_contain_text("Latency takes most of it")
    second.locator('[data-dial="algorithm"] select').select_option(label="two levels")
    number(second, "Bucket", "100")
    expect(banner(second)).to_contain_text("It is hidden")
    pick(second, "first layer first")
    expect(banner(second)).to_contain_text("pile up")
    pick(second, "on each device")
    expect(banner(second)).to_contain_text("does not fit")
    pick(second, "split (ZeRO-1)", "as they are made")
    expect(banner(second)).to_contain_text("It is hidden")


def sum_controls(page: Page, first: Locator, second: Locator) -> None:
    changes(page, first, lambda: pick(first, "all"))
    for tab, drawn in (("Who, when", "spacetime"), ("Time by size", "by-size")):
        first.get_by_role("tab", name=tab).click()
        expect(first.locator(f'[data-figure="{drawn}"] .il-drawing')).to_be_visible()
    changes(page, first, lambda: number(first, "Latency of a step, α", "50"))
    changes(page, second, lambda: second.get_by_label("Devices").select_option(label="64"))
    second.get_by_role("tab", name="By bucket").click()
    expect(second.locator('[data-figure="by-bucket"] .il-drawing')).to_be_visible()


# --- Lab V2-10


def the_slots(page: Page, first: Locator) -> None:
    expect(page.locator("#act1-reveal")).to_contain_text("12 of those fit")
    page.get_by_role("button", name="Store the cache in FP8").click()
    expect(hud(page)).to_contain_text("25 requests")
    first.locator('[data-dial="cache"]').get_by_text("16 bits", exact=True).click()
    expect(hud(page)).to_contain_text("12 requests")
    number(first, "Devices", "1")
    expect(banner(first)).to_contain_text("The weights don't fit")
    number(first, "Devices", "8")


def the_promise(page: Page, second: Locator) -> None:
    expect(banner(second)).to_contain_text("Answers stutter")
    moment = second.get_by_role("slider", name="Moment", exact=True)
    second.get_by_role("button", name="Moment: one step on").click()
    expect(moment).to_have_value("25")
    second.locator('[data-dial="prompts"]').get_by_text("in chunks, beside decoding").click()
    second.get_by_label("Tokens per step, at most").select_option(label="512")
    expect(banner(second)).to_contain_text("The SLO is met")
    second.locator('[data-dial="devices"]').get_by_text("1", exact=True).click()
    expect(banner(second)).to_contain_text("doesn't fit")
    second.locator('[data-dial="devices"]').get_by_text("4", exact=True).click()
    expect(banner(second)).to_contain_text("The SLO is met")


def serving_controls(page: Page, first: Locator, second: Locator) -> None:
    changes(page, first, lambda: pick(first, "as in Azure's chats"))
    for tab, drawn in (("How many fit", "by-context"), ("A decode step", "step")):
        first.get_by_role("tab", name=tab).click()
        expect(first.locator(f'[data-figure="{drawn}"] .il-drawing')).to_be_visible()
    changes(page, second, lambda: pick(second, "only a new batch"))
    for tab, drawn in (("Over time", "over-time"), ("How long", "times")):
        second.get_by_role("tab", name=tab).click()
        expect(second.locator(f'[data-figure="{drawn}"] .il-drawing')).to_be_visible()


# --- Lab V2-07


def the_interval(page: Page, first: Locator) -> None:
    expect(page.locator("#act1-reveal")).to_contain_text("18.6")
    number(first, "Save every", "19")
    expect(hud(page)).to_contain_text("19 min")
    first.get_by_role("tab", name="A day").click()
    into = first.get_by_role("slider", name="Hour of the day", exact=True)
    page.get_by_role("button", name="play it").click()
    expect(into).to_have_value("0")
    first.get_by_role("button", name="Hour of the day: one step on").click()
    expect(into).to_have_value("1")
    first.get_by_role("button", name="Hour of the day: play").click()
    expect(into).to_have_value("96")  # a day in quarters of an hour
    expect(first.locator('[data-figure="day"] .il-drawing')).to_have_attribute("aria-label", re.compile("After 1 d|After 24"))


def the_saves(page: Page, second: Locator) -> None:
    expect(banner(second)).to_contain_text("Too much of the time")
    number(second, "Time to detect a failure", "10")
    number(second, "Time to restart", "20")
    expect(banner(second)).to_contain_text("It works")
    pick(second, "until it is in host memory")
    number(second, "Far saves every", "0.1")
    expect(banner(second)).to_contain_text("Too much of the time")
    number(second, "Far saves every", "2")
    expect(banner(second)).to_contain_text("It works")
    number(second, "Spare hosts", "0")
    expect(banner(second)).to_contain_text("waits for a host")
    number(second, "Spare hosts", "164")
    expect(banner(second)).to_contain_text("It works")


def saves_controls(page: Page, first: Locator, second: Locator) -> None:
    first.get_by_role("tab", name="By interval").click()
    changes(page, first, lambda: pick(first, "in bunches"))
    changes(page, second, lambda: number(second, "Time to restart", "600"))
    second.get_by_role("tab", name="By GPUs").click()
    expect(second.locator('[data-figure="by-gpus"] .il-drawing')).to_be_visible()


# --- Lab V2-15


def the_meter(page: Page, first: Locator) -> None:
    expect(page.locator("#act1-reveal")).to_contain_text("63.8")
    page.get_by_role("button", name="Make energy the whole price").click()
    expect(banner(first)).to_contain_text("It depends")
    first.get_by_role("tab", name="Where it backfires").click()
    expect(first.locator('[data-figure="plane"] .il-drawing')).to_be_visible()
    pick(first, "from the bill")
    expect(banner(first)).to_contain_text("Less energy")
    number(first, "Machine time per token", "50")
    expect(banner(first)).to_contain_text("It depends")
    expect(hud(page)).to_contain_text("141%")


def the_year(page: Page, second: Locator) -> None:
    expect(banner(second)).to_contain_text("Over the budget")
    page.get_by_role("button", name="See it", exact=True).click()
    expect(banner(second)).to_contain_text("Tokens come too late")
    second.get_by_label("Servers", exact=True).select_option(label="70B, 2 B200, 256 at once")
    expect(banner(second)).to_contain_text("It backfires")
    number(second, "Savings passed on", "25")
    number(second, "Number of servers", "65")
    expect(banner(second)).to_contain_text("Within budget")
    pick(second, "hydro")
    expect(banner(second)).to_contain_text("can't supply the power")
    pick(second, "gas and sun")
    number(second, "Number of servers", "40")
    expect(banner(second)).to_contain_text("too small")
    number(second, "Number of servers", "250")
    expect(banner(second)).to_contain_text("Most machines are idle")
    number(second, "Number of servers", "65")
    expect(banner(second)).to_contain_text("Within budget")


def year_controls(page: Page, first: Locator, second: Locator) -> None:
    first.get_by_role("tab", name="Energy").click()
    changes(page, first, lambda: number(first, "Elasticity, at most", "3"))
    second.get_by_role("tab", name="A day").click()
    expect(second.locator('[data-figure="hours"] .il-drawing')).to_be_visible()
    changes(page, second, lambda: number(second, "Work that can wait", "40"))


# --- Lab V2-14


def the_attacks(page: Page, first: Locator) -> None:
    expect(page.locator("#act1-reveal")).to_contain_text("0.037")
    page.get_by_role("button", name="Look at a defence that fools an attack").click()
    expect(first).to_contain_text("This attack flatters")
    expect(hud(page)).to_contain_text("97.2%")
    page.get_by_role("button", name="attack it another way").click()
    expect(hud(page)).to_contain_text("44%")
    changes(page, first, lambda: number(first, "Largest change of a pixel", "0.2"))


def the_robust_one(page: Page, second: Locator) -> None:
    expect(banner(second)).to_contain_text("Its claim fell")
    page.get_by_role("button", name="Take the most robust one").click()
    expect(banner(second)).to_contain_text("Too slow")
    page.get_by_role("button", name="try it on an H100").click()
    expect(banner(second)).to_contain_text("Robust, fast and affordable")
    page.get_by_role("button", name="Let two of them vote").click()
    expect(banner(second)).to_contain_text("Another model beats it")
    page.get_by_role("button", name="Go back to one").click()
    number(second, "Training images, in millions", "500")
    expect(banner(second)).to_contain_text("Training costs too much")
    number(second, "Training images, in millions", "100")
    expect(banner(second)).to_contain_text("Robust, fast and affordable")


def robustness_controls(page: Page, first: Locator, second: Locator) -> None:
    first.get_by_role("tab", name="The table").click()
    changes(page, first, lambda: pick(first, "claims that fell"))
    changes(page, second, lambda: second.get_by_label("Device", exact=True).select_option(label="NVIDIA L4 24 GB"))
    second.get_by_role("tab", name="Noisy copies").click()
    expect(second.locator('[data-figure="certificate"] .il-drawing')).to_be_visible()


# --- Lab V2-13


def the_run(page: Page, first: Locator) -> None:
    expect(page.locator("#act1-reveal")).to_contain_text("1.04")
    pick(first, "Gaussian limit")
    expect(hud(page)).to_contain_text("0.942")
    expect(first).to_contain_text("It is not a bound")
    pick(first, "Rényi, tight")
    number(first, "Noise multiplier", "2")
    expect(hud(page)).to_contain_text("2.35")
    first.get_by_role("tab", name="Budgets").click()
    expect(first.locator('[data-figure="budgets"] .il-drawing')).to_be_visible()
    first.get_by_role("tab", name="The attack").click()
    changes(page, first, lambda: number(first, "False alarms the attacker accepts", "50"))
    number(first, "Noise multiplier", "4")


def the_budget(page: Page, second: Locator) -> None:
    expect(banner(second)).to_contain_text("The noise drowns the gradient")
    number(second, "Runs, tuning included", "50")
    expect(banner(second)).to_contain_text("The budget is overspent")
    number(second, "Runs, tuning included", "1")
    for group, option in (("Sampling rate per step", "16%"), ("Clip norm", "0.03"), ("Learning rate", "1"), ("Epochs", "30")):
        second.get_by_role("group", name=group).get_by_text(option, exact=True).click()
    number(second, "Noise multiplier", "4")
    expect(banner(second)).to_contain_text("Clipped too far")
    second.get_by_role("group", name="Clip norm").get_by_text("0.3", exact=True).click()
    second.get_by_role("group", name="Learning rate").get_by_text("10", exact=True).click()
    expect(banner(second)).to_contain_text("Private and accurate enough")


def budget_controls(page: Page, first: Locator, second: Locator) -> None:
    first.get_by_role("tab", name="Budgets").click()
    expect(first.locator('[data-figure="budgets"] .il-drawing')).to_be_visible()
    changes(page, second, lambda: number(second, "δ is one in", "100"))
    second.get_by_role("tab", name="By noise").click()
    expect(second.locator('[data-figure="by-noise"] .il-drawing')).to_be_visible()


# --- Lab V2-05


def the_pipeline(page: Page, first: Locator) -> None:
    expect(page.locator("#act1-reveal")).to_contain_text("31.4")
    page.get_by_role("button", name="Play the step").click()
    into = first.get_by_role("slider", name="Progress of the step", exact=True)
    expect(into).to_have_value("20")
    first.get_by_role("button", name="Progress of the step: one step on").click()
    expect(into).to_have_value("21")
    page.get_by_role("button", name="Cut each stage into").click()
    expect(hud(page)).to_contain_text("5.42%")
    changes(page, first, lambda: number(first, "Replicas of the pipeline", "1"))


def the_layout(page: Page, second: Locator) -> None:
    expect(banner(second)).to_contain_text("does not fit")
    page.get_by_role("button", name="More stages, interleaved").click()
    expect(banner(second)).to_contain_text("does not fit")
    second.locator('[data-dial="zero"]').get_by_text("2", exact=True).click()
    expect(banner(second)).to_contain_text("It works")
    number(second, "NICs in use per box", "1")
    expect(banner(second)).to_contain_text("wait for the NICs")
    number(second, "NICs in use per box", "8")
    expect(banner(second)).to_contain_text("It works")


def layout_controls(page: Page, first: Locator, second: Locator) -> None:
    tabs = {
        first: (("The pipeline", "gantt"), ("More GPUs", "more-gpus"), ("The bubble", "pieces")),
        second: (("The step", "step"), ("Devices", "devices")),
    }
    for where, tab, drawn in [(where, *pair) for where, pairs in tabs.items() for pair in pairs]:
        where.get_by_role("tab", name=tab).click()
        expect(where.locator(f'[data-figure="{drawn}"] .il-drawing')).to_be_visible()
    changes(page, second, lambda: second.locator('[data-dial="context"]').get_by_text("2", exact=True).click())


# --- Lab V2-03


def the_fabric(page: Page, first: Locator) -> None:
    page.get_by_role("button", name="Send everything to everybody").click()
    expect(hud(page)).to_contain_text("3.88×")
    first.get_by_role("tab", name="The fabric").click()
    expect(first.locator('[data-figure="fabric"] .il-drawing')).to_have_attribute(
        "aria-label", re.compile("busiest uplink is offered 388%")
    )
    page.get_by_role("button", name="Scatter the ranks").click()
    expect(hud(page)).to_contain_text("4×")
    page.get_by_role("button", name="Back in order").click()
    expect(hud(page)).to_contain_text("1×")


def the_switches(page: Page, second: Locator) -> None:
    expect(banner(second)).to_contain_text("The experts wait")
    pick(second, "32")
    expect(banner(second)).to_contain_text("no such tree")
    pick(second, "64")
    second.get_by_label("Oversubscription of a leaf").select_option(label="1:1")
    expect(banner(second)).to_contain_text("Too many ports")
    second.get_by_label("Oversubscription of a leaf").select_option(label="4:1")
    number(second, "Nodes placed at random", "100")
    expect(banner(second)).to_contain_text("is scattered")
    number(second, "Nodes placed at random", "0")
    second.get_by_role("switch").first.locator("xpath=..").click()
    expect(banner(second)).to_contain_text("not on a bad day")
    pick(second, "128")
    expect(banner(second)).to_contain_text("It works")


def fabric_controls(page: Page, first: Locator, second: Locator) -> None:
    changes(page, first, lambda: number(first, "Hosts", "256"))
    for tab, drawn in (("By tier", "by-tier"), ("Who notices", "factors")):
        first.get_by_role("tab", name=tab).click()
        expect(first.locator(f'[data-figure="{drawn}"] .il-drawing')).to_be_visible()
    changes(page, second, lambda: second.get_by_label("Experts, one per device").select_option(label="64"))
    for tab, drawn in (("The switches", "switches"), ("Ports", "ports"), ("The three jobs", "steps")):
        second.get_by_role("tab", name=tab).click()
        expect(second.locator(f'[data-figure="{drawn}"] .il-drawing')).to_be_visible()


def the_chain(page: Page, first: Locator) -> None:
    expect(page.locator("#act1-reveal")).to_contain_text("252")
    page.get_by_role("button", name="Let one cause slow every service").click()
    expect(hud(page)).to_contain_text("500 ms")
    page.get_by_role("button", name="Make them independent again").click()
    page.get_by_role("button", name="Make it a page of 100 parallel calls").click()
    first.get_by_role("tab", name="How many are over").click()
    expect(first.locator('[data-figure="over"] .il-drawing')).to_be_visible()
    page.get_by_role("button", name="Go back to a chain").click()
    expect(hud(page)).to_contain_text("252 ms")


def the_spike(page: Page, second: Locator) -> None:
    expect(banner(second)).to_contain_text("It never recovers")
    number(second, "Timeout of each caller, relative to the one it calls", "1")
    expect(banner(second)).to_contain_text("gives up before")
    number(second, "Timeout of each caller, relative to the one it calls", "1.2")
    moment = second.get_by_role("slider", name="Moment", exact=True)
    page.get_by_role("button", name="play the spike").click()
    expect(moment).to_have_value("0")
    second.get_by_role("button", name="Moment: one step on").click()
    expect(moment).to_have_value("1")
    second.get_by_role("button", name="Moment: play").click()
    expect(moment).to_have_value("40")  # eighty seconds in steps of two
    page.get_by_role("button", name="Limit the queue").click()
    expect(banner(second)).to_contain_text("It is down too often")
    number(second, "Traffic", "380")
    expect(banner(second)).to_contain_text("Too slow on a calm day")
    number(second, "Traffic", "320")
    number(second, "Replicas per layer", "5")
    expect(banner(second)).to_contain_text("It is down too often")
    number(second, "Failures that take down all replicas", "5")
    expect(banner(second)).to_contain_text("The contract is met")


def slo_controls(page: Page, first: Locator, second: Locator) -> None:
    first.get_by_role("tab", name="How long").click()
    changes(page, first, lambda: pick(first, "P99.9"))
    changes(page, first, lambda: first.get_by_label("Distribution of a call's time").select_option(label="log-normal"))
    changes(page, second, lambda: pick(second, "newest first"))
    changes(page, second, lambda: second.get_by_label("Hedged copy after").select_option(label="P95"))
    for tab, drawn in (("How long", "latencies"), ("Replicas", "down")):
        second.get_by_role("tab", name=tab).click()
        expect(second.locator(f'[data-figure="{drawn}"] .il-drawing')).to_be_visible()


WALKS = {
    "lab_08_ledger": Walk(
        ("14.9", "10.2 GB", "46.8", "sixteen bytes"), ("x4", "unchanged", "checkpoint", "none"), "ledger", ledger_step, ledger_levers,
        lambda d: d["model"] == "llama3_2_1b" and d["checkpoint"] == 16 and d["constraint_hit"] is False and d["headroom_bytes"] > 0,
        ledger_controls,
    ),
    "lab_10_frontier": Walk(
        ("10.2", "own scale"), ("kept", "nothing", "p80", "p56"), "bits", bits_and_channels, frontier,
        lambda d: (d["model"], d["bits"], d["on_frontier"], d["constraint_hit"]) == ("digits", 6, True, False),
        frontier_controls,
    ),
    "lab_12_amdahl": Walk(
        ("10.9",), ("x11", "x1_25", "x8", "overhead"), "stages", the_pass, workers,
        lambda d: (d["act1_correct"], d["act2_correct"], d["challenge_met"]) == (False, True, True)
        and (d["workers"], d["constraint_hit"]) == (18, False),
        workers_controls,
    ),
    "lab_13_line": Walk(
        ("7.06", "2,880"), ("w", "same", "x1", "six"), "line", the_line, the_server,
        lambda d: d["policy"] == "waiting" and 1_000 < d["rate"] < 50_000 and d["act2_correct"] is True,
        line_controls,
    ),
    "lab_14_tail": Walk(
        ("911",), ("ms10", "above", "faster", "p9999"), "omission", the_load_test, the_page_of_shards,
        lambda d: d["shards"] == 2000 and d["hedge"] == "called_back" and d["constraint_hit"] is True
        and d["here_open_p99_s"] > d["here_closed_p99_s"] > 0 and d["page_p99_s"] is None,
        tail_controls,
    ),
    "lab_15_parity": Walk(
        ("3.86", "44.8", "23.5", "92.9"), ("three", "more_in_a", "selection", "worst"), "resample", two_groups, a_rule,
        lambda d: (d["rule"], d["act1_correct"], d["act2_correct"], d["constraint_hit"]) == ("equal_selection", False, True, False)
        and d["context"] == d["data"] == "credit",
        parity_controls,
    ),
    "lab_v2_03_fabric": Walk(
        ("12.5", "3.88", "1.65", "370"), ("x4", "place", "all", "rails"), "collectives", the_fabric, the_switches,
        lambda d: (d["rails"], d["leaf_thin"], d["ports"], d["constraint_hit"]) == (True, 4, 3200, None)
        and (d["act1_correct"], d["act2_correct"]) == (False, False) and d["factor"] == 1,
        fabric_controls,
    ),
    "lab_v2_02_interconnect": Walk(
        ("23.6", "8.3", "89.7", "34.7"), ("same", "pcie_four", "p66", "data"), "staircase", the_ring, the_groups,
        lambda d: (d["box"], d["tensor"], d["data"], d["nics"], d["constraint_hit"]) == ("dgx_h100", 2, 8, 8, None)
        and (d["act1_correct"], d["act2_correct"]) == (False, False) and d["host_bytes_per_s"] > 4e10,
        wires_controls,
    ),
    "lab_v2_06_collectives": Walk(
        ("8.82", "510", "83.7", "480 MB"), ("link", "steps", "p8", "between"), "collectives", the_sum, the_buckets,
        lambda d: (d["devices"], d["algorithm"], d["bucket_bytes"], d["constraint_hit"]) == (512, "two_level", 100_000_000, None)
        and (d["act1_correct"], d["act2_correct"]) == (False, False) and d["crossing_bytes"] == 480_000_000,
        sum_controls,
    ),
    "lab_v2_10_kv_serving": Walk(
        ("12 requests", "42.9", "500 ms", "46 ms"), ("one", "fp8", "stays", "replica"), "kv_decode", the_slots, the_promise,
        lambda d: (d["model"], d["devices"], d["budget"], d["chunked"], d["constraint_hit"]) == ("llama3_70b", 4, 512, True, None)
        and (d["act1_correct"], d["act2_correct"]) == (False, False) and d["slots"] == 12,
        serving_controls,
    ),
    "lab_v2_07_checkpoint": Walk(
        ("18.6", "8.98", "75.4", "19.6"), ("half", "halves", "storage", "root"), "checkpointing", the_interval, the_saves,
        lambda d: (d["gpus"], d["near"], d["saving"], d["far_interval_s"], d["constraint_hit"]) == (131_072, "none", "async", 120, None)
        and (d["act1_correct"], d["act2_correct"]) == (False, False) and d["goodput"] > 0.9,
        saves_controls,
    ),
    "lab_v2_12_slo": Walk(
        ("252", "63.4", "320%", "64 attempts"), ("add", "together", "quarter", "all"), "tails", the_chain, the_spike,
        lambda d: (d["load"], d["line_limit"], d["retries"], d["replicas"], d["constraint_hit"]) == (0.64, 40, 3, 5, None)
        and (d["act1_correct"], d["act2_correct"]) == (False, False) and d["latency_p999_s"] < 0.3 and d["availability"] > 0.9995,
        slo_controls,
    ),
    "lab_v2_15_jevons": Walk(
        ("63.8", "4.27", "997", "623"), ("more", "batching", "batch", "much"), "energy", the_meter, the_year,
        lambda d: (d["machine"], d["limit"], d["servers"], d["region"], d["constraint_hit"]) == ("b200", 256, 65, "sun", None)
        and (d["act1_correct"], d["act2_correct"]) == (False, False) and d["tonnes"] < 400,
        year_controls,
    ),
    "lab_v2_14_adversarial": Walk(
        ("74.04", "0.037", "ClusTR"), ("chance", "suited", "same_time", "fifth"), "pgd", the_attacks, the_robust_one,
        lambda d: (d["model"], d["device"], d["members"], d["constraint_hit"])
        == ("Bartoldson2024Adversarial_WRN-94-16", "h100_sxm", 1, None)
        and (d["act1_correct"], d["act2_correct"], d["reader"]) == (False, False, "masked"),
        robustness_controls,
    ),
    "lab_v2_13_privacy": Walk(
        ("1.04", "16.8", "0.947"), ("always", "neither", "tuning", "tenth"), "dp_sgd", the_run, the_budget,
        lambda d: (d["records"], d["rate"], d["noise"], d["clip"], d["runs"], d["constraint_hit"]) == (1_000, 0.16, 4, 0.3, 1, None)
        and (d["act1_correct"], d["act2_correct"]) == (False, False) and 2 < d["epsilon"] < 3,
        budget_controls,
    ),
    "lab_v2_05_parallelism": Walk(
        ("142 GB", "46.4"), ("p4", "work", "quarter", "bubble"), "scaling", the_pipeline, the_layout,
        lambda d: (d["tensor"], d["pipeline"], d["data"], d["zero"], d["constraint_hit"]) == (8, 16, 128, 2, None)
        and (d["act1_correct"], d["act2_correct"]) == (False, False) and d["state_bytes"] > 5e12,
        layout_controls,
    ),
}  # fmt: skip
