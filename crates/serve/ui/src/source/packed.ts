// The data of a report as it is packed, made into answers: times after its beginning, one letter a member, details deflated.
import type { Operation } from "../patch";
import type { Json } from "../yaml";
import type { Answers, Counted, DecisionView, Details, Explanation, Filter, Finding, Findings, Moment, Name, ObjectEvent, Place, Row, Triage, Version } from "./contract";

/** Milliseconds after the report's beginning. */
type Relative = number | null;

/** A row: kind, namespace, name, address, uid, node, depth; begin, first readable version, end; states, changes, Events, decisions; whether it vanished. */
interface PackedRow {
  k: string;
  ns: string;
  n: string;
  /** The address, where it is not made of these. */
  i?: string | null;
  u?: string;
  o?: string | null;
  d: number;
  b: Relative;
  f: Relative;
  e: Relative;
  s: [Relative, string, string][];
  c: [Relative, string, string, number?][];
  v: [Relative, string | null, boolean][];
  a: number;
  x: boolean;
  /** Only counted: tone, label, how many. */
  q?: [string, string, number][];
}

interface Standing {
  tone: string;
  who: string;
  what: string;
  lasted: number;
  lasts: boolean;
  row: number;
  from?: Relative;
}

export interface PackedData {
  title: string;
  source: string;
  reach: string;
  release: string;
  notes: string[];
  /** What stands out, over or not. */
  stand: Standing[];
  t0: number;
  t1: number;
  gaps: [number, number][];
  rows: PackedRow[];
  /** The first and the last revision. */
  revisions: [number, number];
  /** How ketcd was called, with what it read. */
  call: string;
  /** What is wrong at the end and what explains it, as triage has it. */
  findings: Finding[];
  changes: Triage["changes"];
  warnings: Triage["warnings"];
  lookedAt: Triage["lookedAt"];
}

interface PackedVersion {
  r: number;
  t: number | null;
  e: number | null;
  y: string;
  by: string | null;
  inferred: boolean;
  label: string;
  request?: string | null;
  o?: Json;
  p?: Operation[];
  [other: string]: unknown;
}

interface PackedDetails {
  uid: string;
  left: number;
  versions: PackedVersion[];
  decisions: (Explanation & { left?: string })[];
  events: { t: number | null; reason: string | null; type: string | null; message: string | null; source: string | null; count: number | null }[];
}

const moment = (revision: number, ms: number | null): Moment => ({ revision, time: ms === null ? null : new Date(ms).toISOString(), ms });

const addressOf = ({ i, k, ns, n }: PackedRow): string => i ?? [k.toLowerCase(), ...(ns ? [ns] : []), n].join("/");

/** How many stretches the density has. */
const BUCKETS = 1000;

const rowOf = (packed: PackedRow, owner: string | null, t0: number): Row => {
  const at = (ms: Relative): number | null => (ms === null ? null : t0 + ms);
  return {
    address: addressOf(packed), kind: packed.k, namespace: packed.ns, name: packed.n, uid: packed.u ?? "", group: packed.ns, depth: packed.d, owner, node: packed.o ?? null,
    begin: at(packed.b), readable: at(packed.f), end: at(packed.e), vanished: packed.x, now: null,
    bars: packed.s.map(([from, tone, label], index) => [at(from), at(packed.s[index + 1]?.[0] ?? packed.e), tone, label]),
    ticks: packed.c.flatMap(([ms, type, label, revision]) => (ms === null ? [] : [[t0 + ms, type, label, revision ?? 0, 1] as Row["ticks"][number]])),
    events: packed.v.flatMap(([ms, reason, warning]) => (ms === null ? [] : [[t0 + ms, reason ?? "", warning, 1] as Row["events"][number]])),
    attempts: packed.a, changes: packed.c.length,
  };
};

const densityOf = (rows: readonly Row[], from: number, to: number): NonNullable<Answers["window"]["density"]> => {
  const width = Math.max((to - from) / BUCKETS, 1);
  const counts = new Array<number>(BUCKETS).fill(0);
  for (const row of rows) for (const [at] of row.ticks) counts[Math.min(Math.max(Math.floor((at - from) / width), 0), BUCKETS - 1)]! += 1;
  return { from, width, counts };
};

const findingsOf = (data: PackedData, rowAt: (line: number) => Row | undefined, rows: readonly Row[], last: Moment): { findings: Findings; over: Answers["over"] } => {
  const places: { [id: string]: Place } = {};
  const nameOf = ({ address, kind, namespace, name, uid }: Name): Name => ({ address, kind, namespace, name, uid });
  const beginOf = ({ from, lasts, lasted }: Standing, row: Row | undefined): number => (from !== null && from !== undefined ? data.t0 + from : lasts ? data.t1 - lasted : (row?.bars.find(([, , tone]) => ["bad", "waiting"].includes(tone))?.[0] ?? data.t0));
  const place = (finding: Finding): void => {
    const objects = finding.objects.flatMap(({ kind, namespace, name }) => rows.findLast((row) => row.kind === kind && row.namespace === namespace && row.name === name) ?? []);
    places[finding.id] = { count: finding.objects.length, objects: objects.slice(0, 50).map(nameOf), from: finding.since === null ? null : Date.parse(finding.since), to: null, turnedOut: "lasts" };
    finding.effects.forEach(place);
  };
  data.findings.forEach(place);
  const over = data.stand.filter(({ lasts }) => !lasts).flatMap((standing) => {
    const row = rowAt(standing.row);
    const from = beginOf(standing, row);
    return row ? [{ address: row.address, what: standing.what, tone: standing.tone, from, to: from + standing.lasted }] : [];
  });
  const { findings, changes, warnings, lookedAt } = data;
  return { findings: { findingsLeft: 0, moment: last, triage: { findings, changes, warnings, lookedAt, absence: null }, places, command: "" }, over };
};

