"""A hub on 127.0.0.1 that serves directories: listings, ranges, redirects, tokens, its faults."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote, unquote, urlsplit

#: The file of weights of a small model.
WEIGHTS = "model.safetensors"

#: What the hub keeps apart from its repositories.
_LARGE = (".safetensors", ".bin", ".gguf")


#: Status, content and headers of an answer.
Answer = tuple[int, bytes, dict[str, str]]


@dataclass
class Repository:
    """A directory that is served; ``commits`` gives other directories by branch, tag or commit.

    ``moved_to`` is the identifier that it has been given since: who asks is sent there.
    """

    directory: Path
    commits: dict[str, Path] = field(default_factory=dict)
    token: str | None = None
    moved_to: str | None = None

    def at(self, revision: str) -> tuple[str, Path] | None:
        """Return commit and directory of a revision."""
        places = {"main": self.directory, **self.commits}
        places |= {commit_of(directory): directory for directory in places.values()}
        result = places.get(revision)
        return None if result is None else (commit_of(result), result)


@dataclass
class LocalHub:
    """What the hub holds, what it was asked, and how it fails."""

    address: str = ""
    #: Where it sends those who want weights.
    elsewhere: str = ""
    repositories: dict[str, Repository] = field(default_factory=dict)
    #: Method and path of every request, with its range and whether it brought a token.
    log: list[tuple[str, str, str | None, bool]] = field(default_factory=list)
    #: A status, or a whole answer, to give instead; ``no ranges`` sends whole files alone.
    fault: Callable[[str, str], int | str | Answer | None] = lambda _method, _path: None
    #: By name of a file: what listings say of it instead of what is so.
    listed_sha256: dict[str, str] = field(default_factory=dict)
    listed_size: dict[str, int] = field(default_factory=dict)

    def asked(self, ending: str) -> list[str]:
        """Return the methods of the requests whose path ends so."""
        return [method for method, path, *_ in self.log if path.endswith(ending)]

    def fetched(self, ending: str) -> list[str]:
        """Return the paths that end so and were asked for beyond a part that a range ends."""
        return [
            path
            for method, path, part, _ in self.log
            if path.endswith(ending) and (method != "GET" or not part or part.endswith("-"))
        ]


def commit_of(directory: Path) -> str:
    """Return a commit that stands for the content of a directory."""
    digest = hashlib.sha1(str(directory).encode(), usedforsecurity=False)
    for path in sorted(directory.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: LocalHub

    def log_message(self, *_: object) -> None:
        """Say nothing on standard error."""

    def do_GET(self) -> None:
        """Answer a listing, a small file, a redirect, or a range of a large file."""
        path = unquote(urlsplit(self.path).path)
        token = self.headers.get("Authorization")
        self.hub.log.append((self.command, path, self.headers.get("Range"), token is not None))
        fault = self.hub.fault(self.command, path)
        if isinstance(fault, int):
            self._send(fault, b"", {"Retry-After": "1"})
        elif isinstance(fault, tuple):
            self._send(*fault)
        elif path.startswith("/cdn/"):
            self._send_range(Path(path.removeprefix("/cdn")), fault)
        elif moved := self._moved(path):
            self._send(307, b"", {"Location": moved})
        elif path.startswith("/api/models/") and path.endswith("/refs"):
            model = path.removeprefix("/api/models/").removesuffix("/refs")
            self._with(model, "main", token, self._send_references)
        elif path.startswith("/api/models/"):
            model, _, revision = path.removeprefix("/api/models/").partition("/revision/")
            self._with(model, revision or "main", token, self._send_listing)
        else:
            model, _, rest = path.removeprefix("/").partition("/resolve/")
            # A revision such as refs/pr/1 holds slashes, a file of these repositories none.
            revision, _, name = rest.rpartition("/")
            self._with(model, revision, token, lambda *at: self._send_file(*at, name))

    do_HEAD = do_GET  # noqa: N815

    def _with(
        self, model: str, revision: str, token: str | None, send: Callable[..., None]
    ) -> None:
        repository = self.hub.repositories.get(model)
        if repository is None:
            self._send(404, b"", {"X-Error-Code": "RepoNotFound"})
        elif repository.token is not None and token is None:
            self._send(401, b"", {"X-Error-Code": "GatedRepo"})
        elif repository.token is not None and token != f"Bearer {repository.token}":
            message = "Invalid credentials in Authorization header"
            self._send(401, b"", {"X-Error-Message": message})
        elif (result := repository.at(revision)) is None:
            self._send(404, b"", {"X-Error-Code": "RevisionNotFound"})
        else:
            send(model, *result)

    def _moved(self, path: str) -> str | None:
        """Return the path that a repository with another identifier now has for this one."""
        for model, repository in self.hub.repositories.items():
            if repository.moved_to and f"/{model}/" in f"{path}/":
                return quote(path.replace(f"/{model}", f"/{repository.moved_to}", 1))
        return None

    def _send_references(self, model: str, _commit: str, directory: Path) -> None:
        names = {"main": directory, **self.hub.repositories[model].commits}
        branches = [
            {"name": name, "ref": f"refs/heads/{name}", "targetCommit": commit_of(place)}
            for name, place in names.items()
            if not name.startswith("refs/")
        ]
        content = json.dumps({"branches": branches, "tags": [], "converts": []}).encode()
        self._send(200, content, {"Content-Type": "application/json"})

    def _send_listing(self, model: str, commit: str, directory: Path) -> None:
        siblings = [self._sibling(path) for path in sorted(directory.iterdir())]
        listing = {"id": model, "modelId": model, "sha": commit, "siblings": siblings}
        content = json.dumps({**listing, "tags": [], "private": False, "downloads": 0}).encode()
        self._send(200, content, {"Content-Type": "application/json"})

    def _sibling(self, path: Path) -> dict[str, object]:
        size = self.hub.listed_size.get(path.name, path.stat().st_size)
        entry: dict[str, object] = {"rfilename": path.name, "size": size, "blobId": _sha1(path)}
        if path.suffix in _LARGE:
            sha256 = self.hub.listed_sha256.get(path.name, _sha256(path))
            entry["lfs"] = {"size": size, "sha256": sha256, "pointerSize": 134}
        return entry

    def _send_file(self, _model: str, commit: str, directory: Path, name: str) -> None:
        path, about = directory / name, {"X-Repo-Commit": commit}
        if not path.is_file():
            self._send(404, b"", {**about, "X-Error-Code": "EntryNotFound"})
        elif path.suffix in _LARGE:
            linked = {"X-Linked-Size": str(path.stat().st_size), "X-Linked-Etag": _sha256(path)}
            self._send(302, b"", {**about, **linked, "Location": f"{self.hub.elsewhere}/cdn{path}"})
        else:
            self._send(200, path.read_bytes(), {**about, "ETag": f'"{_sha1(path)}"'})

    def _send_range(self, path: Path, fault: str | None) -> None:
        content, asked = path.read_bytes(), self.headers.get("Range")
        asked = None if fault == "no ranges" else asked
        first, _, last = (asked or "bytes=0-").removeprefix("bytes=").partition("-")
        start, end = int(first), min(int(last or len(content)), len(content) - 1)
        about = {"ETag": f'"{_sha256(path)}"', "Accept-Ranges": "bytes"}
        if asked:
            about["Content-Range"] = f"bytes {start}-{end}/{len(content)}"
        rest = content[start : end + 1]
        self._send(206 if asked else 200, rest, about)

    def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else content)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _sha1(path: Path) -> str:
    return hashlib.sha1(path.read_bytes(), usedforsecurity=False).hexdigest()


@contextmanager
def served() -> Iterator[LocalHub]:
    """Serve a hub on a free port of 127.0.0.1 until the block ends."""
    hub = LocalHub()
    handler = type("_Bound", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    hub.address = f"http://127.0.0.1:{server.server_port}"
    # Another name of the same interface, so that the client takes it for another host.
    hub.elsewhere = f"http://localhost:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def shard(directory: Path, name: str, **others: str) -> None:
    """Let an index name the only file of weights, and others by tensor that may not be there."""
    from safetensors.torch import load_file

    (directory / WEIGHTS).rename(directory / name)
    places = {**dict.fromkeys(load_file(directory / name), name), **others}
    index = {"metadata": {}, "weight_map": places}
    (directory / f"{WEIGHTS}.index.json").write_text(json.dumps(index))


def pickles_only(directory: Path) -> None:
    """Leave no other weights than those of a pickle."""
    (directory / WEIGHTS).rename(directory / "pytorch_model.bin")
