"""The host's memory beside a training step: what a box and its machine say of it."""

from __future__ import annotations

from ironlaw.engine.cluster.links import Box
from ironlaw.engine.cluster.offloads import Host
from ironlaw.engine.cluster.stacks import Stack
from ironlaw.engine.device.host_links import PINNED, rate
from ironlaw.engine.device.machine import Hardware
from ironlaw.errors import BadValue

TO_HOST = ("PCI", "NVLink-C2C")  # names of links to a host begin so


def host_of(at: Box, chip: Hardware, devices: int) -> Host | None:
    """Each device's share, with so many of them in use; None where the registry does not know the host."""
    links = [float(link.per_direction) for link in chip.links if link.name.startswith(TO_HOST)]
    if not (at.host_memory and links):
        return None
    sharing = min(devices, at.devices)
    return Host(rate(PINNED, max(links)), at.host_memory / sharing, at.host_bytes / sharing)


def offloading(own: Stack, at: Box, chip: Hardware, devices: int) -> Host:
    """The same for somebody who asks for it: what is missing is named."""
    if not own.offload:
        raise BadValue(f"{own.slug} has no option to use the host's memory; leave `offload` out, or take another `stack`", "offload")
    host = host_of(at, chip, devices)
    if host is None:
        raise BadValue(
            f"nothing is known about the memory of {at.slug}'s host; add [host_memory] and [host_bytes] to a box file of your own, or leave"
            " `offload` out", "offload",
        )  # fmt: skip
    return host
