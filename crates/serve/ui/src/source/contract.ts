// The answers of the API under /ui/api/, and of the data inside a report. Enumerations may grow: a word that is not known is shown as it is.
import type { Operation } from "../patch";
import type { Json } from "../yaml";

/** Milliseconds since 1970. */
export type Ms = number;

/** A revision and when it was. */
export interface Moment {
  revision: number;
  time: string | null;
  ms: Ms | null;
}

/** An object, with the address by which it is asked for. */
export interface Name {
  address: string;
  kind: string;
  namespace: string;
  name: string;
  /** Empty where it is not known. */
  uid: string;
}

export interface Window {
  api: number;
  source: string;
  release: string;
  live: boolean;
  oneMoment: boolean;
  reach: string;
  first: Moment;
  last: Moment;
  asked: Moment;
  objects: number;
  density: { from: Ms; width: Ms; counts: number[] } | null;
  gaps: { fromRevision: number; toRevision: number; from: Ms | null; to: Ms | null; why: string }[];
  outages: { name: string; address: string; from: Ms; to: Ms | null }[];
  outagesLeft: number;
  namespaces: string[];
  kinds: { kind: string; count: number }[];
  notes: string[];
  command: string;
}

export interface Subject {
  kind: string;
  name: string;
  namespace: string;
  uid: string;
}

export interface TriageChange {
  by: string | null;
  byFrom: string | null;
  kind: string;
  name: string;
  namespace: string;
  revision: number;
  time: string | null;
  what: string;
}

export interface Finding {
  id: string;
  what: string;
  trouble: string;
  detail: string;
  since: string | null;
  /** Whether it may have begun before that; absent in findings that are over. */
  mayBeginEarlier?: boolean;
  seconds: number | null;
  objects: Subject[];
  owner: Subject | null;
  pods: number;
  weight: number;
  reason: string | null;
  message: string | null;
  messages?: { count: number; message: string; first: Subject }[];
  remedy: string;
  command: string;
  causes: { change: TriageChange; relation: string; secondsBefore: number | null }[];
  effects: Finding[];
}

export interface Triage {
  findings: Finding[];
  changes: TriageChange[];
  warnings: { count: number; message: string; object: Subject; reason: string; lastTime: string | null }[];
  lookedAt: { nodes: number; pods: number; workloads: number } | null;
  absence: { message: string } | null;
}

export interface Place {
  /** How many objects it has; a server names some of them. */
  count: number;
  objects: Name[];
  from: Ms | null;
  to: Ms | null;
  turnedOut: string;
}

export interface Findings {
  /** How many more there are. */
  findingsLeft: number;
  moment: Moment;
  triage: Triage;
  places: { [finding: string]: Place };
  command: string;
}

export interface Group {
  id: string;
  title: string;
  rows: number;
  quiet: number;
  changes: number;
  tone: string | null;
}

export type Bar = [from: Ms | null, to: Ms | null, tone: string, label: string];
export type Tick = [at: Ms, type: string, label: string, revision: number, count: number];
export type EventMark = [at: Ms, reason: string, warning: boolean, count: number];

export interface Row extends Name {
  group: string;
  depth: number;
  owner: string | null;
  node: string | null;
  begin: Ms | null;
  readable: Ms | null;
  end: Ms | null;
  vanished: boolean;
  now: { tone: string; label: string } | null;
  bars: Bar[];
  ticks: Tick[];
  events: EventMark[];
  attempts: number;
  changes: number;
}

export interface Rows {
  from: Moment;
  to: Moment;
  group: string;
  in: string | null;
  /** Where the row of the object is that was asked for. */
  found: { group: string; index: number } | null;
  groups: Group[];
  groupsLeft: number;
  rows: Row[];
  offset: number;
  total: number;
  counts: { objects: number; matching: number; filtered: number; quiet: number; deleted: number };
  isCut: boolean;
  command: string;
}

export interface Related extends Name {
  found: boolean;
  via: string;
}

export interface ObjectEvent {
  ms: Ms | null;
  time: string | null;
  type: string;
  reason: string;
  message: string;
  source: string;
  count: number;
  revision: number;
}

export interface Setter {
  /** Null: older than the readable history. */
  revision: number | null;
  time: string | null;
  ms: Ms | null;
  by: string | null;
  byFrom: string | null;
  request: string | null;
}

export interface ObjectView {
  moment: Moment;
  name: Name;
  state: string;
  version: Moment | null;
  error: string | null;
  lines: { text: string; set: number }[];
  setters: Setter[];
  object: Json;
  owners: Related[];
  owned: Related[];
  refersTo: Related[];
  ownedLeft: number;
  events: ObjectEvent[];
  command: string;
  eventsCommand: string;
  relatedCommand: string;
}

