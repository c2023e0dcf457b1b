"""How long a question takes on a large cluster, and how much its answer says: the first time after the start, when it is asked again, and what is asked
when the server has rested."""

import asyncio
import os
import sys
import time

import servers
from checks import Asked, Faults, next_call
from questions import every_tool

# What an assistant waits for after the start.
MOST_SECONDS = 1.0
# What a server may do before it is asked.
MOST_RESTING_SECONDS = 120
# What takes more of the processor is asked once.
MOST_ASKED_AGAIN = 5.0
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    """What a process took of the processor so far."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def heap_bytes(pid):
    """The heap of a process: pages of mapped files are the kernel's to take back."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("RssAnon:"))


def child():
    """The process that was started last by this one."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="utf-8") as file:
        return int(file.read().split()[-1])


class Timed:
    """What something took."""

    def __init__(self, pid):
        self.pid, self.wall, self.cpu = pid, time.monotonic(), cpu_seconds(pid)

    def took(self):
        return round(time.monotonic() - self.wall, 3), round(cpu_seconds(self.pid) - self.cpu, 2)


async def rested(pid):
    """Waits until a process takes nothing of the processor for a while: what it does before it is asked is done."""
    before = None
    for _ in range(MOST_RESTING_SECONDS):
        now = cpu_seconds(pid)
        if now == before:
            return
        before = now
        await asyncio.sleep(1)


async def measured(ketcd, file, tool, arguments, faults, rests=False):
    """Asks a server that has just started, or rested since, twice, and for the next page of what was cut."""
    begun = time.monotonic()
    async with servers.Stdio(ketcd, file).client("auto") as client:
        asked, pid, start = Asked(client, faults, "measured"), child(), time.monotonic() - begun
        # The schema is read before the time is taken.
        asked.check_schema = nothing
        if rests:
            await rested(pid)
        timed = Timed(pid)
        blocks = await asked.call(tool, arguments)
        first = timed.took()
        again, page, more = (None, None), (None, None), next_call(blocks)
        if first[1] <= MOST_ASKED_AGAIN:
            timed = Timed(pid)
            await asked.call(tool, arguments)
            again = timed.took()
        if more is not None and first[1] <= MOST_ASKED_AGAIN:
            timed = Timed(pid)
            await asked.call(tool, more)
            page = timed.took()
        heap = heap_bytes(pid)
    words = " ".join([*(f"{name}={value}" for name, value in arguments.items()), *(["rested"] if rests else [])])
    size = sum(len(block.encode()) for block in blocks)
    return {
        "question": f"{tool} {words}".strip(),
        "start_seconds": round(start, 3),
        "seconds": first[0],
        "cpu_seconds": first[1],
        "again_seconds": again[0],
        "again_cpu_seconds": again[1],
        "page_seconds": page[0],
        "page_cpu_seconds": page[1],
        "bytes": size,
        "says": blocks[0].split(" Looked at:")[0],
        "heap_bytes": heap,
    }


async def nothing(*_):
    """In the place of what is not measured."""


async def names(ketcd, file):
    """The names that the questions take. The index of the file is cached by this."""
    async with servers.Stdio(ketcd, file).client("auto") as client:
        return await Asked(client, Faults(), "measured").some_names()


def cell(row, name):
    """A time with what it took of the processor."""
    seconds = row[f"{name}seconds"]
    return "–" if seconds is None else f"{seconds:.2f} ({row[f'{name}cpu_seconds']:.2f})"


def run(ketcd, file, keep):
    """Measures every tool in both forms, prints the table, and keeps each row; returns the faults: what took longer than it may is only said."""
    faults, slow = Faults(), []
    node, pod = asyncio.run(names(ketcd, file))
    print(f"{os.path.basename(file)}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; seconds of wall time, in brackets of the processor")
    print("| question | start | first | again | next page | bytes | heap |\n|---|---|---|---|---|---|---|")
    for tool, arguments, rests in [*((*call, False) for call in every_tool(node, pod)), ("triage", {}, True)]:
        for form in [{}] if rests else ({}, {"format": "json"}):
            if "manifest" in arguments and form:
                continue
            row = asyncio.run(measured(ketcd, file, tool, {**arguments, **form}, faults, rests))
            times = " | ".join(cell(row, name) for name in ("", "again_", "page_"))
            print(f"| {row['question']} | {row['start_seconds']:.2f} | {times} | {row['bytes']} | {row['heap_bytes'] / 1e6:.0f} MB |", flush=True)
            keep("assistants", file=os.path.basename(file), file_bytes=os.path.getsize(file), load=round(os.getloadavg()[0], 1), **row)
            if row["seconds"] > MOST_SECONDS:
                slow.append(row["question"])
    if slow:
        print(f"longer than {MOST_SECONDS:.0f} s the first time: {', '.join(slow)}", file=sys.stderr)
    return faults
