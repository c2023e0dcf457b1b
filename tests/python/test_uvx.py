"""`uvx ketcd mcp -f snapshot.db`: the command of the wheel, as uv starts it out of a folder of wheels, answers an assistant."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import ketcd
from captures import playground

# The wheel that is tested, and uv, which tools/python names.
WHEEL = os.environ.get("KETCD_TEST_WHEEL")
UV = os.path.join(os.path.dirname(sys.executable), "uv")


@unittest.skipUnless(WHEEL and os.path.exists(UV), "tools/python names the wheel, and installs uv where it can be had")
class Uvx(unittest.TestCase):
    def start(self, *words):
        """Starts `uvx ketcd` with these words, in the folder of the guides."""
        cache = self.enterContext(tempfile.TemporaryDirectory())
        self.enterContext(playground())
        index = ["--offline", "--no-index", "--find-links", os.path.dirname(WHEEL), "--python", sys.executable]
        line = [UV, "tool", "run", "--cache-dir", cache, "--quiet", *index, "ketcd", *words]
        return self.enterContext(subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))

    def test_it_is_the_command(self):
        process = self.start("--version")
        self.assertEqual(process.communicate()[0], f"ketcd {ketcd.__version__}\n")

    def test_an_assistant_is_answered(self):
        process = self.start("mcp", "-f", "snapshot.db")

        def ask(message):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())["result"] if "id" in message else None

        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        self.assertEqual(ask({"id": 1, "method": "initialize", "params": client})["serverInfo"]["name"], "ketcd")
        ask({"method": "notifications/initialized"})
        told = ask({"id": 2, "method": "tools/call", "params": {"name": "triage", "arguments": {}}})
        self.assertIn("pod/web/crasher", told["content"][1]["text"])
        process.stdin.close()
        self.assertEqual(process.wait(), 0)


if __name__ == "__main__":
    unittest.main()
