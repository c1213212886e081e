"""Files that Sandglass has, found by whoever names them."""

from pathlib import Path

from sandglass.install.builds import ROOT


def found(path: Path) -> Path:
    """A file as it is named or, where there is none, the one of that name that Sandglass has.

    From everywhere `codel` and `examples/codel.yaml` name the same example.
    """
    places = [ROOT / path]
    if path.name == str(path) and not path.suffix:
        places += [ROOT / folder / f"{path}.yaml" for folder in ("examples", "examples/studies")]
    return path if path.exists() else next((each for each in places if each.is_file()), path)
