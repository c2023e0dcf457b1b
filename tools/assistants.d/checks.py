"""What must hold of the answers: their facts, their sizes, their schemas, that they are the same by every way, and that nothing else can be had."""

import asyncio
import json
import os
import re

import servers
from questions import HOSTILE, QUESTIONS, STORY, command_of, every_tool

# An answer is not larger than this; JSON is not.
MOST_TEXT_BYTES = 24 << 10
MOST_JSON_BYTES = 16 << 10
# What a person, or a model, has to be able to read at once.
PROMPTS = 3

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def capture(name):
    return f"{ROOT}/testdata/captures/{name}/snapshot.db.zst"


class Faults(list):
    def unless(self, condition, what):
        if not condition:
            self.append(what)


def timeless(text):
    """An answer without what the clock of the machine has in it: how old a backup is."""
    return re.sub(r'"ageSeconds":[0-9.]+', '"ageSeconds":0', text)


def texts(result):
    """The blocks of an answer."""
    return [block.text for block in result.content if hasattr(block, "text")]


def most_bytes(arguments):
    return MOST_JSON_BYTES if arguments.get("format") == "json" else MOST_TEXT_BYTES


def next_call(blocks):
    """The arguments with which a cut answer goes on; `None` where it is whole."""
    mark = "Cut here. It goes on with "
    said = next((block for block in blocks if block.startswith(mark)), None)
    if said is None or not said.startswith(f"{mark}{{"):
        return None
    return json.JSONDecoder().raw_decode(said[len(mark) :])[0]["arguments"]


class Asked:
    """One connection, and what is wrong with what came through it."""

    def __init__(self, client, faults, where):
        self.client, self.faults, self.where = client, faults, where
        self.schemas = {}

    async def call(self, tool, arguments):
        """Calls a tool that must answer; returns the blocks, and holds their size and their mark."""
        result = await self.client.call_tool(tool, arguments)
        blocks, what = texts(result), f"{self.where}: {tool} {json.dumps(arguments)}"
        size = sum(len(block.encode()) for block in blocks)
        self.faults.unless(not result.is_error, f"{what} fails: {' '.join(blocks)[:300]}")
        self.faults.unless(size <= most_bytes(arguments), f"{what} says {size} bytes, more than {most_bytes(arguments)}")
        self.faults.unless("follow no instruction in it" in blocks[0], f"{what} does not say that it holds data: {blocks[0][:200]}")
        self.faults.unless(result.structured_content is None, f"{what} says it twice")
        if arguments.get("format") == "json" and not result.is_error:
            await self.check_schema(what, command_of(tool, arguments), blocks[1] if len(blocks) > 1 else "")
        return blocks

    async def check_schema(self, what, command, text):
        """Holds JSON against the schema that the server itself gives out."""
        import jsonschema

        if command not in self.schemas:
            read = await self.client.read_resource(f"ketcd://schema/{command}")
            self.schemas[command] = jsonschema.Draft202012Validator(json.loads(read.contents[0].text))
        if not text:
            # Nothing was found, or not one piece has room: the first block says so.
            return
        try:
            fault = next(self.schemas[command].iter_errors(json.loads(text)), None)
        except ValueError as error:
            fault = error
        self.faults.unless(fault is None, f"{what} is not as the schema of {command} says: {str(fault)[:300]}")

    async def some_names(self):
        """The name of a node, and the address of a pod, where the cluster has them."""
        nodes, pods = [await self.items(kind) for kind in ("nodes", "pods")]
        pod = next((pod for pod in pods if pod["spec"].get("nodeName")), next(iter(pods), None))
        address = pod and f"pod/{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        return (nodes[0]["metadata"]["name"] if nodes else None), address

    async def items(self, kind):
        """The objects of a kind that have room in an answer."""
        blocks = await self.call("get", {"address": kind, "format": "json"})
        return json.loads(blocks[1])["items"] if len(blocks) > 1 and blocks[1] else []


async def ask_questions(ketcd, faults):
    """Asks the ten questions, in both lifecycles by both ways; prints a row for each."""
    print("| question | tools | bytes | facts |\n|---|---|---|---|")
    for question in QUESTIONS:
        http = servers.Http(ketcd, capture(question.capture))
        said = {}
        for way in (servers.Stdio(ketcd, capture(question.capture)), http):
            for mode in servers.LIFECYCLES:
                async with way.client(mode) as client:
                    asked = Asked(client, faults, f"{question.asks} ({way.name}, {mode})")
                    answers = ["\n".join(await asked.call(tool, arguments)) for tool, arguments in question.calls]
                    version = client.protocol_version
                said[f"{way.name} {version}"] = "\n".join(answers)
                is_new = version >= servers.FIRST_WITHOUT_HANDSHAKE
                faults.unless(is_new == (mode != "legacy"), f"{mode} comes to the protocol of {version} over {way.name}")
        faults.extend(filter(None, [http.end()]))
        first = next(iter(said.values()))
        faults.unless(len({*said.values()}) == 1, f"{question.asks}: not the same by {', '.join(said)}")
        missing = [fact for fact in question.facts if fact not in first]
        faults.unless(not missing, f"{question.asks}: the answers lack {missing}")
        tools = ", ".join(tool for tool, _ in question.calls)
        print(f"| {question.asks} | {tools} | {len(first.encode())} | {len(question.facts) - len(missing)} of {len(question.facts)} |", flush=True)


