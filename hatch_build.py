"""Writes the bill of materials that goes into the wheel (.dist-info/sboms, PEP 770).

CycloneDX, from the hashed requirements of the container: every package that `rumor[server]` brings,
with its version and the hashes of its wheels. No time and no random number goes in, so that the
same source gives the same bytes.
"""

from __future__ import annotations

import json
import re
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    class BuildHookInterface:
        """What of hatchling's interface is used here."""

        root: str
        target_name: str
        metadata: Any
else:
    try:
        from hatchling.builders.hooks.plugin.interface import BuildHookInterface
    except ModuleNotFoundError:  # read by the tests, where nothing is built
        BuildHookInterface = object

REQUIREMENTS = Path("deploy") / "requirements.txt"
SBOM = Path("build") / "rumor.cdx.json"
BASE = ("cffi", "cryptography", "numpy", "pycparser")
"""What comes with every install."""


class CustomBuildHook(BuildHookInterface):
    """The hook that hatchling calls."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the bill of materials where the wheel takes it from."""
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        text = (root / REQUIREMENTS).read_text(encoding="utf-8")
        (root / SBOM).parent.mkdir(exist_ok=True)
        bill = sbom(self.metadata.version, text)
        (root / SBOM).write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")
        build_data["sbom_files"].append(SBOM.as_posix())


def sbom(version: str, requirements: str) -> dict[str, object]:
    """The bill of materials as plain data."""
    components = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}@{pinned}",
            "name": name,
            "version": pinned,
            "purl": f"pkg:pypi/{name}@{pinned}",
            "scope": "required" if name in BASE else "optional",
            "hashes": [{"alg": "SHA-256", "content": digest} for digest in digests],
        }
        for name, pinned, digests in pins(requirements)
    ]
    own = f"pkg:pypi/rumor@{version}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, own + requirements)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": own,
                "name": "rumor",
                "version": version,
                "purl": own,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": components,
        "dependencies": [
            {"ref": own, "dependsOn": [component["bom-ref"] for component in components]}
        ],
    }


def pins(requirements: str) -> list[tuple[str, str, list[str]]]:
    """Name, version and hashes of every line of a hashed requirements file."""
    whole = requirements.replace("\\\n", " ")
    return [
        (match[1], match[2], re.findall(r"--hash=sha256:([0-9a-f]{64})", line))
        for line in whole.splitlines()
        if (match := re.match(r"([a-z0-9-]+)==(\S+)", line))
    ]
