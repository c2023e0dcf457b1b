// What every view has: the source, the window, what is looked at, and the way to look at something else.
import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type { Span } from "./scale";
import type { Window } from "./source/contract";
import { type At, Failure, type Source } from "./source/source";
import { type Cursor, cursorText, type State } from "./state";

export interface Context {
  source: Source;
  window: Window;
  state: State;
  /** Looks at something else. A step that the reader may want to go back from is pushed; others replace the link. */
  go(change: Partial<State>, push?: boolean): void;
  /** Whether anything has a time. */
  isDated: boolean;
  /** The whole window of time. */
  whole: Span;
  /** The visible stretch. */
  span: Span;
  /** The cursor as questions have it, and in milliseconds where it is dated. */
  at: At;
  cursorMs: number | null;
  /** Tells in passing what was done. */
  say(text: string): void;
  /** Notes when a revision was, for links that name it. */
  date(revision: number, ms: number | null): void;
}

const Shared = createContext<Context | null>(null);

export const Provider = Shared.Provider;

export const usePage = (): Context => {
  const context = useContext(Shared);
  if (!context) throw new Error("outside of the page");
  return context;
};

export const atOf = (cursor: Cursor | null): At => (cursor === null ? null : cursorText(cursor));

/** The visible stretch as questions have it: what reaches the ends of the window is asked for without them. */
export const stretchOf = ({ from, to }: { from: number | null; to: number | null }, { first, last }: Window): { from: At; to: At } => ({
  from: from === null || (first.ms !== null && from <= first.ms) ? null : new Date(from).toISOString(),
  to: to === null || (last.ms !== null && to >= last.ms) ? null : new Date(to).toISOString(),
});

/** A moment for the cursor, inside of what can be read. */
export const cursorAt = (ms: number, { first, last }: Window): Cursor => ({ ms: Math.round(Math.min(Math.max(ms, first.ms ?? ms), last.ms ?? ms)) });

/** The cursor of the newest moment: none, unless another moment was asked for at the command line. */
export const newest = ({ asked, last, live }: Window): Cursor | null => (live || asked.revision === last.revision ? null : { revision: last.revision });

export interface Answer<T> {
  /** The answer, or the last one while another is on its way. */
  value: T | null;
  failure: Failure | null;
  busy: boolean;
  /** The keys of `value`. */
  of: string;
}

/** Asks when `keys` change. `ask` null asks nothing. What belongs to another `subject` is not shown while the answer is on its way. */
export const useAnswer = <T>(ask: (() => Promise<T>) | null, keys: readonly unknown[], subject: unknown = ""): Answer<T> => {
  const key = JSON.stringify([ask !== null, keys]);
  const about = JSON.stringify(subject);
  const [answer, setAnswer] = useState<{ key: string; about: string; value: T | null; failure: Failure | null }>({ key: "", about: "", value: null, failure: null });
  const newest = useRef(key);
  newest.current = key;
  useEffect(() => {
    if (!ask) return;
    const arrived = (value: T | null, failure: Failure | null): void => {
      if (newest.current === key) setAnswer({ key, about, value, failure });
    };
    ask().then((value) => arrived(value, null), (error: unknown) => arrived(null, error instanceof Failure ? error : new Failure(String(error))));
  }, [key]);
  const fits = answer.about === about;
  return { value: fits ? answer.value : null, failure: fits && answer.key === key ? answer.failure : null, busy: ask !== null && answer.key !== key, of: answer.key };
};

/** `value`, once it stood still for `ms`; at once the first time. */
export const useSettled = <T>(value: T, ms: number): T => {
  const key = JSON.stringify(value);
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    if (JSON.stringify(settled) === key) return;
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [key]);
  return settled;
};

/** The size of an element, and what follows it. */
export const useSize = <E extends HTMLElement>(): [(element: E | null) => void, { width: number; height: number }, { current: E | null }] => {
  const [size, setSize] = useState({ width: 0, height: 0 });
  const held = useRef<E | null>(null);
  const observer = useRef<ResizeObserver | null>(null);
  const attach = useRef((element: E | null) => {
    if (element === held.current) return;
    observer.current?.disconnect();
    held.current = element;
    if (!element) return;
    observer.current = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    observer.current.observe(element);
  });
  return [attach.current, size, held];
};
