// The commands that show as text what a report's answers show: as crates/render/src/browser/view.rs has them for a server's.
import { quoted } from "../text";

/** The revision of a state or of an end; 0 where there is none. */
type Revision = number;

const flag = (name: string, revision: Revision): string[] => (revision > 0 ? [name, String(revision)] : []);

export class Commands {
  /** `call` is how ketcd was called, with what it reads: `ketcd -f snapshot.db `. */
  constructor(private readonly call: string) {}

  private line(...words: string[]): string {
    return `${this.call}${words.map(quoted).join(" ")}`;
  }

  findings(at: Revision): string {
    return this.line("triage", ...flag("--rev", at));
  }

  rows(from: Revision, to: Revision, filters: { [name: string]: string }): string {
    const kinds = (filters.kind ?? "").toLowerCase().split(",").filter((kind) => /^[a-z0-9][a-z0-9.-]*$/.test(kind));
    const only = (name: string, word: string): string[] => (filters[name] && !filters[name].includes(",") ? [word, filters[name]] : []);
    const node = kinds.length === 1 && kinds[0] === "pod" && filters.node ? ["--field-selector", `spec.nodeName=${filters.node}`] : [];
    const revision = Number((filters.revision ?? "").replace(/^r/, ""));
    const stretch = revision > 0 ? [...flag("--since", revision - 1), ...flag("--until", revision)] : [...flag("--since", from), ...flag("--until", to)];
    const namespace = only("namespace", "-n");
    return this.line("timeline", ...kinds, ...(namespace.length > 0 ? namespace : ["-A"]), ...(filters.label ? ["-l", filters.label] : []), ...node, ...stretch);
  }

  changed(from: Revision, to: Revision, filters: { [name: string]: string }): string {
    return this.line("diff", "--rev", `${from || ""}..${to || ""}`, ...(filters.namespace && !filters.namespace.includes(",") ? ["-n", filters.namespace] : []));
  }

  timeline(address: string, until: Revision): string {
    return this.line("timeline", address, ...flag("--until", until));
  }

  yaml(address: string, at: Revision): string {
    return this.line("blame", address, ...flag("--rev", at));
  }

  events(address: string, at: Revision): string {
    return this.line("events", address, ...flag("--rev", at));
  }

  related(address: string, at: Revision): string {
    return this.line("tree", address, ...flag("--rev", at));
  }

  node(address: string, at: Revision): string {
    return this.line("describe", address, ...flag("--rev", at));
  }

  history(address: string): string {
    return this.line("history", address, "--diff");
  }

  diff(address: string, from: Revision, to: Revision): string {
    return this.line("diff", address, "--rev", `${from || ""}..${to || ""}`);
  }

  decision(address: string, at: Revision, node: string | null): string {
    return this.line("explain", address, ...flag("--rev", at), ...(node ? ["--node", node] : []));
  }

  status(): string {
    return this.line("status");
  }
}
