// The parts of the page that need no browser: links, text, YAML, versions, times, and the data inside a report.
import { build } from "esbuild";
import { resolve } from "node:path";
import { equals, holds, test } from "./harness.mjs";

/** A module of the sources. */
const load = async (name) => {
  const { outputFiles } = await build({ entryPoints: [resolve(import.meta.dirname, "../src", name)], bundle: true, format: "esm", write: false, logLevel: "warning" });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);
};

test("parts: a state is what its link says", async () => {
  const { link, stateOf, INITIAL, filtersOf, filterText } = await load("state.ts");
  equals(link(INITIAL), "", "the link of what is as at first");
  equals(stateOf(""), INITIAL, "an empty link");
  const state = {
    view: "changed", at: { revision: 812 }, from: 1795213010123, to: 1795213020000, filters: { q: "a&b=c #%", label: "app=web,tier!=db", revision: "7" }, group: "owner",
    in: ["a,b", "-c%2C", "ü"], quiet: true, deleted: false, object: "crontab.stable.example.com/ns/a%2Fb", uid: "u-1", tab: "diff", finding: "f", pick: "n 1", a: { revision: 1 }, b: { ms: 1795213010123 },
    zone: "local", theme: "dark", title: "Who? <b> & \u202e",
  };
  equals(stateOf(`#${link(state)}`), state, "what a link says");
  for (const hostile of ["#%", "#at=r99999999999999999999", "#from=2026&to=2025", "#in=%25,%", "#tab=__proto__&group=constructor&view=toString", "#__proto__=x", "#title=%ED%A0%80"]) stateOf(hostile);
  equals(stateOf("#tab=__proto__&group=constructor&from=2027-01-01T00:00:00Z&to=2026-01-01T00:00:00Z"), INITIAL, "words that mean nothing");
  const filters = { q: "web 0", kind: "Pod,Node", message: 'did "not" match' };
  equals(filtersOf(filterText(filters)), filters, "filters as one writes them");
});

test("parts: text shows what it holds", async () => {
  const { line, visible, short, quoted } = await load("text.ts");
  equals(visible("a\u202eb\u0007c\u200b\ufeff\td\n\u{e0041}"), "a\\u{202e}b\\u{7}c\\u{200b}\\u{feff}\td\n\\u{e0041}", "control characters");
  equals(line("a\n\tb"), "a\\n\\tb", "one line");
  equals(short({ a: "😀".repeat(300) }, 10), '{"a":"😀😀😀😀…', "a long value");
  equals([quoted("pod/a-b"), quoted("a b"), quoted("it's"), quoted("a\nü")], ["pod/a-b", "'a b'", "'it'\\''s'", "$'a\\012\\303\\274'"], "words of a shell");
});

test("parts: YAML says what a value is", async () => {
  const { yaml } = await load("yaml.ts");
  const value = JSON.parse('{"b":{"list":[{"x":1,"y":[]},"on",["z"]],"empty":{}},"a":"1","c":"two\\nlines\\n","d":"two\\nlines","e":null,"f":": x","__proto__":{"g":"no"},"h/i~j":true,"k":" x"}');
  const lines = yaml(value);
  equals(lines.map(({ text }) => text).join("\n"), ["__proto__:", '  g: "no"', 'a: "1"', "b:", "  empty: {}", "  list:", "  - x: 1", "    \"y\": []", '  - "on"', "  - - z", "c: |", "  two", "  lines", "d: |-", "  two", "  lines", "e: null", 'f: ": x"', "h/i~j: true", 'k: " x"'].join("\n"), "the document");
  equals(lines.find(({ text }) => text.startsWith("h/i")).path, "/h~1i~0j", "a path");
});

