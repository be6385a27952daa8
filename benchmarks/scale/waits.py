"""What clients of a server wait for, with 1, 8 and 32 of them at once, for each library in the folder of a server.

The libraries are those that `benchmarks.scale.links` and `benchmarks.scale.grown_server` have left. It takes a minute,
so that it can be run while nobody else uses the machine.

    SEESAY_DATA=… python -m benchmarks.scale.waits SERVER
"""

import argparse
from pathlib import Path

import psycopg

from benchmarks.scale.real import sentence_vectors
from benchmarks.scale.sections import write_section
from benchmarks.scale.server import CLIENTS, latency
from benchmarks.speed.servers import kept_server
from seesay.library.stores.postgres import PostgresStore, vectors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("server", type=Path)
    arguments = parser.parse_args()
    queries = sentence_vectors()
    rows = []
    with kept_server(arguments.server) as server:
        with psycopg.connect(server.get_uri()) as connection:
            named = connection.execute("SELECT schemaname FROM pg_tables WHERE tablename = 'vectors' ORDER BY 1")
            schemas = [name for (name,) in named]
        for schema in schemas:
            store = PostgresStore(f"{server.get_uri()}&schema={schema}")
            if not store.index.exists():
                continue
            latency(store, server, queries, 1)  # the index is read from the disk
            rows.append(
                {
                    "library": schema,
                    "photos": store.counts().photos,
                    "waits": [latency(store, server, queries, n_clients) for n_clients in CLIENTS],
                }
            )
            print(rows[-1], flush=True)
            store.close()
    write_section("waits", breadth=vectors._BREADTH, rows=rows)


if __name__ == "__main__":
    main()
