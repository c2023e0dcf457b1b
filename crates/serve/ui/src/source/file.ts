// Answers made of the data inside a report. What it does not hold is a Failure that names the command.
import { at as fieldAt, type Operation } from "../patch";
import { Commands, type End, endOf, ofRevision } from "./commands";
import { type Facts, factsOf, selector } from "./facts";
import { details, type PackedData, unpacked } from "./packed";
import { isPlugin, isRefusedBy } from "./refusals";
import { amount, podRequests, quantity } from "./requests";
import { valueAt, versionAt, type When } from "./versions";
import { yaml, type Json } from "../yaml";
import { worse, toneOf } from "../tones";
import { short } from "../text";
import type { Answers, Changed, Counted, DecisionView, Details, Diff, Findings, Group, History, Moment, Name, NodeView, ObjectView, Related, Row, Rows, Setter, TimelineView, Version, Window } from "./contract";
import { type Asked, type At, Failure, type RowsQuery, type Source } from "./source";

export class Inside implements Source {
  readonly kind = "file";
  readonly title: string;
  readonly counted: Counted[];
  private readonly details = new Map<number, Promise<Details>>();
  private readonly answers: Answers;
  private readonly commands: Commands;
  /** Where the details of each row are. */
  private readonly places: number[];
  private readonly packed: string[];
  private read: Promise<Facts[]> | null = null;
  private readonly byAddress = new Map<string, Row>();
  /** The addresses of rows that own others. */
  private readonly withOwned = new Set<string>();
  /** Moments of revisions that are marks of rows. */
  private readonly dated = new Map<number, number>();

  constructor(data: PackedData, packed: string) {
    const { answers, places } = unpacked(data);
    this.answers = answers;
    this.commands = new Commands(data.call);
    answers.window.command = this.commands.status();
    this.places = places;
    this.title = answers.title;
    this.counted = answers.counted ?? [];
    this.packed = JSON.parse(packed) as string[];
    for (const row of answers.rows.rows) {
      this.byAddress.set(row.address, row);
      if (row.owner !== null) this.withOwned.add(row.owner);
    }
    for (const row of answers.rows.rows) for (const [at, , , revision] of row.ticks) if (revision > 0) this.dated.set(revision, at);
  }

  async window(): Promise<Window> {
    return this.answers.window;
  }

  /** Milliseconds and revision of a moment; the end without one. */
  private moment(at: At): When {
    const { last } = this.answers.window;
    if (at === null) return { ...last, isTime: last.ms !== null };
    const revision = at.match(/^r?(\d+)$/)?.[1];
    if (revision) return { ...this.ofRevision(Number(revision)), isTime: false };
    const ms = Date.parse(at);
    return { revision: this.revisionAt(ms), time: at, ms, isTime: true };
  }

  private ofRevision(revision: number): Moment {
    let ms = this.dated.get(revision) ?? null;
    // A revision without a mark of its own is as late as the last one before it.
    if (ms === null) for (const [known, at] of this.dated) if (known <= revision && (ms === null || at > ms)) ms = at;
    return { revision, time: ms === null ? null : new Date(ms).toISOString(), ms };
  }

  private revisionAt(ms: number): number {
    let found = this.answers.window.first.revision;
    for (const [revision, at] of this.dated) if (at <= ms && revision > found) found = revision;
    return found;
  }

  async findings(at: At): Promise<Findings> {
    const { findings, over, window } = this.answers;
    const moment = this.moment(at);
    const command = this.commands.findings(endOf(moment, at));
    if (at === null || moment.ms === null || (window.last.ms !== null && moment.ms >= window.last.ms)) return { ...findings, command };
    const ms = moment.ms;
    const then = findings.triage.findings.flatMap((finding) => {
      const from = findings.places[finding.id]?.from ?? null;
      return from === null ? [finding] : from <= ms ? [{ ...finding, seconds: (ms - from) / 1000 }] : [];
    });
    const places = { ...findings.places };
    for (const [index, trouble] of over.entries()) {
      if (trouble.from > ms || trouble.to <= ms) continue;
      const row = this.answers.rows.rows.find((row) => row.address === trouble.address);
      const id = `over-${index}`;
      places[id] = { count: 1, objects: row ? [row] : [], from: trouble.from, to: trouble.to, turnedOut: "over" };
      then.push({
        id, what: trouble.what, trouble: trouble.what, detail: "", since: new Date(trouble.from).toISOString(), seconds: (ms - trouble.from) / 1000,
        objects: row ? [row] : [], owner: null, pods: 0, weight: 1, reason: null, message: null, remedy: "", command: "", causes: [], effects: [],
      });
    }
    return { ...findings, command, moment, triage: { ...findings.triage, findings: then }, places };
  }

