"""What a Python program may expect: errors, iterators, signals, threads, processes, and the command in the same wheel."""

import copy
import datetime
import itertools
import logging
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
import unittest

import ketcd
from captures import COMPACTED, STORY, capture, ketcd as command


class Errors(unittest.TestCase):
    def test_what_is_not_there_is_told_with_where_it_is(self):
        cluster = ketcd.open(STORY)
        with self.assertRaises(ketcd.NotFound) as raised:
            cluster.get("pod/lab/crasher")
        self.assertIn('pod "crasher" not found in namespace "lab"', raised.exception.message)
        self.assertIn("pod/web/crasher", raised.exception.hint)
        self.assertIn(raised.exception.hint, str(raised.exception))
        self.assertIsInstance(raised.exception, ketcd.Error)
        for rows in (cluster.list("pod/web/none"), cluster.history("pod/web/none")):
            self.assertRaises(ketcd.NotFound, list, rows)
        for ask in (cluster.timeline, cluster.explain):
            self.assertRaises(ketcd.NotFound, ask, "pod/web/none")

    def test_what_is_wrong_is_told_with_what_to_do(self):
        cluster = ketcd.open(COMPACTED)
        for ask, hint in {
            lambda: ketcd.open("/nonexistent.db"): "check the path",
            lambda: ketcd.open(): "ketcd.open(",
            lambda: ketcd.open("https://127.0.0.1:2379"): "etcdctl --endpoints https://127.0.0.1:2379 snapshot save",
            lambda: ketcd.open("127.0.0.1:2379"): "ketcd --endpoints 127.0.0.1:2379 record",
            lambda: ketcd.open("kubeconfig:prod"): "record DIR --kubeconfig",
            lambda: ketcd.open("s3://backups/snapshot.db"): "load it first",
            lambda: cluster.get("pods"): "list()",
            lambda: cluster.get("gizmos/x"): "ls()",
            lambda: cluster.get("node/node1", rev=5): "ask for rev=1920 or newer",
            lambda: cluster.get("node/node1", rev=10**9): "or older",
            lambda: cluster.get("node/node1", rev=2000, at="1m"): "one of them",
            lambda: cluster.explain("nodes"): "pod/NAMESPACE/NAME",
            lambda: cluster.timeline(): "namespace=",
            lambda: [*cluster.table("pods")]: "decision_nodes",
            lambda: [*cluster.list("pods", selector="a in (")]: "as kubectl does",
            lambda: cluster.triage(since=datetime.datetime.now()): "tzinfo",
        }.items():
            with self.assertRaises(ketcd.Error) as raised:
                ask()
            self.assertIn(hint, str(raised.exception.hint), raised.exception.message)

    def test_errors_can_be_copied(self):
        error = copy.copy(pickle.loads(pickle.dumps(ketcd.NotFound("gone", "look there"))))
        self.assertEqual((error.message, error.hint, str(error)), ("gone", "look there", "gone; look there"))

    def test_a_closed_cluster_says_so(self):
        with ketcd.open(STORY) as cluster:
            self.assertEqual(cluster.get("node/node1")["kind"], "Node")
        self.assertRaises(ketcd.Error, cluster.status)


class Answers(unittest.TestCase):
    def test_rows_are_iterated_again_and_not_held(self):
        rows = ketcd.open(STORY).history(all_namespaces=True)
        first = [*itertools.islice(rows, 3)]
        self.assertEqual([*itertools.islice(rows, 3)], first)
        self.assertFalse(hasattr(rows, "__len__"))

    def test_moments_are_datetimes_too(self):
        cluster = ketcd.open(STORY)
        moment = datetime.datetime(2026, 11, 21, 0, 20, tzinfo=datetime.timezone.utc)
        self.assertEqual(cluster.get("node/node1", at=moment), cluster.get("node/node1", at="2026-11-21T00:20:00Z"))
        self.assertEqual([*cluster.history("nodes", since=3000)], [*cluster.history("nodes", since="3000")])

    def test_what_is_noticed_is_logged(self):
        with self.assertLogs("ketcd", logging.WARNING) as logged:
            [*ketcd.open(COMPACTED).history("pod/web/crasher")]
        self.assertIn("1920", " ".join(logged.output))

    def test_sealed_values_are_opened_and_masked(self):
        keys = capture("k136-encrypted", "encryption-config.yaml")
        folder = self.enterContext(tempfile.TemporaryDirectory())
        # Where no configuration lies with it.
        file = shutil.copy(capture("k136-encrypted"), folder)
        with self.assertLogs("ketcd", logging.WARNING) as logged:
            sealed = [object for object in ketcd.open(file).list("configmaps", all_namespaces=True) if "opaque" in object]
        self.assertIn("sealed by aesgcm under key gcm1", " ".join(logged.output))
        self.assertEqual(len(sealed), 5)
        cluster = ketcd.open(file, encryption_config=keys)
        self.assertFalse([object for object in cluster.list("configmaps", all_namespaces=True) if "opaque" in object])
        with self.assertLogs("ketcd", logging.WARNING):
            secrets = [*cluster.list("secrets", all_namespaces=True)]
        self.assertEqual({value for secret in secrets for value in secret.get("data", {}).values()}, {"***"})


