"""The enumeration whose members are words.

The standard library has it as enum.StrEnum from Python 3.11 on.
"""

import enum


class Words(str, enum.Enum):
    """Words to choose from, each of which is equal to its text and written as it."""

    __str__ = str.__str__
