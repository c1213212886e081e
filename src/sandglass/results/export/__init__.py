"""Runs in other programs' formats: Wireshark's, flent's, and plain tables."""