class Process(unittest.TestCase):
    def test_ctrl_c_ends_a_question(self):
        cluster = ketcd.open(STORY)
        for ask in (lambda: cluster.triage(), lambda: [*cluster.decisions(all_namespaces=True)]):
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            self.addCleanup(signal.signal, signal.SIGALRM, signal.SIG_DFL)
            frames = []
            try:
                while True:
                    ask()
            except KeyboardInterrupt as interrupt:
                frames = traceback.format_tb(interrupt.__traceback__)
            self.assertIn("_cluster.py", "".join(frames))
            self.assertEqual(cluster.get("node/node1")["kind"], "Node")

    def test_signals_are_looked_for_ten_times_a_second(self):
        """Counted, as a busy machine stretches both: a handler runs in the main thread alone, which waits for answers meanwhile."""
        cluster, handled, ticks, done = ketcd.open(STORY), [], [], threading.Event()

        def tick():
            while not done.wait(0.01):
                ticks.append(1)

        before = signal.signal(signal.SIGALRM, lambda *_: handled.append(1))
        thread = threading.Thread(target=tick)
        thread.start()
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        try:
            while len(ticks) < 100:
                cluster.triage()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            done.set()
            thread.join()
            signal.signal(signal.SIGALRM, before)
        self.assertGreaterEqual(len(handled) * 10, len(ticks))

    def test_other_threads_run_meanwhile(self):
        cluster, counted, done = ketcd.open(STORY), itertools.count(), threading.Event()

        def count():
            while not done.is_set():
                next(counted)

        thread = threading.Thread(target=count)
        thread.start()
        begun = next(counted)
        cluster.triage()
        ended = next(counted)
        done.set()
        thread.join()
        self.assertGreater(ended, begun + 1)

    def test_many_threads_ask_one_cluster(self):
        cluster, answers = ketcd.open(STORY), []
        threads = [threading.Thread(target=lambda: answers.append([*cluster.list("nodes")])) for _ in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        self.assertEqual(len(answers), 8)
        self.assertTrue(all(answer == answers[0] for answer in answers))

    def test_a_fork_refuses_and_a_copy_answers(self):
        cluster = ketcd.open(STORY)

        def ask():
            try:
                cluster.status()
            except ketcd.Error as error:
                os._exit(7 if "new process" in error.hint else 1)
            os._exit(2)

        child = multiprocessing.get_context("fork").Process(target=ask)
        child.start()
        child.join()
        self.assertEqual(child.exitcode, 7)
        self.assertEqual(pickle.loads(pickle.dumps(cluster)).status(), cluster.status())

    def test_an_abandoned_answer_holds_nothing_up(self):
        program = f"import ketcd\nrows = iter(ketcd.open({STORY!r}).history(all_namespaces=True))\nprint(next(rows)['revision'])"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")

    def test_importing_brings_nothing_else(self):
        program = "import sys; before = {*sys.modules}; import ketcd; print(*sorted({name.split('.')[0] for name in {*sys.modules} - before}))"
        names = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual({*names} - {*sys.stdlib_module_names}, {"ketcd"})
        self.assertNotIn("logging", names)
        self.assertNotIn("typing", names)


class Command(unittest.TestCase):
    def test_the_command_is_there(self):
        for line in (["ketcd"], [sys.executable, "-m", "ketcd"]):
            done = subprocess.run([*line, "--version"], capture_output=True, text=True, check=True)
            self.assertEqual(done.stdout, f"ketcd {ketcd.__version__}\n")

    def test_exit_codes_and_errors_are_the_commands(self):
        done = subprocess.run(["ketcd", "-f", STORY, "get", "crasher"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn(f"ketcd -f {STORY} get pod/web/crasher", done.stderr)
        self.assertEqual(subprocess.run(["ketcd", "-f", STORY, "get", "pod/web/none"], capture_output=True, check=False).returncode, 1)
        usage = subprocess.run(["ketcd"], capture_output=True, text=True, check=False)
        self.assertEqual(usage.returncode, 2)
        self.assertIn("ketcd", usage.stderr)

    def test_a_closed_pipe_is_no_error(self):
        done = subprocess.run(["bash", "-c", f"set -o pipefail; ketcd -f {STORY} history -A -o ndjson | head -c 1"], capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_words_are_completed(self):
        asked = {**os.environ, "COMPLETE": "fish"}
        done = subprocess.run(["ketcd", "--", "ketcd", "tri"], env=asked, capture_output=True, text=True, check=True)
        self.assertIn("triage", done.stdout)


class Size(unittest.TestCase):
    def test_the_command_prints_the_same_as_before(self):
        self.assertIn(b"crasher", command(STORY, "get", "pods", "-n", "web"))


if __name__ == "__main__":
    unittest.main()
