"""Licences under which data and code are handed on: how the hub calls them, where they stand."""

from __future__ import annotations

#: What the hub calls a licence, by its identifier of SPDX; those of data first.
LICENCES = {
    "CC0-1.0": "cc0-1.0",
    "CC-BY-3.0": "cc-by-3.0",
    "CC-BY-4.0": "cc-by-4.0",
    "CC-BY-SA-3.0": "cc-by-sa-3.0",
    "CC-BY-SA-4.0": "cc-by-sa-4.0",
    "CC-BY-ND-4.0": "cc-by-nd-4.0",
    "CC-BY-NC-4.0": "cc-by-nc-4.0",
    "CC-BY-NC-SA-4.0": "cc-by-nc-sa-4.0",
    "CC-BY-NC-ND-4.0": "cc-by-nc-nd-4.0",
    "ODC-By-1.0": "odc-by",
    "ODbL-1.0": "odbl",
    "PDDL-1.0": "pddl",
    "CDLA-Permissive-1.0": "cdla-permissive-1.0",
    "CDLA-Permissive-2.0": "cdla-permissive-2.0",
    "CDLA-Sharing-1.0": "cdla-sharing-1.0",
    "MIT": "mit",
    "ISC": "isc",
    "Apache-2.0": "apache-2.0",
    "BSD-2-Clause": "bsd-2-clause",
    "BSD-3-Clause": "bsd-3-clause",
    "MPL-2.0": "mpl-2.0",
    "EUPL-1.2": "eupl-1.2",
    "LGPL-3.0-only": "lgpl-3.0",
    "LGPL-3.0-or-later": "lgpl-3.0",
    "GPL-3.0-only": "gpl-3.0",
    "GPL-3.0-or-later": "gpl-3.0",
    "AGPL-3.0-only": "agpl-3.0",
    "AGPL-3.0-or-later": "agpl-3.0",
    "Unlicense": "unlicense",
}


def named(licence: str) -> str:
    """Return a licence as SPDX writes it, whatever its case; one that is not known as it stands.

    >>> named("cc-by-4.0"), named("Ours-1.0")
    ('CC-BY-4.0', 'Ours-1.0')
    """
    known = {identifier.lower(): identifier for identifier in LICENCES}
    return known.get(licence.lower(), licence)


def address(licence: str) -> str | None:
    """Return where the text of a licence stands; None of one that is not known.

    >>> address("MIT"), address("Ours-1.0"), address("https://example.org/ours")
    ('https://spdx.org/licenses/MIT.html', None, 'https://example.org/ours')
    """
    if "://" in licence:
        return licence
    identifier = named(licence)
    return f"https://spdx.org/licenses/{identifier}.html" if identifier in LICENCES else None