  async rows(query: RowsQuery): Promise<Rows> {
    const from = query.from === null ? this.answers.window.first : this.moment(query.from);
    const to = query.to === null ? this.answers.window.last : this.moment(query.to);
    const at = this.moment(query.at).ms;
    const [start, end] = [from.ms ?? -Infinity, to.ms ?? Infinity];
    const counts = { objects: 0, matching: 0, filtered: 0, quiet: 0, deleted: 0 };
    const facts = OF_DETAILS.some((name) => query.filters[name]) || isPlugin(query.filters.reason ?? "") ? await this.facts() : null;
    const selects = query.filters.label ? selector(query.filters.label) : null;
    if (query.filters.label && !selects) throw new Failure(`label: ${short(query.filters.label)} is not a selector: write app=web,tier!=db`);
    const groups = new Map<string, Group & { members: Row[] }>();
    let found: Rows["found"] = null;
    for (const [index, row] of this.answers.rows.rows.entries()) {
      if ((row.end ?? Infinity) < start || (row.begin ?? -Infinity) > end) continue;
      counts.objects += 1;
      const gone = row.end !== null && at !== null && row.end <= at;
      if (!matches(row, query.filters, facts?.[index], selects) || (gone && !query.deleted)) {
        counts.filtered += 1;
        continue;
      }
      const group = groupOf(row, query.group, this.byAddress, this.withOwned);
      const held = groups.get(group.id) ?? { ...group, rows: 0, quiet: 0, changes: 0, tone: null, members: [] };
      groups.set(group.id, held);
      const isAsked = query.object !== null && isObject(row, query.object, query.uid);
      if (!query.quiet && !isAsked && isQuiet(row, start, end)) {
        counts.quiet += 1;
        held.quiet += 1;
        continue;
      }
      counts.matching += 1;
      if (gone) counts.deleted += 1;
      held.rows += 1;
      held.changes += row.changes;
      if ((row.end ?? Infinity) > end) held.tone = worse(toneOf(held.tone), toneOf(row.bars.findLast(([from]) => (from ?? 0) <= end)?.[2]));
      if (isAsked) found = { group: group.id, index: held.members.length };
      held.members.push({ ...row, group: group.id, depth: query.group === "owner" || query.group === "namespace" ? row.depth : 0, now: stateAt(row, at) });
    }
    const sorted = [...groups.values()].filter((group) => group.rows > 0).sort((a, b) => b.changes - a.changes);
    const all = query.in === undefined ? sorted.flatMap((group) => group.members) : (groups.get(query.in)?.members ?? []);
    const limit = query.limit ?? 200;
    const shown = query.in === undefined && all.length > limit ? [] : all.slice(query.offset ?? 0, (query.offset ?? 0) + limit);
    return {
      from, to, group: query.group, in: query.in ?? null, found, groups: sorted.map(({ members: _, ...group }) => group), groupsLeft: 0,
      rows: shown, offset: query.offset ?? 0, total: all.length, counts, isCut: false, command: this.commands.rows(query.from === null ? "" : endOf(from, query.from), endOf(to, query.to), query.filters),
    };
  }

  /** What filters look for in every row's details, read once. */
  private facts(): Promise<Facts[]> {
    this.read ??= Promise.all(this.answers.rows.rows.map((_, index) => this.at(index).then(factsOf)));
    return this.read;
  }

  private index(asked: Asked): number {
    const { rows } = this.answers.rows;
    const exact = asked.uid ? rows.findLastIndex((row) => row.uid === asked.uid) : -1;
    const index = exact >= 0 ? exact : rows.findLastIndex((row) => isNamed(row, asked.object) && (!asked.uid || !row.uid));
    if (index < 0) throw new Failure(`${asked.object} has no row in this report`, 404);
    return index;
  }

  private async detail(asked: Asked): Promise<Details> {
    return this.at(this.index(asked));
  }

