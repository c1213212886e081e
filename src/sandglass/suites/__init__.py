"""Suites: a list of studies through which one algorithm and its rivals go, judged together."""
