"""Where the time of a run went: the table of TESTING.md, and what CI prints."""

import glob
import os
import re
import shutil
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "../../TESTING.md")
BEGIN, END = "<!-- Written by `tools/test --times write`. -->\n", "<!-- End of what is written. -->"
SLOWEST = 30


def cpu_of(text):
    """Seconds of the shell's `times`: user and system of what it ran."""
    return sum(int(minutes) * 60 + float(seconds) for minutes, seconds in re.findall(r"(\d+)m([\d.]+)s", text.splitlines()[-1]))


class Times:
    """What is measured of a run."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="ketcd-times-")
        self.installed, self.compile, self.runs, self.walls = {}, (0, 0), [], (0, 0)

    def environment(self):
        """Puts the compiler and the linker behind scripts that write what each took."""
        path = f"{HERE}/path:{os.environ['PATH']}"
        return {"RUSTC_WRAPPER": f"{HERE}/rustc", "KETCD_TEST_TIMES": self.folder, "PATH": path}

    def compiled(self, wall, cpu):
        self.compile = (wall, cpu)

    def add_runs(self, result, built_after, wall):
        self.runs, self.walls = result.runs, (built_after, wall, result.wall)

    def compilers(self):
        """CPU seconds of crates below us, of our own, and of the linker."""
        sums = {"crates below ketcd": 0, "ketcd's own crates and tests": 0, "linking": 0}
        ours = self.own()
        for file in glob.glob(f"{self.folder}/*"):
            with open(file, encoding="utf-8") as text:
                first, rest = text.read().split("\n", 1)
            crate, kind = first.rsplit(" ", 1)
            if kind == "link":
                sums["linking"] += cpu_of(rest)
                continue
            part = "ketcd's own crates and tests" if crate in ours or kind == "test" else "crates below ketcd"
            sums[part] += cpu_of(rest)
        # The compiler's time has the linker's in it: most of what is linked is ours.
        sums["ketcd's own crates and tests"] -= sums["linking"]
        return sums

    @staticmethod
    def own():
        folders = glob.glob(f"{HERE}/../../crates/*")
        examples = glob.glob(f"{HERE}/../../crates/*/examples/*")
        names = ["ketcd", "ketcd_synthetic", *(f"ketcd_{os.path.basename(folder)}" for folder in folders)]
        return {name.replace("-", "_") for name in names} | {os.path.basename(example).removesuffix(".rs") for example in examples}

    def table(self):
        """The table, as Markdown."""
        built_after, wall, ran = self.walls
        lines = ["| stage | wall, s | CPU, s |", "|---|---|---|"]
        installing = sum(self.installed.values())
        lines.append(f"| installing {', '.join(self.installed) or 'nothing'}, while the compiler works | {installing:.0f} | – |")
        lines.append(f"| compiling | {self.compile[0]:.0f} | {self.compile[1]:.0f} |")
        sums = self.compilers()
        lines += [f"| … {name} | – | {cpu:.0f} |" for name, cpu in sums.items()]
        lines.append(f"| … build scripts, C, cargo | – | {max(0, self.compile[1] - sum(sums.values())):.0f} |")
        lines.append(f"| running | {ran:.0f} | {sum(run.cpu for run in self.runs):.0f} |")
        lines.append(f"| **all** | **{wall:.0f}** | **{self.compile[1] + sum(run.cpu for run in self.runs):.0f}** |")
        lines += ["", "| tests | number | wall, s | CPU, s | at a time | tests wait, % |", "|---|---|---|---|---|---|"]
        for run in sorted((run for run in self.runs if run.tests), key=lambda run: -run.wall):
            within = sum(run.tests.values())
            waits = max(0, 100 * (1 - run.cpu / within)) if within else 0
            lines.append(f"| `{run.binary.name}` | {len(run.tests)} | {run.wall:.1f} | {run.cpu:.1f} | {run.threads} | {waits:.0f} |")
        slowest = sorted(((took, run.binary.name, name) for run in self.runs for name, took in run.tests.items()), reverse=True)[:SLOWEST]
        lines += ["", "| the slowest tests | s |", "|---|---|"]
        lines += [f"| `{binary}` `{name}` | {took:.1f} |" for took, binary, name in slowest]
        return "\n".join(lines)

    def tell(self, writes):
        """Prints the table, and writes it into the page where that is asked for."""
        table = self.table()
        shutil.rmtree(self.folder)
        print(table, flush=True)
        if not writes:
            return
        with open(PAGE, encoding="utf-8") as file:
            page = file.read()
        before, rest = page.split(BEGIN)
        _, after = rest.split(END)
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(f"{before}{BEGIN}\nMeasured {time.strftime('%Y-%m-%d')} on {os.cpu_count()} cores.\n\n{table}\n\n{END}{after}")