  /** The details of a row. */
  private at(index: number): Promise<Details> {
    let found = this.details.get(index);
    if (!found) {
      found = inflated(this.packed[this.places[index] ?? -1] ?? "", this.answers.rows.rows[index]!);
      found.then(({ history }) => history.versions.forEach(({ revision, ms }) => ms !== null && this.dated.set(revision, ms)), () => undefined);
      this.details.set(index, found);
    }
    return found;
  }

  async history(asked: Asked): Promise<History> {
    const { history } = await this.detail(asked);
    return { ...history, command: this.commands.history(history.name.address) };
  }

  async object(asked: Asked, at: At): Promise<ObjectView> {
    const row = this.answers.rows.rows[this.index(asked)]!;
    const { history, events } = await this.detail(asked);
    const moment = this.moment(at);
    const index = versionAt(history.versions, moment);
    const version = history.versions[index];
    const end = endOf(moment, at);
    const shown = shownAt(history.versions, index, end);
    const base = {
      moment, name: row, events, command: this.commands.yaml(row.address, shown), eventsCommand: this.commands.events(row.address, end), relatedCommand: this.commands.related(row.address, shown),
      owners: this.owners(row), owned: this.owned(row), refersTo: [] as Related[], ownedLeft: 0,
    };
    if (!version) return { ...base, state: history.versions.length > 0 ? "notYet" : "unreadable", version: null, error: null, lines: [], setters: [], object: null };
    const { value, setters, sets } = blamed(history.versions, index);
    const lines = value === null ? [] : yaml(value).map(({ text, path }) => ({ text, set: setOf(sets, path) }));
    return { ...base, state: version.type === "DELETED" ? "deleted" : "there", version, error: version.error ?? null, lines, setters, object: value };
  }

  private owners(row: Row): Related[] {
    const owner = row.owner === null ? undefined : this.answers.rows.rows.find(({ address }) => address === row.owner);
    return owner ? [{ ...owner, found: true, via: "owner" }] : [];
  }

  private owned(row: Row): Related[] {
    return this.answers.rows.rows.filter(({ owner }) => owner === row.address).map((owned) => ({ ...owned, found: true, via: "owner" }));
  }

  async diff(asked: Asked, from: At, to: At): Promise<Diff> {
    const row = this.answers.rows.rows[this.index(asked)]!;
    const { history } = await this.detail(asked);
    const [a, b] = [this.moment(from), this.moment(to)];
    const text = (moment: When): string | null => {
      const index = versionAt(history.versions, moment);
      const value = index < 0 || history.versions[index]!.type === "DELETED" ? null : valueAt(history.versions, index);
      return value === null ? null : yaml(value).map((line) => line.text).join("\n");
    };
    const by = history.versions.filter(({ revision }) => revision > a.revision && revision <= b.revision).map(({ by, revision, ms }) => ({ by, revision, ms }));
    return { name: row, from: a, to: b, before: text(a), after: text(b), fields: [], by, command: this.commands.diff(row.address, endOf(a, from), endOf(b, to)) };
  }

  async timeline(asked: Asked, at: At): Promise<TimelineView> {
    const { history } = await this.detail(asked);
    const moment = this.moment(at);
    return { moment, timelines: [], command: this.commands.timeline(history.name.address, endOf(moment, at)) };
  }

  async decision(asked: Asked, at: At, node: string | null): Promise<DecisionView> {
    const { decisions, history } = await this.detail(asked);
    const moment = this.moment(at);
    const found = decisions.findLast((decision) => (moment.isTime ? (decision.moment.ms ?? -Infinity) <= moment.ms! : decision.moment.revision <= moment.revision)) ?? decisions[0];
    const command = this.commands.decision(history.name.address, moment.revision < this.answers.window.last.revision ? endOf(moment, at) : "", node);
    if (!found) throw new Failure("this report holds no decision about it", 404, command);
    return { ...found, command };
  }

  async node(asked: Asked, from: At, to: At, at: At): Promise<NodeView> {
    const view = await this.object(asked, at);
    const { state, pods } = this.onNode(asked, view.moment.ms, this.moment(from ?? "r0").ms, this.moment(to).ms);
    const node = nodeOf(view.object);
    const requested = await this.requested(pods, view.moment);
    const resources = node.resources.map(({ name, allocatable }) => {
      const [sum, most] = [requested.get(name) ?? 0, amount(allocatable)];
      return { name, allocatable, requested: quantity(name, sum), percent: most ? Math.round((sum / most) * 1000) / 10 : null };
    });
    return { moment: view.moment, name: view.name, state, ...node, resources, pods, podsLeft: 0, command: this.commands.node(view.name.address, endOf(view.moment, at)) };
  }

