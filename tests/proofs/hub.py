"""The hub as people meet it: each line by commands against a local hub, with its log of requests.

    python -m tests.proofs.hub [WORD]

runs the lines whose title holds the word, or all; ends with 1 where one is not as it must be.
Takes some ten minutes: every command is a process of its own.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.collect.model.checkpoint.local_hub import (
    WEIGHTS,
    Repository,
    commit_of,
    pickles_only,
    served,
    shard,
)
from tests.proofs.hub_stage import Stage, copy, edit_json

#: Each line of the proof: what must hold, and the commands that show it.
LINES: list[tuple[str, Callable[[Stage], None]]] = []

PLAN = ("--prompts", "own.txt")
WEIGH = ("--quantities", "weights", "--out", "out", "--quiet")


def line(what: str) -> Callable[[Callable[[Stage], None]], Callable[[Stage], None]]:
    """Add a line to the proof."""

    def add(act: Callable[[Stage], None]) -> Callable[[Stage], None]:
        LINES.append((what, act))
        return act

    return add


@line("Single file and shards side by side: what transformers loads is taken, and nothing else")
def both(on: Stage) -> None:
    directory = on.offer("acme/both")
    copy(directory / WEIGHTS, directory / "whole")
    shard(directory, "model-00001-of-00001.safetensors")
    (directory / "whole").rename(directory / WEIGHTS)
    on.collect("plan", "acme/both", *PLAN, code=0, says="to download first")
    on.collect("run", "acme/both", *WEIGH, code=0)
    on.must(not on.hub.asked("of-00001.safetensors"), "the shard must not be asked for")
    local = on.save(on.work / "local")
    copy(local / WEIGHTS, local / "whole")
    shard(local, "model-00001-of-00001.safetensors")
    (local / "model-00001-of-00001.safetensors").write_bytes(b"never opened")
    (local / "whole").rename(local / WEIGHTS)
    on.collect("run", "local", *WEIGH, code=0)


@line("Listing and JSON first, then exactly the files that the index names, odd names too")
def exactly(on: Stage) -> None:
    directory = on.offer("acme/sharded")
    shard(directory, "odd name of a shard.safetensors")
    (directory / "model-00001-of-00002.safetensors").write_bytes(b"left over")
    (directory / "pytorch_model.bin").write_bytes(b"a pickle")
    (directory / "README.md").write_text("a card")
    on.collect("plan", "acme/sharded", *PLAN, code=0, says=r"kB to download first", n_said=12)
    on.must(not on.fetched(".safetensors"), "a plan must fetch no weights")
    on.collect("run", "acme/sharded", *WEIGH, code=0)
    names = {path.rsplit("/", 1)[-1] for _, path, *_ in on.hub.log if "/cdn/" in path}
    on.must(names == {"odd name of a shard.safetensors"}, "that file alone must be fetched")
    on.collect("run", "acme/sharded", *WEIGH[:-1], code=0, says="already complete")


@line("A disk without room is found out before a byte of the weights; sha256 is compared after")
def disk(on: Stage) -> None:
    on.offer("acme/huge")
    on.hub.listed_size[WEIGHTS] = 17_000_000_000_000
    on.collect("plan", "acme/huge", *PLAN, code=0, says="17 TB to download first")
    on.collect("run", "acme/huge", *WEIGH, code=5, says="must have room for the weights")
    on.must(not on.fetched(WEIGHTS), "no weights may be fetched")
    on.hub.listed_size.clear()
    on.offer("acme/changed")
    on.hub.listed_sha256[WEIGHTS] = "0" * 64
    on.collect("run", "acme/changed", *WEIGH, code=2, says="the content that the hub lists")


@line("Refused models cost no weights, and a bad third costs nothing of the first two")
def bad_third(on: Stage) -> None:
    for name in ("acme/one", "acme/two"):
        on.offer(name)
    edit_json(on.offer("acme/three") / "config.json", model_type="bert")
    models = ("acme/one", "acme/two", "acme/three")
    on.collect("plan", *models, *PLAN, code=2, says="'bert' is refused", n_said=14)
    on.collect("run", *models, *WEIGH, "--fail-fast", code=2, says="'bert' is refused")
    on.must(not on.fetched(WEIGHTS), "no weights may be fetched")
    on.collect("run", *models, *WEIGH, code=2, says="1 of 3 models was refused")
    on.must(not [p for p in on.fetched(WEIGHTS) if "three" in p], "none of the third's")


@line("Repeated breaks: the transfer goes on where it stopped")
def breaks(on: Stage) -> None:
    on.large("acme/large")
    left = iter(["break", "break"])
    on.hub.fault = lambda _m, path: next(left, None) if "/cdn/" in path and _m == "GET" else None
    # The first two are spent on the header, the next on the file itself.
    left = iter([None, None, "break", "break"])
    on.collect("run", "acme/large", *WEIGH, code=0)
    parts = [part for _, path, part, _ in on.hub.log if "/cdn/" in path and part]
    on.must(any(p.endswith("-") and p != "bytes=0-" for p in parts), "it must go on in the middle")


@line("A stall, a reset and breaks without end: one sentence each, and the next run goes well")
def broken(on: Stage) -> None:
    on.offer("acme/tiny")

    def only_weights(fault: str) -> Callable[[str, str], str | None]:
        n = iter(range(10**6))
        # The first two parts are the header.
        return lambda _m, path: fault if "/cdn/" in path and next(n) >= 2 else None

    says = "hub did not give the model acme/tiny"
    for fault in ("stall", "reset", "break"):
        on.hub.fault = only_weights(fault)
        on.collect("run", "acme/tiny", *WEIGH, code=4, says=says, HF_HUB_DOWNLOAD_TIMEOUT="1")
    on.hub.fault = lambda _m, _path: None
    on.collect("run", "acme/tiny", *WEIGH, code=0)


@line("An HTML answer, an address without a scheme, and identifiers that are none")
def odd(on: Stage) -> None:
    on.offer("acme/tiny")
    on.hub.fault = lambda _m, path: "html" if "/api/" in path else None
    on.collect("plan", "acme/tiny", *PLAN, code=4, says="does not answer as a hub does")
    on.hub.fault = lambda _m, path: "html" if path.endswith("config.json") else None
    on.collect("plan", "acme/tiny", *PLAN, code=4, says="Hub endpoint")
    on.hub.fault = lambda _m, _path: None
    says = "setting of the hub's client cannot be used"
    on.collect("plan", "acme/tiny", *PLAN, code=2, says=says, HF_ENDPOINT="hub.example")
    for name in ("org/x.git", "org/a--b", "org/a..b", "org/x/y"):
        on.collect("plan", name, *PLAN, code=2, says="neither|has no model")


@line("Right causes: a token that is wrong, a licence, 403, 429, 503")
def causes(on: Stage) -> None:
    on.offer("acme/closed", token="right")
    plan = ("plan", "acme/closed", *PLAN)
    on.collect(*plan, code=4, says="401", HF_TOKEN="wrong")
    on.collect(*plan, code=4, says="GatedRepoError")
    on.collect(*plan, code=0, HF_TOKEN="right")
    elsewhere = [has for _, path, _, has in on.hub.log if "/cdn/" in path]
    on.must(not any(elsewhere), "the token must not go elsewhere")
    on.offer("acme/tiny")
    for status in (403, 429, 503):
        on.hub.fault = lambda _m, path, status=status: status if "/api/" in path else None
        on.collect("plan", "acme/tiny", *PLAN, code=4, says=str(status))


@line("Right causes: a cache that is full, and one that cannot be written")
def cache(on: Stage) -> None:
    on.offer("acme/tiny")
    says = "cache of the hub cannot be used"
    (on.folder / "a file").write_text("")
    blocked = str(on.folder / "a file" / "home")
    on.collect("plan", "acme/tiny", *PLAN, code=5, says=says, HF_HOME=blocked)
    on.collect("plan", "acme/tiny", *PLAN, code=5, says=says, HF_HOME="/proc/home")
    on.collect("run", "acme/tiny", *WEIGH, code=5, says=says, limit=20)


@line("Pickles alone are refused, and a conversion under refs/pr/N is pointed at")
def pickles(on: Stage) -> None:
    converted = on.offer("acme/old", at="converted")
    pickles_only(on.offer("acme/old", commits={"refs/pr/1": converted}))
    on.collect("plan", "acme/old", *PLAN, code=2, says=r"refs/pr/N")
    on.must(not on.hub.asked(".bin"), "the pickle must not be asked for")
    on.collect("run", "acme/old", "--revision", "refs/pr/1", *WEIGH, code=0)


@line("The same weights under a new commit do not stop a resumed run; both commits are recorded")
def commits(on: Stage) -> None:
    directory = on.offer("acme/tiny")
    first = commit_of(directory)
    on.collect("run", "acme/tiny", *WEIGH, code=0)
    (directory / "README.md").write_text("a better card")
    on.collect("run", "acme/tiny", *WEIGH[:-1], code=0, says="already complete, skipped")
    recorded = _recorded(on.work / "out")
    print(f"commits recorded: {', '.join(commit[:8] for commit in recorded)}")
    on.must(recorded == sorted({first, commit_of(directory)}), "both must be recorded")


def _recorded(out: Path) -> list[str]:
    from analysis.store import open_store

    return sorted(open_store(out).query("FROM revision")["revision"])


@line("A renamed repository stays one model")
def renamed(on: Stage) -> None:
    directory = on.offer("acme/tiny")
    on.collect("run", "acme/tiny", *WEIGH, code=0)
    on.hub.repositories["new/name"] = on.hub.repositories["acme/tiny"]
    on.hub.repositories["acme/tiny"] = Repository(directory, moved_to="new/name")
    says = "the hub calls it new/name now; measured as acme/tiny(.|\n)*already complete"
    on.collect("plan", "acme/tiny", "--quantities", "weights", "--out", "out", code=0, n_said=12)
    on.collect("run", "acme/tiny", *WEIGH[:-1], code=0, says=says)


@line("Ctrl-C is heard at once, in a listing, in a small file and in weights that stall")
def interrupted(on: Stage) -> None:
    on.offer("acme/tiny")
    # Of the parts of the file of weights the first two are its header.
    for part, n_before, fault in (
        ("/api/models/", 0, "silence"),
        ("config.json", 0, "silence"),
        ("/cdn/", 2, "stall"),
    ):
        n = len(on.hub.log)

        def asked(part: str = part, n: int = n) -> int:
            return sum(part in path for _, path, *_ in on.hub.log[n:])

        def until(n_before: int = n_before, asked: Callable[[], int] = asked) -> bool:
            return asked() > n_before

        def act(_method: str, path: str, part: str = part, fault: str = fault) -> str | None:
            return fault if part in path and until() else None

        on.hub.go_on.clear()
        on.hub.fault = act
        on.collect("run", "acme/tiny", *WEIGH, code=130, says="interrupted", until=until)
        on.hub.go_on.set()
    left = list(on.home.rglob("*.incomplete"))
    on.must(not left, "no part of a file may be left in the cache")


@line("--quiet prints no bars, on a terminal too and whatever the environment says")
def quiet(on: Stage) -> None:
    on.large("acme/large")
    run = ("run", "acme/large", *WEIGH[:-1])
    on.collect(*run, code=0, says="B/s", on_terminal=True)
    on.home = on.folder / "another home"
    asked = {"code": 0, "on_terminal": True, "HF_HUB_DISABLE_PROGRESS_BARS": "0"}
    on.collect(*run, "--quiet", "--overwrite", **asked)
    on.must(not on.said, "nothing may be said")


@line("A directory acme/ in the working directory does not shadow acme/tiny of the hub")
def shadow(on: Stage) -> None:
    on.offer("acme/tiny")
    (on.work / "acme").mkdir()
    on.collect("plan", "acme/tiny", *PLAN, code=0, says="to download first")
    on.collect("plan", "acme/mine", *PLAN, code=2, says="is neither")


@line("An adapter without its model is told on the hub as in a directory")
def adapter(on: Stage) -> None:
    directory = on.offered / "lora"
    directory.mkdir(parents=True)
    (directory / "adapter_config.json").write_text("{}")
    (directory / "adapter_model.safetensors").write_bytes(b"never opened")
    on.hub.repositories["acme/lora"] = Repository(directory)
    says = "holds adapter_config.json, an adapter without its model"
    on.collect("plan", "acme/lora", *PLAN, code=2, says=says)
    directory.rename(on.work / "lora")
    on.collect("plan", "lora", *PLAN, code=2, says=says)


@line("An output within a table of other measurements is refused before anything is asked")
def within(on: Stage) -> None:
    on.offer("acme/tiny")
    on.collect("run", "acme/tiny", *WEIGH, code=0)
    run = ("run", "acme/tiny", "--quantities", "weights", "--out", "out/run/mine")
    on.collect(*run, code=5, says="lies in the table run of")
    on.collect("plan", *run[1:], code=5, says="lies in the table run of")


@line("Without the hub what the cache holds has to do, and nothing is asked")
def offline(on: Stage) -> None:
    on.offer("acme/tiny")
    on.collect("run", "acme/tiny", *WEIGH, code=0)
    run = ("run", "acme/tiny", *WEIGH[:-1])
    on.collect(*run, code=0, says="already complete", HF_HUB_OFFLINE="1")
    on.collect(*run, code=0, says="already complete", HF_ENDPOINT="http://127.0.0.1:9")
    says = "not asked while HF_HUB_OFFLINE is set"
    on.collect("plan", "acme/other", *PLAN, code=4, says=says, HF_HUB_OFFLINE="1")


@line("What stands before a hub, or in its place: each by its cause")
def before(on: Stage) -> None:
    on.offer("acme/tiny")
    plan = ("plan", "acme/tiny", *PLAN)
    on.collect(*plan, code=2, says="Unknown scheme", HTTP_PROXY="gopher://proxy.example")
    on.collect(*plan, code=2, says="socksio", ALL_PROXY="socks5://proxy.example")
    on.collect(*plan, code=2, says="must be plain letters", HF_TOKEN="t\u00f6k\u00e9n")
    secure = on.hub.address.replace("http:", "https:")
    on.collect(*plan, code=4, says="does not speak TLS", HF_ENDPOINT=secure)
    for answer, says in (
        ((401, b"", {"X-Error-Message": "Your token is expired"}), r"not accept the token \(401\)"),
        ((403, b"", {"X-Error-Message": "Access to this resource is disabled."}), "has disabled"),
        ((302, b"", {"Location": "/api/models/acme/tiny"}), "to the next without end"),
        ((200, b'{"error": "please log in"}', {}), "does not answer as a hub does"),
        ((200, b"not packed", {"Content-Encoding": "gzip"}), "cannot be unpacked"),
    ):
        on.hub.fault = lambda _m, path, answer=answer: answer if "/models/" in path else None
        on.collect(*plan, code=4, says=says, HF_TOKEN="mine")


def chosen(word: str) -> Iterator[tuple[int, str, Callable[[Stage], None]]]:
    """Yield the lines whose title holds a word, with their numbers."""
    for number, (what, act) in enumerate(LINES, start=1):
        if word.lower() in what.lower():
            yield number, what, act


def main(word: str = "") -> int:
    """Run the proof; return 1 where a line is not as it must be."""
    failed = []
    with tempfile.TemporaryDirectory() as folder, served() as hub:
        for number, what, act in chosen(word):
            title = f"{number}. {what}"
            print(f"\n{title}\n{'=' * len(title)}", flush=True)
            on = Stage(hub, Path(folder) / str(number))
            act(on)
            print(f"\n{'NOT AS IT MUST BE' if on.failures else 'as it must be'}", flush=True)
            failed += [number] if on.failures else []
    told = f"not: {', '.join(map(str, failed))}" if failed else "all as they must be"
    print(f"\nlines: {told}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
