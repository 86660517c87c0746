# ruff: noqa: E501 - tables of texts
"""Texts that somebody might write where ironlaw computes what a text says: escapes from Python's evaluators, numbers without end, loops,
recursion, files by name, and mixtures of them all."""

import random
from pathlib import Path

NUMBERS = (
    "1", "0", "-1", "0.5", "1e308", "1e-308", "2", "10**10", "9**9**9", "10**10**10", "(-2)**0.5", "2**-5000", "9" * 5000, "0x" + "f" * 900,
    "1_000_000_000", "10**9", "1e400", "0j", "True", "None", "...", "1<<10**9", "7%3", "~1", "3@4", "float('nan')", "inf",
)  # fmt: skip
TEXTS = (
    "'x'",
    "''",
    "b'x'",
    "f'{1}'",
    "'x' * 10**9",
    "'%1000000000d' % 1",
    "'{0.__class__}'.format(1)",
    "'a' 'b'",
    '"\\u202e"',
    "'é' * 500",
)
PATHS = (
    "../../../../etc/passwd",
    "/etc/passwd",
    "h200_sxm/../../../../../../etc/passwd",
    "..",
    ".",
    "",
    "\\x00",
    "h100_sxm",
    "~/.ssh/id_rsa",
    "%2e%2e/x",
)
OPENERS = (
    "row", "hardware", "machines", "workload", "textbook", "published", "trained", "at_bits", "reader", "box", "interconnect", "decoder",
    "timed_wire", "published_run", "trace", "rental", "attacked", "groups", "private_run", "claim", "about", "h200", "rate", "rung",
)  # fmt: skip
LAWS = (
    "mmc", "mm1", "erlang_b", "erlang_c", "poisson", "simulate", "batch_server", "open_loop", "closed_loop", "amdahl", "usl", "decay", "fan_out",
    "uniform", "exponential", "lognormal", "levels", "best_gaussian_step", "gaussian_noise", "order_interval", "wilson", "torus", "fat_tree",
    "dp_epsilon", "best_interval", "goodput", "privacy", "max", "min", "sum", "abs", "round", "len", "sorted", "range", "str", "zip", "replace",
    "sqrt", "exp", "log", "ceil", "least_count", "attempts", "brier", "chain", "attention", "kv_cache", "Tensor", "op", "Point", "Layout",
)  # fmt: skip
INNER = (
    "__class__", "__globals__", "__builtins__", "__subclasses__", "__mro__", "__dict__", "__init__", "gi_frame", "gi_code", "f_back", "f_globals",
    "f_builtins", "cr_frame", "tb_frame", "co_consts", "func_globals", "format", "format_map", "mro", "read_text", "open", "tofile", "real", "to_bytes",
    "ljust", "zfill", "encode", "translate", "append", "update", "pop", "clear", "bandwidth", "get", "join", "values", "as_integer_ratio",
)  # fmt: skip
SHAPES = (
    "({a} + {b})", "({a} * {b})", "({a} ** {b})", "({a} - {b})", "({a} / {b})", "({a} // {b})", "[{a}] * {b}", "({a},) * {b}", "max({a}, {b})",
    "{a}.{i}", "{a}.{i}.{j}", "{a}[{b}]", "{a}[{b}:{a}]", "({a} if {b} else {a})", "{f}({a}, {b})", "{f}({a})", "{f}()", "{f}(n={b})",
    "{f}({a}, {b}, {a})", "sum([{a} for x in range({b})])", "[x for x in {f}({a})]", "{{x: {a} for x in [{b}]}}", "{{{a}, {b}}}", "{{**{a}}}",
    "{f}(*{a})", "{f}(**{a})", "(lambda f: f(f))(lambda f: f(f))", "(lambda f, n: f(f, n - 1) + f(f, n - 1))(lambda f, n: f(f, n), {b})",
    "(lambda x, f: f(f, x + x))([{a}], lambda f, x: f(f, x + x))", "[*({a} for x in [1])]", "(g := {a})", "(yield {a})", "(await {a})", "not {a}",
    "{a} < {b} < {a}", "{a} in {b}", "{a} and {b}", "lambda: {a}", "lambda _power: {a}", "lambda *args, **named: {a}", "{a}; {b}", "{a}\n{b}",
    "import os", "{o}('{p}')", "{o}('{p}').{i}", "{o}({a})", "{o}({a}, {b})", "str({a}).join([{b}] * 90000)", "sum([[{a}] * 90] * 900, [])",
    "round({a}, -10**9)", "sorted({f})", "[y for x in range(90000) for y in range(90000)]", "all({a} for x in range(90000) for y in range(90000))",
    "[*(g := (g.gi_frame.f_back.f_back.f_globals for x in [1]))][0]['__builtins__']['__import__']('os').system('touch {canary}')",
    "().__class__.__bases__[0].__subclasses__()", "__import__('os').system('touch {canary}')", "open('{canary}', 'w')", "eval('{a}')", "exec('{a}')",
    "(lambda: 0).__globals__", "(lambda: 0).__code__.replace(co_code=b'')", "{f}.__globals__['os']", "'{{0.__globals__}}'.format({f})",
    "getattr({f}, '__glo' + 'bals__')", "type('x', (), {{}})", "{f}.__self__", "vars()", "globals()", "locals()", "breakpoint()", "input()",
)  # fmt: skip
NESTED = ("({})", "-{}", "[{}]", "max({}, 1)", "{} + 1", "not {}", "lambda: {}", "({},)", "{}.x", "{}(1)")