  /** What the pods request that are on their node at a moment, and how many they are. */
  private async requested(pods: readonly Row[], moment: Moment): Promise<ReadonlyMap<string, number>> {
    const sums = new Map<string, number>();
    for (const row of pods) {
      if ((row.begin ?? -Infinity) > (moment.ms ?? Infinity) || (row.end ?? Infinity) <= (moment.ms ?? Infinity)) continue;
      const { versions } = (await this.detail({ object: row.address, uid: row.uid || null })).history;
      const index = versionAt(versions, { ...moment, isTime: moment.ms !== null });
      const pod = index < 0 ? null : valueAt(versions, index);
      // What has ended takes no room.
      if (pod === null || !fieldAt(pod, "/spec/nodeName") || ["Succeeded", "Failed"].includes(String(fieldAt(pod, "/status/phase")))) continue;
      podRequests(pod).set("pods", 1).forEach((value, name) => sums.set(name, (sums.get(name) ?? 0) + value));
    }
    return sums;
  }

  /** A node's state at a moment, and the pods that it had in a stretch of time. */
  private onNode(asked: Asked, at: number | null, from: number | null, to: number | null): Pick<NodeView, "state" | "pods"> {
    const { rows } = this.answers.rows;
    const node = rows[this.index(asked)]!;
    const pods = rows.filter((row) => row.kind === "Pod" && row.node === node.name && (row.begin ?? -Infinity) <= (to ?? Infinity) && (row.end ?? Infinity) >= (from ?? -Infinity));
    return { state: stateAt(node, at), pods };
  }

  async changed(from: At, to: At, filters: { [name: string]: string }): Promise<Changed> {
    const a = from === null ? this.answers.window.first : this.moment(from);
    const b = this.moment(to);
    const kinds = new Map<string, Changed["kinds"][number]>();
    for (const row of this.answers.rows.rows) {
      if (filters.namespace && row.namespace !== filters.namespace) continue;
      const ticks = row.ticks.filter(([, , , revision]) => revision > a.revision && revision <= b.revision);
      if (ticks.length === 0) continue;
      const key = `${row.kind} ${row.namespace}`;
      const held = kinds.get(key) ?? { kind: row.kind, namespace: row.namespace, added: 0, changed: 0, deleted: 0, bookkeeping: 0, names: [] };
      kinds.set(key, held);
      const [came, went] = [ticks.some(([, type]) => type === "+"), ticks.some(([, type]) => type === "-")];
      if (came && !went) held.added += 1;
      else if (went) held.deleted += 1;
      else held.changed += 1;
      if (held.names.length < 20) held.names.push(row);
    }
    const { triage } = this.answers.findings;
    const authors = new Map<string, Changed["authors"][number]>();
    for (const change of triage.changes) {
      if (change.revision <= a.revision || change.revision > b.revision || (filters.namespace && change.namespace !== filters.namespace)) continue;
      const held = authors.get(change.by ?? "") ?? { by: change.by, byFrom: change.byFrom, changes: 0, items: [] };
      authors.set(change.by ?? "", held);
      held.changes += 1;
      const row = this.answers.rows.rows.find(({ kind, namespace, name }) => kind === change.kind && namespace === change.namespace && name === change.name);
      held.items.push({ address: row?.address ?? "", uid: row?.uid ?? "", kind: change.kind, namespace: change.namespace, name: change.name, revision: change.revision, ms: change.time === null ? null : Date.parse(change.time), time: change.time, what: change.what });
    }
    return { from: a, to: b, authors: [...authors.values()].sort((x, y) => y.changes - x.changes), interventionsLeft: 0, kinds: [...kinds.values()], command: this.commands.changed(from === null ? ofRevision(a.revision) : endOf(a, from), endOf(b, to), filters) };
  }

  async locate(kind: string, namespace: string, name: string): Promise<Name | null> {
    return this.answers.rows.rows.findLast((row) => row.kind === kind && row.namespace === namespace && row.name === name) ?? null;
  }

  follow(): () => void {
    return () => undefined;
  }
}

