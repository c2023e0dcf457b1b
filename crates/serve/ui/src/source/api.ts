// Answers of `ketcd serve --ui`.
import type { Changed, Counted, DecisionView, Diff, Findings, History, Name, NodeView, ObjectView, Rows, TimelineView, Window } from "./contract";
import { type Asked, type At, Failure, type RowsQuery, type Source } from "./source";

/** Where the token of this tab is kept. */
const TOKEN_KEY = "ketcd-token";
/** How often the newest revision is asked for while the page is visible, in milliseconds. */
const FOLLOW_MS = 5_000;
/** How many answers are kept. */
const MAX_ANSWERS = 120;
/** How often a question is asked again that the server had no room for. */
const MAX_TRIES = 4;

type Parameters = { [name: string]: string | number | boolean | null | undefined };

interface Kept {
  tag: string | null;
  answer: Promise<unknown>;
  /** The newest revision when it was asked for. */
  revision: number;
}

/** Takes the token out of the URL's fragment, so that no copied link has it. */
export const takeToken = (): void => {
  const words = location.hash.replace(/^#/, "").split("&");
  const token = words.find((word) => word.startsWith("token="));
  if (!token) return;
  sessionStorage.setItem(TOKEN_KEY, token.slice("token=".length));
  history.replaceState(null, "", `#${words.filter((word) => word !== token).join("&")}`);
};

export const setToken = (token: string): void => sessionStorage.setItem(TOKEN_KEY, token.trim());

export class Served implements Source {
  readonly kind = "served";
  readonly title = "";
  readonly counted: Counted[] = [];
  private readonly kept = new Map<string, Kept>();
  private newest = -1;

  constructor(private readonly base: string) {}

  async window(): Promise<Window> {
    const window = await this.fetched<Window>("window", { buckets: 1000 }, true);
    this.newest = window.last.revision;
    return window;
  }

  findings(at: At): Promise<Findings> {
    return this.fetched("findings", { at });
  }

  rows({ filters, quiet, deleted, ...rest }: RowsQuery): Promise<Rows> {
    return this.fetched("rows", { ...rest, ...filters, quiet: quiet || null, deleted: deleted ? null : "false" });
  }

  object(asked: Asked, at: At): Promise<ObjectView> {
    return this.fetched("object", { ...asked, at });
  }

  history(asked: Asked): Promise<History> {
    return this.fetched("history", { ...asked });
  }

  diff(asked: Asked, from: At, to: At): Promise<Diff> {
    return this.fetched("diff", { ...asked, from, to });
  }

  timeline(asked: Asked, at: At): Promise<TimelineView> {
    return this.fetched("timeline", { ...asked, at });
  }

  decision(asked: Asked, at: At, node: string | null): Promise<DecisionView> {
    return this.fetched("decision", { ...asked, at, node });
  }

  node(asked: Asked, from: At, to: At, at: At): Promise<NodeView> {
    return this.fetched("node", { object: asked.object, from, to, at });
  }

  changed(from: At, to: At, filters: { [name: string]: string }): Promise<Changed> {
    return this.fetched("changed", { from, to, namespace: filters.namespace, by: filters.by });
  }

  async locate(kind: string, namespace: string, name: string, revision: number | null): Promise<Name | null> {
    const rows = await this.fetched<Rows>("rows", { kind, namespace: namespace || null, q: revision === null ? name : null, revision, quiet: true, group: "none", limit: 500, buckets: 1 });
    return rows.rows.find((row) => row.kind === kind && row.namespace === namespace && row.name === name) ?? null;
  }

  follow(arrived: (window: Window) => void): () => void {
    const timer = setInterval(() => {
      if (document.hidden) return;
      const before = this.newest;
      this.window().then((window) => window.last.revision !== before && arrived(window), () => undefined);
    }, FOLLOW_MS);
    return () => clearInterval(timer);
  }

  /** The answer to a question: the one that is kept, unless something happened since. */
  private fetched<T>(path: string, parameters: Parameters, always = false): Promise<T> {
    const words = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
    const url = `${this.base}${path}${words.length > 0 ? "?" : ""}${words.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&")}`;
    const kept = this.kept.get(url);
    if (kept && !always && kept.revision === this.newest) return kept.answer as Promise<T>;
    const answer = this.ask<T>(url, kept);
    const now: Kept = { tag: kept?.tag ?? null, revision: this.newest, answer: answer.then(({ value }) => value) };
    answer.then(({ tag }) => (now.tag = tag), () => this.kept.delete(url));
    this.kept.delete(url);
    this.kept.set(url, now);
    if (this.kept.size > MAX_ANSWERS) this.kept.delete(this.kept.keys().next().value as string);
    return now.answer as Promise<T>;
  }

  private async ask<T>(url: string, kept: Kept | undefined, tried = 1): Promise<{ value: T; tag: string | null }> {
    const headers: Record<string, string> = { Accept: "application/json" };
    const token = sessionStorage.getItem(TOKEN_KEY);
    if (token) headers.Authorization = `Bearer ${token}`;
    if (kept?.tag) headers["If-None-Match"] = kept.tag;
    let response: Response;
    try {
      response = await fetch(url, { headers, cache: "no-store", credentials: "omit" });
    } catch {
      throw new Failure("the server does not answer: is `ketcd serve` still running?");
    }
    if (response.status === 304 && kept) return { value: (await kept.answer) as T, tag: kept.tag };
    if (response.status === 429 && tried < MAX_TRIES) {
      const seconds = Number(response.headers.get("Retry-After")) || 1;
      await new Promise((done) => setTimeout(done, Math.min(seconds, 10) * 1000));
      return this.ask(url, kept, tried + 1);
    }
    const text = await response.text();
    if (!response.ok) throw new Failure(reasonIn(text) ?? `the server answers ${response.status}`, response.status);
    return { value: JSON.parse(text) as T, tag: response.headers.get("ETag") };
  }
}

/** The message of a Status. */
const reasonIn = (text: string): string | null => {
  try {
    const message = (JSON.parse(text) as { message?: unknown }).message;
    return typeof message === "string" ? message : null;
  } catch {
    return null;
  }
};
