"""The notebook in examples/ and the guide show what their code prints. KETCD_BLESS=1 writes what the notebook shows now."""

import doctest
import json
import os
import re
import unittest

import cells
from captures import ROOT, playground

NOTEBOOK = f"{ROOT}/examples/incident.ipynb"
GUIDE = f"{ROOT}/docs/how-to/notebooks.md"


class Pages(unittest.TestCase):
    maxDiff = None

    def test_the_notebook_shows_what_it_prints(self):
        with playground():
            notebook, shown = cells.run(NOTEBOOK)
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.assertGreater(len(code), 5)
        if os.environ.get("KETCD_BLESS"):
            for cell, outputs in zip(code, shown):
                cell["outputs"] = outputs
            with open(NOTEBOOK, "w", encoding="utf-8") as file:
                json.dump(notebook, file, indent=1, ensure_ascii=False)
                file.write("\n")
        self.assertEqual([cell["outputs"] for cell in code], shown)

    def test_the_guide_shows_what_its_examples_print(self):
        with open(GUIDE, encoding="utf-8") as file:
            blocks = re.findall(r"^```pycon\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 3)
        test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "notebooks.md", GUIDE, 0)
        said = []
        with playground():
            doctest.DocTestRunner(verbose=False).run(test, out=said.append)
        self.assertEqual("".join(said), "")


if __name__ == "__main__":
    unittest.main()