/** What a node's own fields say. */
const nodeOf = (node: Json): Omit<NodeView, "moment" | "name" | "state" | "pods" | "podsLeft" | "command"> => {
  const list = (path: string): { [name: string]: Json }[] => {
    const value = node === null ? undefined : fieldAt(node, path);
    return Array.isArray(value) ? value.filter((item): item is { [name: string]: Json } => item !== null && typeof item === "object" && !Array.isArray(item)) : [];
  };
  const text = (value: Json | undefined): string => (typeof value === "string" ? value : "");
  const allocatable = node === null ? undefined : fieldAt(node, "/status/allocatable");
  const conditions = list("/status/conditions");
  const ready = conditions.find(({ type }) => type === "Ready");
  return {
    unschedulable: node !== null && fieldAt(node, "/spec/unschedulable") === true,
    conditions: conditions.map(({ type, status, reason, message, lastTransitionTime }) => ({ type: text(type), status: text(status), reason: text(reason), message: text(message), since: text(lastTransitionTime) || null })),
    taints: list("/spec/taints").map(({ key, value, effect, timeAdded }) => ({ key: text(key), value: text(value), effect: text(effect), since: text(timeAdded) || null })),
    resources: Object.entries(allocatable !== null && typeof allocatable === "object" && !Array.isArray(allocatable) ? allocatable : {}).map(([name, amount]) => ({ name, allocatable: String(amount), requested: "", percent: null })),
    heartbeat: { lease: null, status: text(ready?.lastHeartbeatTime) || null },
  };
};

/** Whether an address names a row: it may have the kind in full where the row's own has a short name, `deployment/web/tomcat` for `deploy/web/tomcat`. */
const isNamed = (row: Name, address: string): boolean => {
  if (row.address === address) return true;
  const [word, ...rest] = address.split("/");
  const kind = row.kind.toLowerCase();
  return [kind, `${kind}s`].includes(word!.toLowerCase()) && rest.join("/") === [row.namespace, row.name].filter((part) => part).join("/");
};

/** Whether a row is the object of an address and, where both are known, of a uid: one object may have several addresses. */
export const isObject = (row: Name, address: string | null, uid: string | null): boolean => (uid && row.uid ? row.uid === uid : address !== null && isNamed(row, address));

/** The filters that rows do not show the answer to. */
const OF_DETAILS = ["label", "image", "by", "message"];

/** Whether a row has every word and each named filter; `facts` are there where one of them is asked for that rows do not show. */
const matches = (row: Row, filters: { [name: string]: string }, facts: Facts | undefined, selects: ReturnType<typeof selector>): boolean => {
  const text = `${row.kind}/${row.namespace}/${row.name} ${row.bars.map(([, , , label]) => label).join(" ")}`.toLowerCase();
  const has = (word: string, texts: readonly string[]): boolean => texts.some((text) => text.toLowerCase().includes(word.toLowerCase()));
  const any = (list: string, holds: (word: string) => boolean): boolean => list.split(",").some((word) => holds(word.trim().toLowerCase()));
  return Object.entries(filters).every(([name, value]) => {
    switch (name) {
      case "q": return value.toLowerCase().split(/\s+/).every((word) => text.includes(word));
      case "kind": return any(value, (word) => row.kind.toLowerCase() === word);
      case "namespace": return any(value, (word) => row.namespace.toLowerCase() === word);
      case "node": return row.node === value || (row.kind === "Node" && row.name === value);
      case "reason": return has(value, row.events.map(([, reason]) => reason)) || has(value, row.ticks.map(([, , label]) => label)) || (row.kind === "Pod" && (facts?.messages.some((message) => isRefusedBy(value, message)) ?? false));
      case "revision": return row.ticks.some(([, , , revision]) => `${revision}` === value.replace(/^r/, ""));
      case "label": return facts !== undefined && selects !== null && selects(facts.labels);
      case "image": return facts !== undefined && has(value, facts.images);
      case "by": return facts !== undefined && has(value, facts.authors);
      case "message": return facts !== undefined && has(value, facts.messages);
      default: return true;
    }
  });
};

const isQuiet = (row: Row, from: number, to: number): boolean => {
  const inside = (at: number): boolean => at >= from && at <= to;
  return !row.ticks.some(([at]) => inside(at)) && !row.events.some(([at]) => inside(at)) && !row.bars.some(([begin, end, tone]) => ["bad", "waiting"].includes(tone) && (begin ?? -Infinity) <= to && (end ?? Infinity) >= from);
};

