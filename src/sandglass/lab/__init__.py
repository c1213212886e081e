"""The lab: a Linux of our own as one process, which is started, watched and ended."""
