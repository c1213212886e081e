"""A workload that does not say that it knows IPv6."""


def run(flow: object, testbed: object) -> dict[str, object]:
    """Do nothing."""
    return {}
