// The page's questions. Two sources answer them in the same words: a server (api.ts), and the data inside a report (file.ts).
import type { Changed, Counted, DecisionView, Diff, Findings, History, Name, NodeView, ObjectView, Rows, TimelineView, Window } from "./contract";

/** A moment as it is asked for: `r123` or RFC 3339; null is the newest. */
export type At = string | null;

/** Which rows are asked for; the names are those of the API's parameters. */
export interface RowsQuery {
  from: At;
  to: At;
  at: At;
  group: string;
  in?: string;
  offset?: number;
  limit?: number;
  buckets: number;
  filters: { [name: string]: string };
  quiet: boolean;
  deleted: boolean;
  /** An object that has a row even if nothing happened to it, and whose place is asked for. */
  object: string | null;
  uid: string | null;
}

/** An object as it is asked for. */
export interface Asked {
  object: string;
  uid: string | null;
}

export interface Source {
  readonly kind: "served" | "file";
  /** The title that a report was given. */
  readonly title: string;
  /** Objects that have no rows and are only counted. */
  readonly counted: Counted[];
  window(): Promise<Window>;
  findings(at: At): Promise<Findings>;
  rows(query: RowsQuery): Promise<Rows>;
  object(asked: Asked, at: At): Promise<ObjectView>;
  history(asked: Asked): Promise<History>;
  diff(asked: Asked, from: At, to: At): Promise<Diff>;
  timeline(asked: Asked, at: At): Promise<TimelineView>;
  decision(asked: Asked, at: At, node: string | null): Promise<DecisionView>;
  node(asked: Asked, from: At, to: At, at: At): Promise<NodeView>;
  changed(from: At, to: At, filters: { [name: string]: string }): Promise<Changed>;
  /** The address of an object that an answer names without one. */
  locate(kind: string, namespace: string, name: string, revision: number | null): Promise<Name | null>;
  /** Calls `arrived` after the newest revision changed; returns what stops it. */
  follow(arrived: (window: Window) => void): () => void;
}

/** Why a question has no answer, in words for the reader, with the command that may have it. */
export class Failure extends Error {
  constructor(
    message: string,
    readonly code = 0,
    readonly command: string | null = null,
  ) {
    super(message);
  }
}
