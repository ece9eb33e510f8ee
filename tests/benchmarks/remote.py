"""What a published store on a web server sends: requests and bytes, of opening and of queries.

    python -m tests.benchmarks.remote DIR

The directory is served on the loopback interface by a server that knows ranges and lists nothing.
"""

from __future__ import annotations

import argparse
import threading
from pathlib import Path

from analysis.store import open_store
from tests.analysis.store.test_remote import Handler, Server

QUERIES = {
    "rows of the largest table": "SELECT count(*) FROM residual_update",
    "one column of one model": "SELECT avg(cosine) FROM residual_update WHERE model_id = $model",
    "gains of one model": "SELECT metric, gain_mean FROM gain_by_model WHERE model_id = $model",
    "one column of all models": "SELECT avg(cosine) FROM residual_update",
}


def main() -> None:
    """Serve, open, ask, and print a line for each."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("directory", type=Path)
    directory = options.parse_args().directory
    files = [path.stat().st_size for path in directory.rglob("*") if path.is_file()]
    print(f"{len(files)} files, {sum(files):,} bytes")
    with Server(("127.0.0.1", 0), Handler) as server:
        server.root = directory
        threading.Thread(target=server.serve_forever, daemon=True).start()
        store = open_store(server.address)
        remote = store.sources[0].remote
        print(f"{'opening':<28}{remote.n_requests:>6} requests {server.n_bytes:>13,} bytes")
        model = store.query("SELECT max(model_id) AS model FROM run")["model"].item()
        for name, sql in QUERIES.items():
            requests, n_bytes = remote.n_requests, server.n_bytes
            store.query(sql, **({"model": model} if "$model" in sql else {}))
            asked, sent = remote.n_requests - requests, server.n_bytes - n_bytes
            print(f"{name:<28}{asked:>6} requests {sent:>13,} bytes")
        server.shutdown()


if __name__ == "__main__":
    main()
