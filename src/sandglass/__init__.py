"""Sandglass: a network laboratory that runs real Linux in virtual time."""

__version__ = "0.1.0"