const stateAt = (row: Row, at: number | null): Row["now"] => {
  const found = row.bars.findLast(([from, to]) => at === null || ((from ?? -Infinity) <= at && (to ?? Infinity) > at));
  return found ? { tone: found[2], label: found[3] } : null;
};

/** The group of a row, with the ids that a server gives them, so that a link opens the same groups. */
const groupOf = (row: Row, by: string, rows: ReadonlyMap<string, Row>, owners: ReadonlySet<string>): { id: string; title: string } => {
  if (by === "none") return { id: "all", title: "All" };
  if (by === "node") {
    const node = row.kind === "Node" ? row.name : row.node;
    return node !== null ? { id: `node:${node}`, title: node } : row.kind === "Pod" ? { id: "unbound", title: "Not on a node" } : { id: "elsewhere", title: "Not pods" };
  }
  if (row.kind === "Node") return { id: "nodes", title: "Nodes" };
  if (by === "owner") {
    const top = topOf(row, rows);
    if (top === row && !owners.has(row.address)) return { id: `kind:${row.namespace}/${row.kind}`, title: [row.namespace, row.kind].filter((word) => word).join(" · ") };
    const name = top.namespace ? `${top.namespace}/${top.name}` : top.name;
    return { id: `owner:${top.kind}/${name}@${top.ticks[0]?.[3] ?? 0}`, title: `${top.kind} ${name}` };
  }
  const namespace = row.kind === "Namespace" ? row.name : row.namespace;
  return namespace ? { id: `ns:${namespace}`, title: namespace } : { id: "cluster", title: "Cluster" };
};

/** How many owners above each other are followed: they may own each other in a circle. */
const MAX_OWNERS = 8;

const topOf = (row: Row, rows: ReadonlyMap<string, Row>): Row => {
  let top = row;
  for (let step = 0; step < MAX_OWNERS; step += 1) {
    const owner = top.owner === null ? undefined : rows.get(top.owner);
    if (!owner || owner === row) return top;
    top = owner;
  }
  return top;
};

/** The value of a version, and which version set what: pointer to index of setter. */
const blamed = (versions: readonly Version[], index: number): { value: Json; setters: Setter[]; sets: Map<string, number> } => {
  let first = index;
  while (first > 0 && versions[first]!.object === undefined) first -= 1;
  const setters: Setter[] = [];
  const sets = new Map<string, number>();
  const setter = ({ revision, time, ms, by, byFrom, request }: Version): number => setters.push({ revision, time, ms, by, byFrom, request }) - 1;
  const created = versions[first]?.type === "ADDED";
  sets.set("", versions[first] && created ? setter(versions[first]!) : setters.push({ revision: null, time: null, ms: null, by: null, byFrom: null, request: null }) - 1);
  for (const version of versions.slice(first + 1, index + 1)) {
    const touched = (version.patch ?? []).filter(({ op }: Operation) => op !== "test" && op !== "remove");
    if (touched.length === 0) continue;
    const by = setter(version);
    for (const { path } of touched) {
      for (const known of sets.keys()) if (known.startsWith(`${path}/`)) sets.delete(known);
      sets.set(path, by);
    }
  }
  return { value: valueAt(versions, index), setters, sets };
};

/** The state that shows an object: where it is gone the last before, where it is not there yet its first. */
const shownAt = (versions: readonly Version[], index: number, end: End): End => {
  const version = versions[Math.max(index, 0)];
  if (index >= 0 && version?.type === "DELETED") return ofRevision(version.revision - 1);
  return index < 0 && version ? ofRevision(version.revision) : end;
};

/** Who set the nearest field at or above `path`. */
const setOf = (sets: ReadonlyMap<string, number>, path: string): number => {
  for (let at = path; ; at = at.slice(0, at.lastIndexOf("/"))) {
    const found = sets.get(at);
    if (found !== undefined) return found;
    if (at === "") return 0;
  }
};

/** Inflates the details of a row. */
const inflated = async (packed: string, row: Row): Promise<Details> => {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  try {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return details(JSON.parse(await new Response(stream).text()), row);
  } catch (error) {
    throw new Failure(`the report's data of this row cannot be read: ${short(String(error))}`);
  }
};
