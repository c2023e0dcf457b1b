"""k9s in a terminal, which is tmux's: keys go in, and what is on the screen is looked at."""

import os
import subprocess
import tempfile
import time

import builds
from server import Server

# Lists fit on the screen.
WIDTH, HEIGHT = 250, 240
# So long a screen may take to show what it should.
PATIENCE = 30


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, command, environment):
        self.name = f"ketcd-clients-{os.getpid()}"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(WIDTH), "-y", str(HEIGHT), "env", *environment, *command)

    def tmux(self, *words):
        return subprocess.run(["tmux", "-L", self.name, *words], check=True, capture_output=True, text=True).stdout

    def types(self, *texts):
        for text in texts:
            if text:
                self.tmux("send-keys", "-l", text)
            # One letter is a key of k9s, everything else a line.
            if len(text) != 1:
                self.tmux("send-keys", "Enter")

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def shows(self, wanted, unwanted=()):
        """Waits for a screen with all of these texts and none of those. Returns what is wrong with the last."""
        deadline = time.monotonic() + PATIENCE
        while True:
            screen = self.screen()
            missing = [text for text in wanted if text not in screen]
            more = [text for text in unwanted if text in screen]
            if not missing and not more:
                return ""
            if time.monotonic() > deadline:
                return f"not on the screen: {missing[:5]}; on it: {more[:5]}"
            time.sleep(0.2)

    def end(self):
        subprocess.run(["tmux", "-L", self.name, "kill-server"], check=False, capture_output=True)


def k9s(wanted):
    pods, deployments = wanted.objects("", "pods"), list(wanted.objects("apps", "deployments"))
    # The namespace with the most Deployments.
    namespace = max((own for own, _ in deployments), key=[own for own, _ in deployments].count)
    inside = [name for own, name in pods if own == namespace]
    outside = [name for own, name in pods if own != namespace and name not in inside]
    pod = pods[namespace, inside[0]]
    page = [f"Describe({namespace}/{inside[0]})", "Conditions:", "Tolerations:", *(container["image"] for container in pod["spec"]["containers"])]
    sets = [name for own, name in wanted.objects("apps", "replicasets") if own == namespace]
    tree = [name for own, name in deployments if own == namespace] + [name for name in inside if owner(pods[namespace, name]) in sets]
    with Server(wanted.ketcd, wanted.snapshot) as server, tempfile.TemporaryDirectory() as folder:
        command = [builds.k9s(), "--kubeconfig", server.kubeconfig, "--readonly", "--all-namespaces", "--command", "pods"]
        terminal = Terminal(command, [f"K9S_CONFIG_DIR={folder}", f"XDG_STATE_HOME={folder}"])
        try:
            # What is typed, and then is on the screen and is not; a screen has its title, so that none passes for another.
            for did, screens in (
                ("pods of all namespaces", [([], [f"pods(all)[{len(pods)}]", *(name for _, name in pods)], [])]),
                (
                    f"switch to namespace {namespace}",
                    [
                        ([":namespaces"], ["namespaces(all)"], []),
                        ([f"/{namespace}"], [f"</{namespace}>"], []),
                        ([""], [f"pods({namespace})[{len(inside)}]", *inside], outside),
                    ],
                ),
                (f"describe of a pod in {namespace}", [([f"/{inside[0]}"], [f"pods({namespace})[1]"], []), (["d"], page, [])]),
                (f"xray of the Deployments in {namespace}", [([f":xray deployments {namespace}"], [f"Xray-Deployments({namespace})", *tree], [])]),
            ):
                wrong = ""
                for typed, shown, hidden in screens:
                    terminal.types(*typed)
                    wrong = wrong or terminal.shows(shown, hidden)
                yield "k9s", builds.K9S, did, wrong or f"all {len(screens[-1][1])} names and headings are on the screen", not wrong
        finally:
            terminal.end()


def owner(item):
    return next((owner["name"] for owner in item["metadata"].get("ownerReferences", [])), None)
