"""The cage: what a process that runs strangers' code may reach of this machine.

Only the standard library, as in sandglass.install: `kernel/build` builds modules in it.
"""