const outagesOf = (rows: readonly Row[]): Answers["window"]["outages"] =>
  rows.filter(({ kind }) => kind === "Node").flatMap(({ name, address, bars }) => bars.flatMap(([from, to, tone]) => (tone === "bad" && from !== null ? [{ name, address, from, to }] : [])));

/** The answers of a report, and for each of its rows where its details are. */
export const unpacked = (data: PackedData): { answers: Answers; places: number[] } => {
  const above: string[] = [];
  const rows: Row[] = [];
  const places: number[] = [];
  const lines = new Map<number, Row>();
  const counted: Counted[] = [];
  data.rows.forEach((packed, line) => {
    if (packed.q) {
      counted.push({ kind: packed.k, namespace: packed.ns, states: packed.q });
      return;
    }
    const row = rowOf(packed, packed.d > 0 ? (above[packed.d - 1] ?? null) : null, data.t0);
    above[packed.d] = row.address;
    rows.push(row);
    places.push(line);
    lines.set(line, row);
  });
  const [oldest, newest] = data.revisions;
  const first = moment(oldest, data.t0);
  const last = moment(newest, data.t1);
  const { findings, over } = findingsOf(data, (line) => lines.get(line), rows, last);
  const gaps = data.gaps.map(([from, to]) => ({ fromRevision: 0, toRevision: 0, from: data.t0 + from, to: data.t0 + to, why: "" }));
  const namespaces = [...new Set(rows.map(({ namespace }) => namespace))].filter((namespace) => namespace).sort();
  const objects = rows.length + counted.reduce((sum, { states }) => sum + states.reduce((part, [, , number]) => part + number, 0), 0);
  const window = {
    api: 1, source: data.source, release: data.release, live: false, oneMoment: false, reach: data.reach, first, last, asked: last, objects, density: densityOf(rows, data.t0, data.t1),
    gaps, outages: outagesOf(rows), outagesLeft: 0, namespaces, kinds: [], notes: data.notes, command: "",
  };
  const counts = { objects: rows.length, matching: rows.length, filtered: 0, quiet: 0, deleted: 0 };
  const all = { from: first, to: last, group: "owner", in: null, found: null, groups: [], groupsLeft: 0, rows, offset: 0, total: rows.length, counts, isCut: false, command: "" };
  return { answers: { title: data.title, window, findings, over, rows: all, counted }, places };
};

/** What a row's details say. */
export const details = (packed: PackedDetails, row: Row): Details => {
  const name = { address: row.address, kind: row.kind, namespace: row.namespace, name: row.name, uid: packed.uid || row.uid };
  const versions = packed.versions.map(({ r, t, e, y, by, inferred, label, request, o, p }): Version => ({
    revision: r, ms: t, time: t === null ? null : new Date(t).toISOString(), errorSeconds: e, type: y, by, byFrom: by === null ? null : inferred ? "inferred" : "recorded", label, request: request ?? null,
    ...(o === undefined ? {} : { object: o }), ...(p === undefined ? {} : { patch: p }),
  }));
  const events = packed.events.map(({ t, reason, type, message, source, count }): ObjectEvent => ({ ms: t, time: t === null ? null : new Date(t).toISOString(), type: type ?? "", reason: reason ?? "", message: message ?? "", source: source ?? "", count: count ?? 1, revision: 0 }));
  return { history: { name, versions, left: packed.left, command: "" }, decisions: packed.decisions.map((decision) => decisionOf(decision, name)), events };
};

const refusal = (filters: readonly Filter[]): Filter | undefined => filters.find(({ reached, status }) => reached && status !== "Success" && status !== "Skip");

const decisionOf = (decision: Explanation & { left?: string }, name: Name): DecisionView => {
  const nodes = decision.nodes ?? [];
  const chosen = decision.attempt?.node ?? null;
  const reasons = new Map<string, DecisionView["reasons"][number]>();
  for (const node of nodes) {
    const refused = refusal(node.filters);
    const words = { plugin: node.feasible ? null : (refused?.plugin ?? null), reason: node.feasible ? "" : (refused?.reasons?.[0] ?? "") };
    const held = reasons.get(JSON.stringify(words)) ?? { ...words, nodes: 0, examples: [] };
    held.nodes += 1;
    if (held.examples.length < 5) held.examples.push(node.name);
    reasons.set(JSON.stringify(words), held);
  }
  const others = nodes.filter((node) => node.feasible && node.name !== chosen).sort((a, b) => (b.total ?? 0) - (a.total ?? 0));
  const names = (of: readonly { plugin: string }[][]): string[] => [...new Set(of.flatMap((list) => list.map(({ plugin }) => plugin)))];
  const ms = decision.attempt?.time ? Date.parse(decision.attempt.time) : null;
  return {
    moment: moment(decision.attempt?.revision ?? 0, ms), name, decision: decision.left ? { ...decision, caveats: [...(decision.caveats ?? []), decision.left] } : decision,
    plugins: { filters: names(nodes.map(({ filters }) => filters)), scores: names(nodes.map(({ scores }) => scores)) }, runnerUp: chosen === null ? null : (others[0]?.name ?? null),
    reasons: [...reasons.values()].sort((a, b) => b.nodes - a.nodes), nodesInAll: nodes.length, nodesLeft: 0, earlier: [], command: "",
  };
};