export interface Version {
  revision: number;
  ms: Ms | null;
  time: string | null;
  errorSeconds: number | null;
  type: string;
  by: string | null;
  byFrom: string | null;
  label: string;
  request: string | null;
  object?: Json;
  patch?: Operation[];
  error?: string;
}

export interface History {
  name: Name;
  versions: Version[];
  left: number;
  command: string;
}

export interface Diff {
  name: Name;
  from: Moment;
  to: Moment;
  before: string | null;
  after: string | null;
  fields: { path: string; before?: Json; after?: Json; quiet: boolean }[];
  by: { by: string | null; revision: number | null; ms: Ms | null }[];
  command: string;
}

export interface Phase {
  by: string | null;
  detail: string;
  longest: boolean;
  phase: string;
  revision: number;
  sincePreviousSeconds: number | null;
  time: string | null;
  timeErrorSeconds?: number | null;
}

export interface Timeline {
  object: Subject;
  phases: Phase[];
  related?: { object: Subject; phases: Phase[] }[];
  rollouts?: { by: string | null; change: string; number: string | null; outcome?: string | null; seconds?: number | null; stuck?: string | null; time: string | null; revision: number }[];
  waiting?: { detail: string; object: Subject; phase: string; sinceTime: string | null }[];
  gaps?: { then: string }[];
}

export interface TimelineView {
  moment: Moment;
  timelines: Timeline[];
  command: string;
}

export interface Filter {
  plugin: string;
  status: string;
  reached: boolean;
  reasons?: string[];
  compared?: { fact: string; holds: boolean }[];
}

export interface Score {
  plugin: string;
  raw: number;
  normalized: number;
  weight: number;
  weighted: number;
  uncertain?: boolean;
}

export interface Candidate {
  name: string;
  feasible: boolean;
  filters: Filter[];
  scores: Score[];
  total: number | null;
  totalRange?: { highest: number; lowest: number } | null;
}

export interface Explanation {
  attempt?: { outcome: string; decidedBy?: string; node: string | null; revision: number; evaluatedRevision: number; time: string | null; recordedMessage: string | null };
  profile?: { schedulerName: string; version: string; versionFrom: string };
  verdict?: string;
  message?: string | null;
  caveats?: string[];
  remedies?: { node: string; changes: string[]; plugins: string[] }[];
  beyondHelp?: { node: string; plugin: string; why: string }[];
  preemption?: { candidates?: { node: string; picked: boolean; victims: Subject[] }[] };
  nodes?: Candidate[];
}

export interface DecisionView {
  moment: Moment;
  name: Name;
  decision: Explanation;
  plugins: { filters: string[]; scores: string[] };
  runnerUp: string | null;
  reasons: { plugin: string | null; reason: string; nodes: number; examples: string[] }[];
  nodesInAll: number;
  nodesLeft: number;
  earlier: { revision: number; ms: Ms | null; message: string | null }[];
  command: string;
}

export interface NodeView {
  moment: Moment;
  name: Name;
  state: { tone: string; label: string } | null;
  unschedulable: boolean;
  conditions: { type: string; status: string; reason: string; message: string; since: string | null }[];
  taints: { key: string; value: string; effect: string; since: string | null }[];
  resources: { name: string; allocatable: string; requested: string; percent: number | null }[];
  /** Times. */
  heartbeat: { lease: string | null; status: string | null };
  pods: Row[];
  podsLeft: number;
  command: string;
}

export interface Intervention extends Name {
  revision: number;
  ms: Ms | null;
  time: string | null;
  what: string;
}

export interface Changed {
  from: Moment;
  to: Moment;
  authors: { by: string | null; byFrom: string | null; changes: number; items: Intervention[] }[];
  interventionsLeft: number;
  kinds: { kind: string; namespace: string; added: number; changed: number; deleted: number; bookkeeping: number; names: Name[] }[];
  command: string;
}

/** Objects of a kind that have no rows in a report: how many are in each state. */
export interface Counted {
  kind: string;
  namespace: string;
  states: [tone: string, label: string, count: number][];
}

/** What a report holds. */
export interface Answers {
  title: string;
  window: Window;
  findings: Findings;
  over: { address: string; what: string; tone: string; from: Ms; to: Ms }[];
  rows: Rows;
  counted: Counted[];
}

/** What a report holds of one row. */
export interface Details {
  history: History;
  decisions: DecisionView[];
  events: ObjectEvent[];
}
