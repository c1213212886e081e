"""Unresponsive datagrams through DualPI2 with half the gain, as its module for Linux 5.4 has it."""

from pipelines.dualq import overload

table, plot, METRICS = overload.table, overload.plot, overload.METRICS
