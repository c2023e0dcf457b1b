"""Every method answers what the command prints with -o json or, line by line, with -o ndjson."""

import unittest

import ketcd
from captures import COMPACTED, OLD_STORY, STORY, document, lines


class Equal(unittest.TestCase):
    maxDiff = 2000

    def test_objects(self):
        for file in (STORY, OLD_STORY, COMPACTED):
            cluster = ketcd.open(file)
            with self.subTest(file):
                self.assertEqual([*cluster.list("pods", all_namespaces=True)], lines(file, "get", "pods", "-A"))
                self.assertEqual([*cluster.list("pods", all_namespaces=True)], document(file, "get", "pods", "-A")["items"])
                self.assertEqual([*cluster.list()], lines(file, "ls", "--all"))
                self.assertEqual([*cluster.ls()], lines(file, "ls"))
                self.assertEqual(cluster.get("node/node1"), document(file, "get", "node/node1"))

    def test_options(self):
        cluster = ketcd.open(STORY)
        selected = cluster.list("pods", namespace="lab", field_selector="spec.nodeName=node1", limit=3)
        self.assertEqual([*selected], lines(STORY, "get", "pods", "-n", "lab", "--field-selector", "spec.nodeName=node1", "--limit", "3"))
        self.assertEqual([*cluster.list("pods", namespace="web", rev=900)], lines(STORY, "get", "pods", "-n", "web", "--rev", "900"))
        shown = cluster.get("pod/web/crasher", show_managed_fields=True)
        self.assertEqual(shown, document(STORY, "get", "pod/web/crasher", "--show-managed-fields"))
        self.assertIn("managedFields", shown["metadata"])

    def test_changes(self):
        for file in (STORY, OLD_STORY, COMPACTED):
            cluster = ketcd.open(file)
            with self.subTest(file):
                self.assertEqual([*cluster.history("pods", namespace="web")], lines(file, "history", "pods", "-n", "web"))
                self.assertEqual([*cluster.history(all_namespaces=True, since="2m")], lines(file, "history", "-A", "--since", "2m"))
                objects = cluster.history("deploy/web/tomcat", objects=True)
                self.assertEqual([*objects], document(file, "history", "deploy/web/tomcat", "--objects")["items"])

    def test_documents(self):
        for file in (STORY, OLD_STORY, COMPACTED):
            cluster = ketcd.open(file)
            with self.subTest(file):
                self.assertEqual(cluster.triage(), document(file, "triage"))
                self.assertEqual(cluster.triage(namespace="web", since="5m"), document(file, "triage", "-n", "web", "--since", "5m"))
                self.assertEqual(cluster.usage(quota=8 << 30), document(file, "usage", "--quota", "8Gi"))
                self.assertEqual(cluster.timeline("deploy/web/tomcat"), document(file, "timeline", "deploy/web/tomcat"))
                self.assertEqual(cluster.timeline(namespace="lab"), document(file, "timeline", "-n", "lab"))
                self.assertEqual(cluster.status(), document(file, "status"))

    def test_decisions(self):
        cluster, pod = ketcd.open(STORY), "pod/web/crasher"
        self.assertEqual(cluster.explain(pod), document(STORY, "explain", pod))
        self.assertEqual(cluster.explain(pod, node="node2", remedies=False), document(STORY, "explain", pod, "--node", "node2", "--no-remedies"))
        of_web = cluster.decisions(namespace="web", since="10m")
        self.assertEqual([*of_web], lines(STORY, "explain", "--all", "-n", "web", "--since", "10m"))

    def test_search(self):
        cluster = ketcd.open(STORY)
        self.assertEqual([*cluster.grep("node1", "pods")], lines(STORY, "grep", "node1", "pods"))
        found = cluster.grep("^NODE[12]$", "pods", regexp=True, ignore_case=True, objects=True)
        self.assertEqual([*found], lines(STORY, "grep", "-e", "-i", "-l", "^NODE[12]$", "pods"))
        self.assertEqual([*cluster.grep("kubelet", "nodes", places=["managers"])], lines(STORY, "grep", "kubelet", "nodes", "--in", "managers"))

    def test_several_files(self):
        files = [COMPACTED, STORY]
        fused = [*ketcd.open(*files).history("pod/web/crasher")]
        self.assertEqual(fused, lines(files[0], "-f", files[1], "history", "pod/web/crasher"))

    def test_secrets_are_masked(self):
        for secret in ketcd.open(STORY).list("secrets", all_namespaces=True):
            self.assertEqual({*secret.get("data", {}).values()} - {"***"}, set())


if __name__ == "__main__":
    unittest.main()