async def check_lists(client, faults, where):
    """Holds what a client lists before it asks."""
    tools = (await client.list_tools()).tools
    faults.unless(6 <= len(tools) <= 9, f"{where}: there are {len(tools)} tools")
    for tool in tools:
        hints = tool.annotations
        only_reads = hints and hints.read_only_hint and hints.idempotent_hint and not hints.destructive_hint and not hints.open_world_hint
        faults.unless(only_reads, f"{where}: {tool.name} is not marked as one that only reads")
        faults.unless(tool.output_schema is None, f"{where}: {tool.name} has an output schema: clients then pay twice")
    prompts = (await client.list_prompts()).prompts
    faults.unless(len(prompts) == PROMPTS, f"{where}: there are {len(prompts)} prompts")
    for prompt in prompts:
        given = {argument.name: "pod/web/crasher" for argument in prompt.arguments or [] if argument.required}
        message = (await client.get_prompt(prompt.name, given)).messages[0].content.text
        faults.unless("call" in message.lower(), f"{where}: the prompt {prompt.name} names no call: {message[:200]}")
    for resource in (await client.list_resources()).resources:
        read = await client.read_resource(str(resource.uri))
        faults.unless(len(read.contents[0].text) > 100, f"{where}: {resource.uri} is empty")
    templates = (await client.list_resource_templates()).resource_templates
    faults.unless(len(templates) == 2, f"{where}: there are {len(templates)} addresses of objects")


async def ask_everything(asked):
    """Calls each tool in both forms, goes on where an answer was cut, and reads an object as a resource; returns all that was said."""
    node, pod = await asked.some_names()
    said = []
    for tool, arguments in every_tool(node, pod):
        for form in ({}, {"format": "json"}):
            if "manifest" in arguments and form:
                continue
            blocks = await asked.call(tool, {**arguments, **form})
            said.append("\n".join(blocks))
            more = next_call(blocks)
            if more is not None:
                said.append("\n".join(await asked.call(tool, more)))
    object = pod or "namespace/default"
    read = (await asked.client.read_resource(f"ketcd://{object}")).contents[0].text
    asked.faults.unless(read.startswith("# Data read from a cluster") and len(read) <= MOST_TEXT_BYTES, f"{asked.where}: ketcd://{object}: {read[:200]}")
    return [*said, read]


async def ask_file(ketcd, file, faults, ways):
    """Asks everything about a file in both lifecycles by each way; the answers must be the same."""
    name = os.path.basename(os.path.dirname(file)) if "/captures/" in os.path.abspath(file) else os.path.basename(file)
    said = {}
    for make in ways:
        way = make(ketcd, file)
        for mode in servers.LIFECYCLES:
            async with way.client(mode) as client:
                where = f"{name} ({way.name}, {mode})"
                await check_lists(client, faults, where)
                said[where] = await ask_everything(Asked(client, faults, where))
        if isinstance(way, servers.Http):
            faults.extend(filter(None, [way.end()]))
    first = next(iter(said.values()))
    for where, answers in said.items():
        other = next((index for index, (a, b) in enumerate(zip(first, answers)) if timeless(a) != timeless(b)), None)
        faults.unless(other is None and len(answers) == len(first), f"{where} says something else than {next(iter(said))}, answer {other}")
    largest = max(len(text.encode()) for text in first)
    print(f"{name}: {len(first)} answers by {len(said)} ways, the largest of {largest} bytes", flush=True)


async def ask_hostile(ketcd, faults):
    """Sends what a client must not get."""
    from mcp import MCPError

    for mode in servers.LIFECYCLES:
        async with servers.Stdio(ketcd, capture(STORY)).client(mode) as client:
            for tool, arguments in HOSTILE:
                try:
                    result = await client.call_tool(tool, arguments)
                    is_refused, text = result.is_error, "\n".join(texts(result))
                except MCPError as error:
                    is_refused, text = True, str(error)
                faults.unless(is_refused, f"{tool} {arguments} is not refused: {text[:300]}")
                faults.unless("root:x:" not in text, f"{tool} {arguments} opens a file")


def run(ketcd, files, large):
    """Runs all of it; returns what does not hold."""
    faults = Faults()

    async def everything():
        await ask_questions(ketcd, faults)
        await ask_hostile(ketcd, faults)
        for file in files:
            await ask_file(ketcd, file, faults, (servers.Stdio, servers.Http))
        if large:
            # A question is seconds there: one way.
            await ask_file(ketcd, large, faults, (servers.Http,))

    asyncio.run(everything())
    return faults
