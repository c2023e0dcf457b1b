"""The faults of tools/faults: how each is made, and what every command must do meanwhile."""

import signal
import time
from contextlib import contextmanager

import load
from cluster import Cluster, encoded, free_port
from ketcd import COMMANDS, SETTLED, WATCH
from proxy import Proxy, web


def flags(cluster, endpoints=None, ca=None, client=None):
    cert, key = client or cluster.client
    endpoints = endpoints or [member.endpoint for member in cluster.members]
    return ["--endpoints", ",".join(endpoints), "--cacert", ca or cluster.pki.ca, "--cert", cert, "--key", key]


@contextmanager
def filled(ketcd, etcd, count=3, **options):
    """A cluster with the capture in it."""
    cluster = Cluster(etcd, count, **options)
    try:
        load.replay(cluster.members[0], ketcd.changes())
        cluster.heal()
        yield cluster
    finally:
        cluster.end()


def check(ketcd, table, reach, before, sentence=None, code=None, healed=False, compared=SETTLED, within=60):
    """Runs every command: with the exit code and the answer it had before, or with `code`; with `sentence` on standard error. Where all is healed,
    nothing but what is wrong becomes a row."""
    for command in COMMANDS:
        running = ketcd.start(reach, command)
        ended, took = running.wait(), time.monotonic() - running.begun
        notes = [(at - running.begun, line) for at, line in running.stderr if line.startswith("ketcd:")]
        said = next((note for note in notes if load.matches(sentence, note[1])), None)
        wrong = None
        if ended is None or took > within:
            wrong = f"took {took:.0f} s"
        elif sentence and said is None:
            wrong = f"does not say {sentence!r} but {notes!r}"
        elif code is not None and ended != code:
            wrong = f"exit {ended}, not {code}"
        elif code is None and command != "status" and ended != before[command][0]:
            wrong = f"exit {ended}, not {before[command][0]}"
        elif code is None and command.startswith(compared) and [line for _, line in running.stdout] != before[command][1]:
            wrong = "another answer than before"
        seconds, line = said or (took, "answers as before")
        if wrong or not healed:
            table.row(command, seconds, line, ended, wrong)


def watched(table, watching, member, before, sentence=None):
    """A running watch: says the sentence, and brings what is written to `member`."""
    said = watching.says(sentence) if sentence else None
    if sentence and said is None:
        table.row(WATCH, None, "", None, f"does not say {sentence!r}")
        return watching.end()
    if not said:
        first = next((line for _, line in watching.stderr), "goes on")
        said, watching.begun = (None, first), time.monotonic()
    revision = load.put(member)
    brought = watching.says(f'"revision":{revision},', stream="out")
    wrong = None if brought else f"revision {revision} does not come"
    table.row(WATCH, said[0] if said[0] is not None else brought and brought[0], said[1], None, wrong)
    return watching.end()


def started(ketcd, reach, member):
    """A watch whose stream is open: it brought a change."""
    watching = ketcd.start(reach, WATCH)
    if watching.says('"INITIAL"', stream="out") is None or not watching.says(f'"revision":{load.put(member)},', stream="out"):
        raise SystemExit(f"watch does not begin: {watching.stderr}")
    return watching


def on_members(break_it, sentence=None, watch_says=None, writes=True):
    """A fault of members, which heals."""

    def scenario(ketcd, etcd, table, _):
        with filled(ketcd, etcd) as cluster:
            leader, others = cluster.leader()
            broken, left = break_it(leader, others)
            # The broken ones are asked first.
            reach = flags(cluster, [member.endpoint for member in [*broken, *left]])
            watching = started(ketcd, reach, leader)
            before = ketcd.answers(reach)
            watching.begun = time.monotonic()
            for member, stop in broken.items():
                stop(member)
            check(ketcd, table, reach, before, sentence)
            if not writes:
                said = watching.says(watch_says)
                table.row(WATCH, *(said or (None, "")), None, None if said else f"does not say {watch_says!r}")
                watch_again = "connected to .* again, which has a leader, nothing missed"
                cluster.heal()
                watching.begun = time.monotonic()
                watched(table, watching, left[0], before, watch_again)
            else:
                watched(table, watching, left[0], before, watch_says)
            cluster.heal()
            check(ketcd, table, reach, ketcd.answers(reach), healed=True)

    return scenario


def kill(member):
    member.kill()


def hold_up(member):
    member.send(signal.SIGSTOP)


def on_the_way(make, sentence=None, code=None):
    """A fault between ketcd and members that are well: `make` returns the flags."""

    def scenario(ketcd, etcd, table, _):
        with filled(ketcd, etcd, 1) as cluster:
            before = ketcd.answers(flags(cluster))
            reach = make(cluster)
            check(ketcd, table, reach, before, sentence, code)
            watching = ketcd.start(reach, WATCH)
            if code is None:
                watching.says('"INITIAL"', stream="out")
                watched(table, watching, cluster.members[0], before)
            else:
                ended = watching.wait()
                said = next(((at - watching.begun, line) for at, line in watching.stderr if load.matches(sentence, line)), None)
                table.row(WATCH, *(said or (None, "")), ended, None if said and ended == code else f"does not end with {sentence!r}")

    return scenario


def certified(issue, sentence):
    """A server's certificate that cannot be trusted."""

    def scenario(ketcd, etcd, table, _):
        cluster = Cluster(etcd, 1, certificate=issue)
        try:
            check(ketcd, table, flags(cluster), {}, sentence, 2)
        finally:
            cluster.end()

    return scenario


def proxied(mode, delay=0.0):
    return lambda cluster: flags(cluster, [Proxy(cluster.members[0].port, mode, delay).endpoint])


