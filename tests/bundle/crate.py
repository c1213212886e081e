"""Judges an RO-Crate by the rules of its profiles, without a network.

Usage: python crate.py DIRECTORY SCRATCH

The rules name the vocabulary of RO-Crate 1.1 by its address. The package rocrate has a copy, which
is put into the validator's cache of answers, in the directory SCRATCH.
"""

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

from requests import Request
from requests.structures import CaseInsensitiveDict
from requests_cache import CachedSession
from requests_cache.models.response import CachedResponse

VOCABULARY = "https://w3id.org/ro/crate/1.1/context"


def main(crate: str, scratch: Path) -> int:
    cache = scratch / "answers"
    content = (files("rocrate") / "data" / "ro-crate.jsonld").read_bytes()
    headers = CaseInsensitiveDict({"Content-Type": "application/ld+json"})
    with CachedSession(str(cache), backend="sqlite") as session:
        key = session.cache.create_key(Request("GET", VOCABULARY).prepare())
        session.cache.responses[key] = CachedResponse(
            content=content, headers=headers, status_code=200, url=VOCABULARY
        )
    tool = Path(sys.executable).with_name("rocrate-validator")
    command = [str(tool), "-y", "validate", "--offline", "--cache-path", str(cache)]
    command += ["--no-paging", "--verbose", "--output-format", "json", crate]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
