"""What is asked: ten questions of incidents with the facts of their answers, every tool on any cluster, and what a client must not get."""

from dataclasses import dataclass

STORY = "k120-story"
PENDING = "pod/web/tomcat-7f6f6db99b-sj7wj"


@dataclass
class Question:
    """A question of an incident: the recorded cluster, the calls, and what their answers must hold."""

    asks: str
    capture: str
    calls: list
    facts: list


QUESTIONS = [
    Question("What is broken?", STORY, [("triage", {})], ["pod/web/crasher", "CrashLoopBackOff", "info → debug", PENDING, "revision 1787"]),
    Question(
        "Who changed what before the crash?",
        STORY,
        [("history", {"address": "cm/web/app-config", "diff": True})],
        ["r956", "data.LOG", "info → debug", "kubectl-client-side-apply"],
    ),
    Question(
        "When did the crashing pod start to fail?",
        STORY,
        [("timeline", {"address": "pod/web/crasher"})],
        ["bound to node3", "Error, exit 1", "r973", "2026-11-20"],
    ),
    Question(
        "Why is the new pod pending?",
        STORY,
        [("explain", {"pod": PENDING})],
        ["NodeAffinity", "nodelabel=tomcat", "NodePorts", "port 8080/TCP"],
    ),
    Question(
        "Who took that label off the node?",
        STORY,
        [("history", {"address": "node/node3", "diff": True})],
        ["r721", "metadata.labels.nodelabel", "kubectl-label"],
    ),
    Question(
        "What did the rollout change?",
        STORY,
        [("diff", {"from": 556, "address": "deploy/web/tomcat"})],
        ["tomcat:8.0 → tomcat:10", "status.unavailableReplicas"],
    ),
    Question(
        "Which pods ran the old image?",
        STORY,
        [("grep", {"pattern": "tomcat:8.0", "address": "pods"})],
        ["tomcat-77f5fd4bbc-vd557", "tomcat:8.0"],
    ),
    Question(
        "What would have let spread-5 run at revision 560?",
        STORY,
        [("explain", {"pod": "pod/lab/spread-5", "at": 560})],
        ["InterPodAffinity", "delete pod lab/spread-1", "node2"],
    ),
    Question(
        "Which node was lost, and what became of its pods?",
        STORY,
        [("timeline", {"address": "node/node2"}), ("get", {"address": "pod/lab/spread-1", "at": 560, "manifest": True})],
        ["no heartbeat since 22:17:03.0", "tomcat-7f6f6db99b-fssvc", "did not come back", "name: spread-1"],
    ),
    Question(
        "What fills etcd, and does a drain of w03 leave pods without a node?",
        "k137-whatif",
        [("status", {"about": "usage"}), ("what_if", {"actions": ["drain w03"]})],
        ["RESOURCE", "events", "1 waits", "pod/shop/app-04-bd99ccd86"],
    ),
]


def every_tool(node, pod):
    """Each tool with arguments that suit a cluster: the name of a node of it and the address of a pod, or `None` where it has none."""
    namespace = pod and pod.split("/")[1]
    of_pod = [
        ("timeline", {"address": pod}),
        ("history", {"address": pod, "diff": True}),
        ("explain", {"pod": pod}),
        ("explain", {"pod": "pods", "namespace": namespace}),
        ("get", {"address": pod, "manifest": True}),
    ]
    of_node = [("what_if", {"actions": [f"drain {node}"]}), ("grep", {"pattern": node})]
    return [
        ("triage", {}),
        *(of_pod if pod else []),
        ("timeline", {"address": "deployments", "namespace": "default"}),
        ("history", {"address": "namespaces", "diff": True}),
        ("history", {"address": "pods", "diff": True}),
        ("diff", {"from": "10s"}),
        ("get", {}),
        ("get", {"address": "pods"}),
        ("get", {"address": "secrets"}),
        ("status", {}),
        ("status", {"about": "usage"}),
        ("grep", {"pattern": "kubelet"}),
        *(of_node if node else []),
        ("status", {"about": "verify"}),
    ]


# What a client must not get, or choose.
HOSTILE = [
    ("get", {"address": "--show-secrets secrets"}),
    ("get", {"address": "-f /etc/passwd"}),
    ("what_if", {"actions": ["apply /etc/passwd"]}),
    ("what_if", {"actions": ["add /etc/passwd"]}),
    ("grep", {"pattern": "root", "file": "/etc/passwd"}),
    ("explain", {"pod": "../../etc/passwd"}),
    ("status", {"about": "/etc/shadow"}),
    ("no_such_tool", {}),
]


def command_of(tool, arguments):
    """The command whose schema an answer in JSON has."""
    if tool == "get":
        return "get" if arguments.get("address") else "ls"
    if tool == "status":
        return arguments.get("about", "status")
    return tool.replace("_", "-")
