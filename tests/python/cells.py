"""Runs the cells of a notebook as Jupyter does: one after the other in one namespace, the value of a last expression shown."""

import ast
import contextlib
import io
import json


def run(path):
    """Returns the notebook, and with it what each of its code cells shows now."""
    with open(path, encoding="utf-8") as file:
        notebook = json.load(file)
    namespace, shown = {"__name__": "__main__"}, []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            shown.append(execute("".join(cell["source"]), namespace))
    return notebook, shown


def execute(source, namespace):
    """The outputs of a cell, as a notebook's file has them: what it prints, and its value."""
    tree, value, printed = ast.parse(source), None, io.StringIO()
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)
    outputs = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        outputs.append({"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    return outputs
