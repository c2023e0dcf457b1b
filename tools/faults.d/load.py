"""Faults of tools/faults that go on while commands run: writes, kills, compactions, defragmentation."""

import http.client
import json
import re
import threading
import time

from cluster import encoded
from ketcd import COMMANDS, WATCH

POD = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"load","namespace":"lab"},"status":{"phase":"%s"}}'
KEY = "/registry/pods/lab/load"


def matches(pattern, line):
    return pattern is not None and re.search(pattern, line) is not None


def replay(member, changes):
    """Writes a capture, one transaction a revision."""
    revisions = {}
    for change in changes:
        key = encoded(change["key"])
        if change["type"] == "DELETED":
            operation = {"requestDeleteRange": {"key": key}}
        else:
            operation = {"requestPut": {"key": key, "value": encoded(json.dumps(change["object"]))}}
        revisions.setdefault(change["revision"], []).append(operation)
    connection = http.client.HTTPConnection("127.0.0.1", member.plain, timeout=20)
    for operations in revisions.values():
        connection.request("POST", "/v3/kv/txn", json.dumps({"success": operations}))
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise SystemExit(f"the capture cannot be written: {text.decode()}")
    connection.close()


def put(member):
    return member.put(KEY, POD % time.monotonic())


class Work:
    """Something done again and again beside the commands."""

    def __init__(self, work, pause):
        self.work, self.pause, self.ended, self.done = work, pause, False, 0
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.ended:
            try:
                self.work()
                self.done += 1
            except (OSError, http.client.HTTPException, ValueError):
                pass
            time.sleep(self.pause)

    def end(self):
        self.ended = True
        self.thread.join()
        return self.done


class Once:
    """Checks a watch's lines: every revision once, in order, or in a gap that was told."""

    def __init__(self, watching, begin):
        self.watching, self.begin = watching, begin

    def wrong(self, newest, limit=60):
        """What is wrong with what came until the newest revision did; and how many changes came."""
        deadline, expected, count, place = time.monotonic() + limit, self.begin, 0, 0
        while expected <= newest:
            if time.monotonic() > deadline:
                return f"ends before revision {expected}", count
            lines = self.watching.stdout[place:]
            place += len(lines)
            for _, line in lines:
                change = json.loads(line)
                if change["type"] == "INITIAL":
                    continue
                begin, end = (change["from"], change["to"]) if change["type"] == "GAP" else (change["revision"], change["revision"])
                if begin != expected:
                    return f"revision {begin} comes where {expected} should", count
                expected, count = end + 1, count + 1
            time.sleep(0.05)
        return None, count


def leaders(ketcd, etcd, table, arguments):
    """Kills the leader again and again under 50 to 100 puts a second."""
    from scenarios import filled, flags, started

    with filled(ketcd, etcd) as cluster:
        reach, begin = flags(cluster), cluster.members[0].revision() + 1
        watching = started(ketcd, reach, cluster.members[0])
        turn = [0]

        def write():
            turn[0] += 1
            cluster.members[turn[0] % 3].put(KEY, POD % turn[0], timeout=2)

        writers = [Work(write, 0.02) for _ in range(6)]
        seen = {command: [0, 0.0, set()] for command in COMMANDS}
        wrong = {}

        def ask():
            for command in COMMANDS:
                running = ketcd.start(reach, command)
                code, took = running.wait(), time.monotonic() - running.begun
                seen[command][0] += 1
                seen[command][1] = max(seen[command][1], took)
                seen[command][2].update(line for _, line in running.stderr)
                if code not in ((0, 1) if command.startswith("diff") else (0, 2) if command == "status" else (0,)):
                    wrong.setdefault(command, f"exit {code}: {[line for _, line in running.stderr]}")

        asking = Work(ask, 0)
        for _ in range(arguments.kills):
            leader, _ = cluster.leader()
            leader.kill()
            time.sleep(0.3)
            leader.spawn()
            leader.wait()
            time.sleep(1)
        asking.end()
        written = sum(writer.end() for writer in writers)
        newest = put(cluster.leader()[0])
        problem, count = Once(watching, begin).wrong(newest)
        problem = problem or (None if count > arguments.kills else "nothing was written")
        table.row(WATCH, None, f"{arguments.kills} kills, {written} puts answered: {count} changes, each once", None, problem)
        for command in COMMANDS:
            runs, longest, said = seen[command]
            sentence = next((line for line in sorted(said) if line.startswith("ketcd:")), "says nothing")
            table.row(command, longest, f"{runs} runs; {sentence}", None, wrong.get(command))
        watching.end()


def compactions(ketcd, etcd, table, _):
    """Compacts all but a few revisions every 100 ms to 1 s."""
    from scenarios import filled, flags

    for pause in (0.1, 0.3, 1.0):
        with filled(ketcd, etcd, 1) as cluster:
            member, reach = cluster.members[0], flags(cluster)
            writing = Work(lambda: put(member), 0.01)
            compacting = Work(lambda: member.call("kv/compaction", {"revision": member.revision() - 3}), pause)
            time.sleep(2 * pause)
            runs = ["history pod/lab/ubuntu", "history pods -A", "history --all -o ndjson", "timeline pod/lab/ubuntu", "blame pod/lab/ubuntu"]
            for command in runs:
                failed, longest, sentence = [], 0.0, ""
                for _ in range(15):
                    running = ketcd.start(reach, command)
                    code = running.wait()
                    longest = max(longest, time.monotonic() - running.begun)
                    sentence = next((line for _, line in running.stderr if "a gap" in line), sentence)
                    if code != 0 or not running.stdout or any("error:" in line for _, line in running.stderr):
                        failed.append((code, running.stderr))
                said = f"every {pause} s: {15 - len(failed)} of 15 runs; {sentence}"
                table.row(command, longest, said, 0, f"{failed[0]}" if failed else None)
            good, gaps = 0, ""
            for _ in range(15):
                watching = ketcd.start(reach, f"{WATCH} --from-rev 1")
                time.sleep(1.5)
                problem, _ = Once(watching, 1).wrong(member.revision())
                gaps = next((line for _, line in watching.stderr if "a gap" in line), gaps)
                watching.end()
                good += problem is None
            sentence = f"every {pause} s: {good} of 15 runs; {gaps}"
            table.row("watch --from-rev 1", None, sentence, None, None if good == 15 else str(problem))
            if not compacting.end() or not writing.end():
                raise SystemExit("nothing was compacted or written")


def defragmentation(ketcd, etcd, table, _):
    """Defragments all members one after the other, without a pause."""
    from scenarios import check, filled, flags, started

    with filled(ketcd, etcd) as cluster:
        reach, begin = flags(cluster), cluster.members[0].revision() + 1
        watching = started(ketcd, reach, cluster.members[0])
        before = ketcd.answers(reach)
        working = [Work(lambda member=member: member.call("maintenance/defragment"), 0.05) for member in cluster.members]
        check(ketcd, table, reach, before)
        for _ in range(200):
            newest = put(cluster.members[0])
        problem, count = Once(watching, begin).wrong(newest)
        done = sum(work.end() for work in working)
        table.row(WATCH, None, f"{done} defragmentations: {count} changes, each once", None, problem if done > 3 else "none was made")
        watching.end()
