"""What the commands' options share: reading values, and refusing bad ones with a next step."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ironlaw import units
from ironlaw.cli.command_parser import Parser as Parser  # noqa: PLC0414 - the commands have it from here
from ironlaw.engine.device.host import Host
from ironlaw.errors import IronlawError
from ironlaw.systems.fields import LARGEST, REQUIRED, Parameter, parameters, read_figure, read_several, read_whole
from ironlaw.systems.registry_names import read_format, read_machine, read_mode

Q = TypeVar("Q")


def checked(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """An argparse type whose own message survives (argparse would say only "invalid value")."""

    def convert(text: str) -> Any:
        try:
            return read(text)
        except IronlawError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def add_parameters(parser: Any, question: type, leave: Sequence[str] = ()) -> None:
    """An option for each of a question's parameters, but for those that the command has its own way with."""
    groups: dict[str, Any] = {"": parser}
    for one in parameters(question).values():
        if one.name in leave:
            continue
        if one.group not in groups:
            groups[one.group] = parser.add_argument_group(one.group)
        _add_parameter(groups[one.group], one)


def _add_parameter(group: Any, one: Parameter) -> None:
    named = not one.flag or one.flag.startswith("-")
    default = None if one.default is REQUIRED or one.item else one.default
    words: dict[str, Any] = {"help": one.about.replace("%", "%%"), "default": default}
    if named:
        words |= {"dest": one.name, "required": one.default is REQUIRED and one.column != "bool"}
    if one.column == "bool":
        words |= {"action": "store_true"}
    elif one.metavar:
        words |= {"metavar": one.metavar, "type": checked(one.item or one.read)} | ({"action": "append"} if one.item else {})
    else:
        words |= {"choices": tuple(one.options() if one.options else ())}
    if not named and one.default is not REQUIRED:
        words |= {"nargs": "?"}
    group.add_argument((one.flag or f"--{one.name.replace('_', '-')}") if named else one.name, **words)


def ask(question: type[Q], args: argparse.Namespace, **more: Any) -> Q:
    """The question with what was written on the command line."""
    given = {name: getattr(args, name, None) for name in parameters(question) if name not in more}
    return question(**{name: value for name, value in given.items() if value is not None}, **more)


size = checked(read_whole)  # a count: whole and above 0
sizes = checked(lambda text: read_several(text, read_whole, what="number"))  # "1,8" -> the two counts, each once
number = checked(lambda text: read_figure(text, most=LARGEST))  # above 0; commas may separate thousands


def figure(unit: str, zero: bool = False) -> Callable[[str], float]:
    """A number with a unit (`"51 MB"`), or bare in the SI unit."""
    return checked(lambda text: read_figure(text, unit, zero))


modes = checked(lambda text: read_several(text, read_mode))
number_format = checked(read_format)
machines = checked(lambda text: read_several(text, read_machine))  # a machine named twice counts once


def add_json(parser: Any) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON only; numbers in SI units")


def add_set(parser: Any) -> None:
    from ironlaw.systems.captures import read_setting

    parser.add_argument(
        "--set", metavar="KEY=VALUE", type=checked(read_setting), action="append", default=[], help="a config field or factory argument"
    )


def add_limit(parser: Any, default: float | None, shown: float) -> None:
    """`shown`: what the help gives as the default."""
    parser.add_argument(
        "--limit",
        metavar="TIME",
        type=figure("s", zero=True),
        default=default,
        help=f"how long your file may take, such as '90 s'; 0 for any time (default {units.show(shown, 's')})",
    )


def add_machines(parser: Parser) -> None:
    parser.add_argument("--on", metavar="HW[,HW]", type=machines, required=True, help="machines, by slug or alias; see `ironlaw hardware`")


@checked
def host(text: str) -> Host:
    """A host of the registry, or `here`."""
    from ironlaw.registry.hosts import host as find

    return find(text)


def add_host(parser: Parser) -> None:
    """Who launches, in every command that predicts."""
    group = parser.add_argument_group("who launches (default: the host that the device was measured with, else a typical one)")
    group.add_argument(
        "--host", metavar="NAME", type=host, help="xeon_vm (vm), dgx_h100 (bare), or here, as `ironlaw measure --host` stored it"
    )
    group.add_argument("--launch", metavar="TIME", type=figure("s", zero=True), help="what each launch costs the host, such as '10 us'")


def add_fp32(parser: Parser) -> None:
    """In what products of FP32 tensors are computed."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--strict-fp32", action="store_true", help="convolutions of FP32 tensors in FP32; PyTorch's default is TF32")
    group.add_argument("--tf32", action="store_true", help='FP32 products in TF32 too, as torch.set_float32_matmul_precision("high") asks')


def add_settings(parser: Parser, batches: bool = False) -> None:
    """The sizes that a workload may take; its family says which of them it does. `batches`: several of them side by side."""
    group = parser.add_argument_group("the workload's settings (each defaults to what its file says)")
    if batches:
        group.add_argument("--batch", metavar="N[,N]", type=sizes, help="samples per call; several are shown side by side")
    else:
        group.add_argument("--batch", metavar="N", type=size, help="samples per call")
    group.add_argument("--seq", metavar="N", type=size, help="tokens per sequence")
    group.add_argument("--phase", choices=("prefill", "decode"), help="a language model's forward pass over --seq or after --context")
    add_phases(group)
    group.add_argument("--dtype", metavar="FMT", type=number_format, help="number format: fp32, bf16, fp16, fp8, int8 …")
    group.add_argument("--classes", metavar="N", type=size, help="outputs of a classifier's head")


def add_phases(group: Any) -> None:
    """The two phases of a language model."""
    group.add_argument("--prefill", metavar="N", type=size, help="a prompt of N tokens, with the logits of its last one alone")
    group.add_argument("--decode", action="store_true", help="one token after --context of them in the cache")
    group.add_argument("--context", metavar="N", type=size, help="tokens already in the KV cache, in decode")
