"""The part of Sandglass that runs beside the experiment: in the lab, or on the host backend.

It builds the network of a plan, checks it, records, runs the workloads and
writes what it saw. Only Mininet and the standard library are imported here,
because their start-up is paid in every run.
"""
