# Code as an input, so that its change repeats what it makes: of papers and of studies.

from snakemake.io import sourcecache_entry


def source(path: Path) -> str:
    """A file of the checkout as an input, which is never fetched from a storage."""
    return sourcecache_entry(str(path), str(path))


def rooms(*names: str) -> list[str]:
    """The code below src/sandglass whose change has to repeat a step, by its folders."""
    return [
        source(path)
        for name in names
        for path in sorted((ROOT / "src" / "sandglass" / name).glob("*"))
        if path.suffix in (".py", ".jinja")
    ]