test("parts: versions are patched, and no name is special", async () => {
  const { apply, at } = await load("patch.ts");
  const base = JSON.parse('{"spec":{"list":[1,2,3],"__proto__":{"polluted":1}}}');
  const next = apply(base, [
    { op: "add", path: "/spec/list/1", value: 9 }, { op: "remove", path: "/spec/list/0" }, { op: "add", path: "/spec/list/-", value: 4 }, { op: "replace", path: "/spec/__proto__/polluted", value: 2 },
    { op: "add", path: "/__proto__/polluted", value: 3 }, { op: "add", path: "/constructor/prototype/polluted", value: 3 }, { op: "move", from: "/spec/list/0", path: "/moved" },
  ]);
  equals([next.spec.list, at(next, "/spec/__proto__/polluted"), next.moved, {}.polluted ?? null], [[2, 3, 4], 2, 9, null], "what is patched");
  equals(base.spec.list, [1, 2, 3], "what was before");
});

test("parts: an axis has marks at round times", async () => {
  const { marks, lasting, full } = await load("time.ts");
  const from = Date.UTC(2026, 10, 20, 22, 15, 50);
  equals(marks(from, from + 600_000, 6, "utc").map(({ label }) => label), ["22:16", "22:18", "22:20", "22:22", "22:24"], "minutes");
  equals(marks(from, from + 7_200_000, 3, "utc").map(({ label, major }) => [label, major]), [["23:00", false], ["11-21", true]], "a day begins");
  holds(marks(from, from + 10, 8, "utc").length > 5 && marks(0, 4e12, 8, "utc").length < 20 && marks(5, 5, 8, "utc").length < 3, "extremes");
  equals([lasting(4_100), lasting(125_000), lasting(42), lasting(9e6), lasting(3e8)], ["4.1 s", "2 min 5 s", "42 ms", "2 h 30 min", "3 d 11 h"], "durations");
  equals(full(8.64e15 + 1, "utc").includes("?"), true, "a time without a date");
});

test("parts: a moment is typed as one says it", async () => {
  const { momentIn } = await load("time.ts");
  const near = Date.UTC(2026, 10, 20, 22, 15, 50);
  for (const [text, ms] of [
    ["22:16:12", Date.UTC(2026, 10, 20, 22, 16, 12)], [" 9:05 ", Date.UTC(2026, 10, 20, 9, 5)], ["22:16:12.876", Date.UTC(2026, 10, 20, 22, 16, 12, 876)], ["2026-11-19 01:02", Date.UTC(2026, 10, 19, 1, 2)],
    ["2026-11-19T01:02:03Z", Date.UTC(2026, 10, 19, 1, 2, 3)], ["2026-11-19T01:02:03+05:30", Date.UTC(2026, 10, 18, 19, 32, 3)], ["r812", null], ["25:99", null], ["", null], ["yesterday", null],
  ]) equals(momentIn(text, near, "utc"), ms, text);
});

test("parts: selectors choose as a server's do", async () => {
  const { selector } = await load("source/facts.ts");
  const labels = { app: "web", tier: "front" };
  for (const [text, fits] of [
    ["app=web", true], ["app==web,tier!=db", true], ["app=db", false], ["app in (db, web),tier", true], ["app notin (web)", false], ["none notin (web)", true], ["!canary", true], ["!app", false], ["canary", false], ["app=", false], ["constructor", false],
  ]) equals(selector(text)?.(labels), fits, text);
  for (const text of ["", "a=b=c", "a in b", "a,,b", "=x"]) equals(selector(text), null, text);
});

test("parts: what a pod requests", async () => {
  const { amount, podRequests, quantity } = await load("source/requests.ts");
  equals(["250m", "64Mi", "1.5Gi", "2e3", "1k", "x", ""].map(amount), [0.25, 67108864, 1610612736, 2000, 1000, null, null], "quantities");
  const container = (cpu, memory, restartPolicy) => ({ resources: { requests: { cpu, memory } }, ...(restartPolicy ? { restartPolicy } : {}) });
  const sums = podRequests({ spec: { containers: [container("100m", "64Mi"), container("150m", "64Mi")], initContainers: [container("50m", "32Mi", "Always"), container("1", "16Mi")], overhead: { cpu: "10m" } } });
  equals([...sums].map(([name, sum]) => quantity(name, sum)), ["1060m", "160Mi"], "containers that run alone, and those that go on");
});