def texts(seed: int, canary: Path):
    """Without end."""
    chance = random.Random(seed)

    def atom(depth):
        if depth and chance.random() < 0.6:
            return shape(depth - 1)
        return chance.choice((*NUMBERS, *TEXTS, *LAWS[:20], "x", "_", "hardware('h100_sxm')", "chain('relu')", "[1, 2]", "{'a': 1}"))

    def shape(depth):
        pick = {"a": atom(depth), "b": atom(depth), "i": chance.choice(INNER), "j": chance.choice(INNER), "f": chance.choice(LAWS)}
        return chance.choice(SHAPES).format(**pick, o=chance.choice(OPENERS), p=chance.choice(PATHS), canary=canary)

    while True:
        text = shape(chance.randrange(4))
        if chance.random() < 0.05:
            form = chance.choice(NESTED)
            for _ in range(chance.choice((5, 60, 99, 150, 400, 1_500))):
                text = form.format(text) if len(text) < 20_000 else text
        if chance.random() < 0.02:
            text = chance.choice((" + ", " * ", ", ", " ** ")).join([text[:20] or "1"] * chance.choice((10, 500, 5_000)))
        if chance.random() < 0.05:
            place = chance.randrange(len(text) + 1)
            text = (
                text[:place]
                + chance.choice(("\x00", "\ud800", "(", ")", "'", "#", "\\", "\n", " ", "９", "ｅval", ";", "{{ x }}"))
                + text[place:]
            )
        yield text


ODD_VALUES = (
    None, True, 0, -1, 1, 10**30, 10**400, -(10**400), 0.5, 1e308, 1e-308, float("nan"), float("inf"), "", "x", "1e400 GB", "-5 GB/s", "nan GB",
    "5", "9" * 5000, "9" * 5000 + " GB", "1" + "_" * 5000 + "x", "1" + "0" * 400 + ".5e-400 s", [], [[]], [None] * 5, {}, {"": 1}, "\ud800", "\x00",
    {"from": 1, "to": 10**9, "step": 1}, {"from": 1, "to": 1e300, "times": 1.0000001}, {"from": 0, "to": 1, "times": 2}, {"from": 1, "to": 1e12, "count": 10**9},
    {"from": "x", "to": []}, {"from": 1}, {"from": 1e-300, "to": 1e300, "times": 1.01, "log": True}, {"from": 5, "to": 1}, {"count": 3},
    [1] * 2_000, {"from": 1, "to": 10**400, "step": 10**399}, {"from": float("nan"), "to": 2, "step": 1}, {"from": 1, "to": 2, "step": 1e-9},
)  # fmt: skip