def half_open(ketcd, etcd, table, _):
    """The network swallows everything from one moment on."""
    with filled(ketcd, etcd) as cluster:
        proxy = Proxy(cluster.members[0].port)
        reach = flags(cluster, [proxy.endpoint, cluster.members[1].endpoint])
        watching = started(ketcd, reach, cluster.members[0])
        before = ketcd.answers(reach)
        watching.begun, proxy.mode = time.monotonic(), "stall"
        check(ketcd, table, reach, before)
        watched(table, watching, cluster.members[1], before, "has not answered for 15s: the connection was given up")
        proxy.end()


def nospace(ketcd, etcd, table, _):
    with filled(ketcd, etcd, 1, flags=["--quota-backend-bytes", str(16 << 20)]) as cluster:
        reach, member = flags(cluster), cluster.members[0]
        before = ketcd.answers(reach)
        try:
            for number in range(100):
                member.put(f"/registry/{number}", "x" * 1_000_000)
        except OSError:
            pass
        running = ketcd.start(reach, "status")
        code, alarm = running.wait(), next((line for _, line in running.stdout if "raised the alarm NOSPACE" in line), None)
        table.row("status", time.monotonic() - running.begun, alarm, code, None if alarm and code == 2 else "no alarm")
        check(ketcd, table, reach, {**before, "status": (2, [])})


def learner(ketcd, etcd, table, _):
    with filled(ketcd, etcd, 1) as cluster:
        before = ketcd.answers(flags(cluster))
        reach = flags(cluster, [cluster.learner(etcd).endpoint])
        time.sleep(2)
        # A learner's history is dated by some of its revisions, so times differ within their errors.
        check(ketcd, table, reach, before, "is a learner: what follows is what", compared=("get", "explain"))
        watching = ketcd.start(reach, WATCH)
        code, line = watching.wait(), " ".join(line for _, line in watching.stderr)
        wrong = None if code == 2 and "serves no watches" in line else "is not refused"
        table.row(WATCH, time.monotonic() - watching.begun, watching.stderr[-1][1], code, wrong)


def restart(ketcd, etcd, table, _):
    """Each member in turn, as an upgrade does."""
    with filled(ketcd, etcd) as cluster:
        reach = flags(cluster)
        watching = started(ketcd, reach, cluster.members[0])
        before = ketcd.answers(reach)
        watching.begun = time.monotonic()
        for member in cluster.members:
            member.kill(signal.SIGTERM)
            member.spawn()
            member.wait()
        check(ketcd, table, reach, before)
        watched(table, watching, cluster.members[0], before, "again, nothing missed since r")


def other_ca(cluster):
    return flags(cluster, ca=cluster.pki.peer[0])


def of_client(**dates):
    return lambda cluster: flags(cluster, client=cluster.pki.issue("late", **dates))


OLD = {"begin": "20190101000000Z", "end": "20200101000000Z"}
NEW = {"begin": "20400101000000Z", "end": "20491231235959Z"}
NO_LEADER = "no leader of the cluster answers: what follows is what"

SCENARIOS = {
    "follower-killed": on_members(lambda leader, others: ({others[0]: kill}, [leader, others[1]])),
    "leader-killed": on_members(lambda leader, others: ({leader: kill}, others)),
    "two-killed": on_members(lambda leader, others: ({leader: kill, others[0]: kill}, others[1:]), NO_LEADER, NO_LEADER, writes=False),
    "follower-held-up": on_members(lambda leader, others: ({others[0]: hold_up}, [leader, others[1]]), None, "has not answered for 15s"),
    "leader-held-up": on_members(lambda leader, others: ({leader: hold_up}, others), None, "has not answered for 15s"),
    "restart": restart,
    "leaders-killed-under-load": load.leaders,
    "slow-network": on_the_way(proxied("delay", 0.05)),
    "half-open": half_open,
    "stalled": on_the_way(proxied("stall"), "no etcd answers at .* within", 2),
    "dropped": on_the_way(proxied("drop"), "closed the connection in the TLS handshake", 2),
    "http-proxy": on_the_way(lambda cluster: ["--endpoints", f"http://127.0.0.1:{web()}"], "is not etcd: another server answers", 2),
    "plain-text": on_the_way(lambda cluster: ["--endpoints", f"http://127.0.0.1:{cluster.members[0].port}"], "wants TLS", 2),
    "closed-port": on_the_way(lambda cluster: flags(cluster, [f"https://127.0.0.1:{free_port()}"]), "connection refused", 2),
    "dns": on_the_way(lambda cluster: flags(cluster, ["https://etcd-0.invalid:2379"]), "cannot resolve etcd-0.invalid", 2),
    "peer-port": on_the_way(lambda cluster: flags(cluster, [cluster.members[0].peer_url]), "is etcd's peer port", 2),
    "other-ca": on_the_way(other_ca, "is not signed by", 2),
    "no-client-certificate": on_the_way(lambda cluster: flags(cluster)[:4], "requires a client certificate", 2),
    "client-certificate-expired": on_the_way(of_client(**OLD), "refused the client certificate in", 2),
    "client-certificate-not-yet-valid": on_the_way(of_client(**NEW), "refused the client certificate in", 2),
    "server-certificate-expired": certified(lambda pki: pki.issue("old", **OLD), "expired on 2020-01-01"),
    "server-certificate-not-yet-valid": certified(lambda pki: pki.issue("new", **NEW), "is not valid before 2040-01-01"),
    "server-certificate-of-another-host": certified(lambda pki: pki.issue("other", "DNS:etcd-0.lab"), "is not for 127.0.0.1 but for"),
    "nospace": nospace,
    "learner": learner,
    "compaction": load.compactions,
    "defragmentation": load.defragmentation,
}
