"""The configuration that transformers reads out of a GGUF file's header.

Its reader of metadata takes some 20 µs an entry, 5 to 30 s for the vocabulary alone. So it is given
a stand-in: the same header without the lists of the vocabulary, which the configuration does not
depend on but for their length.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import NamedTemporaryFile
from typing import Any

from collect.errors import InputError, UnsupportedModelError, first_line
from collect.model.checkpoint.gguf.header import VOCABULARY, Header


def configuration(header: Header) -> dict[str, Any]:
    """Return the configuration of a file's model, as entries of ``config.json``.

    Parameters
    ----------
    header
        The file's header.

    Raises
    ------
    UnsupportedModelError
        If transformers reads no GGUF file of this architecture.
    InputError
        If the header lacks an entry that the architecture needs.
    """
    import transformers
    from transformers.integrations.gguf.gguf_config_mapping import (
        GGUF_CONFIG_ARCHS,
        get_gguf_config,
    )
    from transformers.modeling_gguf_pytorch_utils import (
        GGUF_SUPPORTED_ARCHITECTURES,
        load_gguf_checkpoint,
    )

    transformers.logging.set_verbosity_error()
    names = tuple(tensor.name for tensor in header.tensors)
    try:
        if header.architecture in GGUF_CONFIG_ARCHS:
            config = get_gguf_config(header.metadata, names)
        else:
            with _stand_in(header) as path:
                config = load_gguf_checkpoint(path)["config"]
            if VOCABULARY[0] in header.metadata:  # the reader's own rule where none is stated
                config.setdefault("vocab_size", header.metadata[VOCABULARY[0]])
    except ValueError as error:
        known = sorted(
            {*GGUF_CONFIG_ARCHS, *GGUF_SUPPORTED_ARCHITECTURES} - {"general", "tokenizer"}
        )
        raise UnsupportedModelError(
            f"transformers reads no GGUF file of the architecture {header.architecture!r} "
            f"({header.path}: {first_line(error)}).",
            f"It reads {', '.join(known)}. Of others take the safetensors files.",
        ) from error
    except (KeyError, TypeError, IndexError) as error:
        raise InputError(
            f"The header of {header.path} does not describe a {header.architecture} model: "
            f"{first_line(error)}.",
            "Copy or download it again, or take another conversion of the model.",
        ) from error
    return dict(config)


@contextmanager
def _stand_in(header: Header) -> Iterator[str]:
    """Lend a file that has a header's metadata but the lists of its vocabulary, and no numbers.

    It is as long as the original and takes no more of the disk than its header.
    """
    with NamedTemporaryFile(suffix=".gguf") as file:
        file.write(_without_vocabulary(header))
        end = max(tensor.offset + tensor.n_bytes for tensor in header.tensors)
        file.truncate(file.tell() + end)
        file.flush()
        yield file.name


def _without_vocabulary(header: Header) -> bytes:
    """Return the bytes of a header without the lists of the vocabulary."""
    from transformers.integrations.gguf import reader

    blob: Any = reader._mapped(str(header.path))
    version, n_tensors, n_entries = struct.unpack_from("<IQQ", blob, 4)
    entries, place = [], 24
    for _ in range(n_entries):
        start = place
        key, place = reader._read_string(blob, place)
        (kind,) = struct.unpack_from("<I", blob, place)
        _, place = reader._read_value(blob, place + 4, kind)
        if key not in VOCABULARY:
            entries.append(bytes(blob[start:place]))
    _, end = reader._read_tensor_table(blob, n_tensors, place)
    counts = b"GGUF" + struct.pack("<IQQ", version, n_tensors, len(entries))
    return counts + b"".join(entries) + bytes(blob[place:end])
