"""Read Kubernetes out of etcd: objects, their history, and why each pod runs where it runs.

    import ketcd

    cluster = ketcd.open("snapshot.db")
    for change in cluster.history("pod/web/tomcat-1"):
        print(change["time"], change["type"], change["by"])

Answers are dictionaries, those that the command `ketcd` prints with `-o json`. Many of something is `Rows`, which is iterated, or read as columns by
whatever takes `__arrow_c_stream__`: pandas, polars, DuckDB, pyarrow. Nothing writes to a source, and values of Secrets are masked.
"""

from ketcd._cluster import Cluster, Rows, open
from ketcd._error import Error, NotFound
from ketcd._ketcd import __version__

__all__ = ["Cluster", "Error", "NotFound", "Rows", "__version__", "open"]
