"""Sandglass: a network laboratory that runs real Linux in virtual time."""
