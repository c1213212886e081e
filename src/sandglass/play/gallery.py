"""Cards to begin with: experiments, each with what to turn and what one then sees."""

from dataclasses import dataclass
from pathlib import Path

import yaml

from sandglass.install.builds import ROOT

CARDS = Path(__file__).with_name("gallery.yaml")


@dataclass(frozen=True)
class Card:
    """An experiment of ours to play with."""

    name: str
    title: str
    file: Path
    turn: list[str]
    """Keys whose knobs stand first."""
    text: str
    """What to turn, and what one then sees."""
    linux: str | None = None
    """The series that it needs, if not any."""


def cards() -> list[Card]:
    """All, in their order."""
    found = yaml.safe_load(CARDS.read_text(encoding="utf-8"))
    return [Card(**{**card, "file": ROOT / card["file"]}) for card in found]
