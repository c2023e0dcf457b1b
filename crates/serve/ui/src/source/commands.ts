// The commands that show as text what a report's answers show: as crates/render/src/browser/view.rs has them for a server's.
import { quoted } from "../text";
import type { Moment } from "./contract";
import type { At } from "./source";

/** A state or an end as a flag names it: a time if it was asked for by one, as a server dates more and would find another revision; empty where there is none. */
export type End = string;

/** How a revision is named. */
export const ofRevision = (revision: number): End => (revision > 0 ? String(revision) : "");

/** How a moment is named that was asked for; printed objects have one only. */
export const endOf = ({ revision, ms }: Moment, asked: At): End =>
  asked !== null && ms !== null && revision > 0 && !/^r?\d+$/.test(asked) ? new Date(ms).toISOString().replace(/\.?0+Z$/, "Z") : ofRevision(revision);

const flag = (name: string, end: End): string[] => (end ? [name, end] : []);

/** The flag for a state. */
const state = (end: End): string[] => flag(/^\d+$/.test(end) ? "--rev" : "--at", end);

export class Commands {
  /** `call` is how ketcd was called, with what it reads: `ketcd -f snapshot.db `. */
  constructor(private readonly call: string) {}

  private line(...words: string[]): string {
    return `${this.call}${words.map(quoted).join(" ")}`;
  }

  findings(at: End): string {
    return this.line("triage", ...state(at));
  }

  rows(from: End, to: End, filters: { [name: string]: string }): string {
    const kinds = (filters.kind ?? "").toLowerCase().split(",").filter((kind) => /^[a-z0-9][a-z0-9.-]*$/.test(kind));
    const only = (name: string, word: string): string[] => (filters[name] && !filters[name].includes(",") ? [word, filters[name]] : []);
    const node = kinds.length === 1 && kinds[0] === "pod" && filters.node ? ["--field-selector", `spec.nodeName=${filters.node}`] : [];
    const revision = Number((filters.revision ?? "").replace(/^r/, ""));
    const [since, until] = revision > 0 ? [ofRevision(revision - 1), ofRevision(revision)] : [from, to];
    const namespace = only("namespace", "-n");
    return this.line("timeline", ...kinds, ...(namespace.length > 0 ? namespace : ["-A"]), ...(filters.label ? ["-l", filters.label] : []), ...node, ...flag("--since", since), ...flag("--until", until));
  }

  changed(from: End, to: End, filters: { [name: string]: string }): string {
    return this.line("diff", "--rev", `${from}..${to}`, ...(filters.namespace && !filters.namespace.includes(",") ? ["-n", filters.namespace] : []));
  }

  timeline(address: string, until: End): string {
    return this.line("timeline", address, ...flag("--until", until));
  }

  yaml(address: string, at: End): string {
    return this.line("blame", address, ...state(at));
  }

  events(address: string, at: End): string {
    return this.line("events", address, ...state(at));
  }

  related(address: string, at: End): string {
    return this.line("tree", address, ...state(at));
  }

  node(address: string, at: End): string {
    return this.line("describe", address, ...state(at));
  }

  history(address: string): string {
    return this.line("history", address, "--diff");
  }

  diff(address: string, from: End, to: End): string {
    return this.line("diff", address, "--rev", `${from}..${to}`);
  }

  decision(address: string, at: End, node: string | null): string {
    return this.line("explain", address, ...state(at), ...(node ? ["--node", node] : []));
  }

  status(): string {
    return this.line("status");
  }
}
