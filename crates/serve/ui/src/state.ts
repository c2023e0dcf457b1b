// What is looked at, and its link: the fragment of the URL. It names objects and moments, never pixels, so that it opens the same view in the served page
// and in a report. A fragment is not sent to any server.
import type { Zone } from "./time";

/** How rows are grouped. */
export const GROUPINGS = ["namespace", "owner", "node", "none"] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** What fills the page under the axis. */
export const VIEWS = ["rows", "changed"] as const;
export type View = (typeof VIEWS)[number];

/** What the panel shows of an object. */
export const TABS = ["timeline", "yaml", "diff", "events", "related", "decision", "node"] as const;
export type Tab = (typeof TABS)[number];

export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

/** What rows are filtered by, as the API names it; `q` are words without a name. */
export const FILTERS = ["q", "kind", "namespace", "label", "image", "node", "by", "message", "reason", "revision"] as const;
export type Filters = { [name in (typeof FILTERS)[number]]?: string };

/** A moment: a revision, or milliseconds since 1970. */
export type Cursor = { revision: number } | { ms: number };

export interface State {
  view: View;
  /** The cursor; null is the moment that was asked for. */
  at: Cursor | null;
  /** The visible stretch; null is the whole window. */
  from: number | null;
  to: number | null;
  filters: Filters;
  group: Grouping;
  /** Groups that are open or, where they begin with `-`, shut by hand. */
  in: string[];
  /** Whether rows with nothing in the visible stretch are shown. */
  quiet: boolean;
  /** Whether deleted objects are shown. */
  deleted: boolean;
  /** The address of the object in the panel. */
  object: string | null;
  uid: string | null;
  tab: Tab;
  /** The finding that was jumped to. */
  finding: string | null;
  /** The node of a decision that is looked at. */
  pick: string | null;
  /** The two moments that are compared. */
  a: Cursor | null;
  b: Cursor | null;
  zone: Zone;
  theme: Theme;
  title: string;
}

export const INITIAL: State = {
  view: "rows", at: null, from: null, to: null, filters: {}, group: "namespace", in: [], quiet: false, deleted: true,
  object: null, uid: null, tab: "timeline", finding: null, pick: null, a: null, b: null, zone: "utc", theme: "auto", title: "",
};

const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** `r123` or RFC 3339. */
export const cursorText = (cursor: Cursor): string => ("revision" in cursor ? `r${cursor.revision}` : new Date(cursor.ms).toISOString());

/** A date that has a text. */
const MAX_MS = 8.64e15;

const moment = (text: string | null): number | null => {
  const ms = text === null ? NaN : Date.parse(text);
  return Number.isNaN(ms) || Math.abs(ms) > MAX_MS ? null : ms;
};

const cursor = (text: string | null): Cursor | null => {
  const revision = text?.match(/^r?(\d{1,15})$/)?.[1];
  if (revision) return { revision: Number(revision) };
  const ms = moment(text);
  return ms === null ? null : { ms };
};

const one = <T extends string>(all: readonly T[], text: string | null, otherwise: T): T => all.find((word) => word === text) ?? otherwise;

/** The fragment of a state, without what is as it is at first. */
export const link = (state: State): string => {
  const words: string[] = [];
  const put = (name: string, value: string | null): void => {
    if (value !== null && value !== "") words.push(`${name}=${encodeURIComponent(value).replace(/%3A/g, ":").replace(/%2F/g, "/").replace(/%2C/g, ",")}`);
  };
  const unless = <T extends string>(value: T, usual: T): string | null => (value === usual ? null : value);
  put("view", unless(state.view, INITIAL.view));
  put("object", state.object);
  if (state.object) put("uid", state.uid);
  if (state.object) put("tab", unless(state.tab, INITIAL.tab));
  put("at", state.at && cursorText(state.at));
  if (state.from !== null && state.to !== null) {
    put("from", new Date(state.from).toISOString());
    put("to", new Date(state.to).toISOString());
  }
  for (const name of FILTERS) put(name, state.filters[name] ?? null);
  put("group", unless(state.group, INITIAL.group));
  put("in", state.in.map((group) => group.replace(/[%,]/g, encodeURIComponent)).join(","));
  put("quiet", state.quiet ? "true" : null);
  put("deleted", state.deleted ? null : "false");
  put("finding", state.finding);
  if (state.object) put("pick", state.pick);
  put("a", state.a && cursorText(state.a));
  put("b", state.b && cursorText(state.b));
  put("zone", unless(state.zone, INITIAL.zone));
  put("theme", unless(state.theme, INITIAL.theme));
  put("title", state.title);
  return words.join("&");
};

/** The state of a fragment; what it does not say, or says in a way that cannot be read, is as at first. */
export const stateOf = (fragment: string): State => {
  const words = new Map<string, string>();
  for (const word of fragment.replace(/^#/, "").split("&")) {
    const [name, ...value] = word.split("=");
    if (name) words.set(name, unescaped(value.join("=").replace(/\+/g, " ")));
  }
  const get = (name: string): string | null => words.get(name) ?? null;
  const from = moment(get("from"));
  const to = moment(get("to"));
  const stretch = from !== null && to !== null && from < to;
  const filters: Filters = {};
  for (const name of FILTERS) {
    const value = get(name);
    if (value) filters[name] = value;
  }
  return {
    view: one(VIEWS, get("view"), INITIAL.view),
    at: cursor(get("at")),
    from: stretch ? from : null,
    to: stretch ? to : null,
    filters,
    group: one(GROUPINGS, get("group"), INITIAL.group),
    in: (get("in") ?? "").split(",").filter((group) => group).map(unescaped),
    quiet: get("quiet") === "true",
    deleted: get("deleted") !== "false",
    object: get("object") || null,
    uid: get("uid") || null,
    tab: one(TABS, get("tab"), INITIAL.tab),
    finding: get("finding") || null,
    pick: get("pick") || null,
    a: cursor(get("a")),
    b: cursor(get("b")),
    zone: one(["utc", "local"] as const, get("zone"), INITIAL.zone),
    theme: one(THEMES, get("theme"), INITIAL.theme),
    title: get("title") ?? "",
  };
};

/** Filters as one writes them into the field: `kind:Pod node:n3 crash`; values with spaces in quotes. */
export const filterText = (filters: Filters): string =>
  FILTERS.filter((name) => filters[name])
    .map((name) => {
      const value = filters[name]!;
      return name === "q" ? value : `${name}:${/[\s"]/.test(value) ? JSON.stringify(value) : value}`;
    })
    .join(" ");

/** The filters that a text says. A word that is given twice means either of both. */
export const filtersOf = (text: string): Filters => {
  const filters: Filters = {};
  const add = (name: keyof Filters, value: string, between: string): void => {
    filters[name] = filters[name] ? `${filters[name]}${between}${value}` : value;
  };
  for (const found of text.matchAll(/([a-z]+):("(?:[^"\\]|\\.)*"|\S+)|\S+/g)) {
    const [word, name, value] = found;
    const known = FILTERS.find((filter) => filter === name && filter !== "q");
    if (known && value) add(known, value.startsWith('"') ? literal(value) : value, ",");
    else add("q", word, " ");
  }
  return filters;
};

const literal = (text: string): string => {
  try {
    return String(JSON.parse(text));
  } catch {
    return text.replace(/^"|"$/g, "");
  }
};
