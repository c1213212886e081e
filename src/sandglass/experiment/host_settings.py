"""What one host of the experiment file has of its own."""

from typing import Annotated

from pydantic import Field, StrictBool, StrictInt

from sandglass.experiment.part import Part
from sandglass.experiment.values import LinkRate, Sysctls, Time


class HostSettings(Part):
    """What one host has of its own."""

    sysctls: Sysctls = Field(
        default_factory=dict,
        description="Sysctls of the host's network namespace, by their full names.",
        examples=[{"net.ipv4.tcp_sack": 0}],
    )
    initcwnd: Annotated[StrictInt, Field(ge=1, le=65535)] | None = Field(
        default=None,
        description="Initial window in packets. Default: the kernel's, 10.",
        examples=[3],
    )
    rtt: Time | None = Field(
        default=None,
        description="Base round trip of this host's flows; holds for its partner (s1 and d1) too, "
        "unless that has its own. Default: the experiment's rtt.",
        examples=["60ms"],
    )
    access_rate: LinkRate | None = Field(
        default=None,
        description="Rate of the host's own link. Default: unlimited.",
        examples=["1gbit"],
    )
    mtu: Annotated[StrictInt, Field(ge=576, le=65535)] = Field(
        default=1500, description="MTU of the host's interface, in bytes.", examples=[9000]
    )
    delayed_ack: StrictBool = Field(
        default=True,
        description="Whether the host delays its ACKs, as Linux does.",
        examples=[False],
    )
    pacing: StrictBool = Field(
        default=False, description="Whether the host's TCP paces its packets.", examples=[True]
    )
