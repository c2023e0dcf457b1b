// The page as a whole: its state and link, the axis, what is under it, and the panel.
import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ChangedView } from "./changed";
import { atOf, type Context, Provider, useAnswer } from "./context";
import { Findings, intervals } from "./findings";
import { KeysDialog, useKeys } from "./keys";
import { Panel } from "./panel/panel";
import { Failed, Waiting } from "./parts";
import { RowsView } from "./rows/rows";
import { within } from "./scale";
import { setToken } from "./source/api";
import type { Findings as FindingsAnswer, Window } from "./source/contract";
import { Failure, type Source } from "./source/source";
import { link, type State, stateOf } from "./state";
import { visible } from "./text";
import { TimeStrip } from "./strip";
import { Top } from "./top";

/** How long the link waits for movements to end, in milliseconds: browsers refuse pages that change it too often. */
const LINK_MS = 150;
/** How long a message stays, in milliseconds. */
const SAID_MS = 2_500;
/** How much a window without a length, or its edges, get around it, in milliseconds. */
const EDGE_MS = 1_000;

/** Keeps the state and the link of the page the same. */
const useLinked = (): [State, (change: Partial<State>, push?: boolean) => void] => {
  const [state, setState] = useState<State>(() => stateOf(location.hash));
  const now = useRef(state);
  const waiting = useRef<{ timer: number; push: boolean } | null>(null);
  const write = useCallback(() => {
    if (!waiting.current) return;
    const { push, timer } = waiting.current;
    clearTimeout(timer);
    waiting.current = null;
    const url = `${location.pathname}${location.search}#${link(now.current)}`;
    if (push) history.pushState(null, "", url);
    else history.replaceState(null, "", url);
  }, []);
  const go = useCallback((change: Partial<State>, push = false) => {
    if (waiting.current && push) write();
    now.current = { ...now.current, ...change };
    setState(now.current);
    const held = waiting.current;
    if (held) clearTimeout(held.timer);
    waiting.current = { timer: window.setTimeout(write, push ? 0 : LINK_MS), push: push || (held?.push ?? false) };
  }, []);
  useEffect(() => {
    const follow = (): void => {
      now.current = stateOf(location.hash);
      setState(now.current);
    };
    addEventListener("popstate", follow);
    addEventListener("hashchange", follow);
    addEventListener("pagehide", write);
    return () => {
      removeEventListener("popstate", follow);
      removeEventListener("hashchange", follow);
      removeEventListener("pagehide", write);
    };
  }, []);
  return [state, go];
};

/** The window, asked anew when something happens. */
const useWindow = (source: Source): { window: Window | null; failure: Failure | null; again: () => void } => {
  const [held, setHeld] = useState<{ window: Window | null; failure: Failure | null }>({ window: null, failure: null });
  const [tries, setTries] = useState(0);
  useEffect(() => {
    source.window().then(
      (window) => setHeld({ window, failure: null }),
      (error: unknown) => setHeld({ window: null, failure: error instanceof Failure ? error : new Failure(String(error)) }),
    );
  }, [tries]);
  const live = held.window?.live ?? false;
  useEffect(() => (live ? source.follow((window) => setHeld({ window, failure: null })) : undefined), [live]);
  return { ...held, again: () => setTries(tries + 1) };
};

/** Sets the theme on the document; canvases draw anew when it changes. */
const useTheme = (theme: State["theme"]): string => {
  const dark = useMemo(() => matchMedia("(prefers-color-scheme: dark)"), []);
  const [system, setSystem] = useState(dark.matches);
  useEffect(() => {
    const follow = (): void => setSystem(dark.matches);
    dark.addEventListener("change", follow);
    return () => dark.removeEventListener("change", follow);
  }, []);
  const now = theme === "auto" ? (system ? "dark" : "light") : theme;
  document.documentElement.dataset.theme = now;
  return now;
};

export const Page = ({ source }: { source: Source }): JSX.Element => {
  const [state, go] = useLinked();
  const { window, failure, again } = useWindow(source);
  const theme = useTheme(state.theme);
  if (failure?.code === 401) return <TokenForm again={again} />;
  if (failure) return <main><Failed failure={failure} /></main>;
  if (!window) return <main><Waiting /></main>;
  return <Looked source={source} window={window} state={state} go={go} theme={theme} />;
};

const TokenForm = ({ again }: { again: () => void }): JSX.Element => {
  const [token, put] = useState("");
  return (
    <main class="token">
      <h1>ketcd</h1>
      <p>This page needs the token of the server. Open the link that ketcd printed, or paste the token.</p>
      <form onSubmit={(event) => { event.preventDefault(); setToken(token); again(); }}>
        <label>Token <input type="password" autocomplete="off" value={token} onInput={(event) => put(event.currentTarget.value)} /></label>
        <button type="submit" class="button">Open</button>
      </form>
    </main>
  );
};

interface LookedProps {
  source: Source;
  window: Window;
  state: State;
  go: Context["go"];
  theme: string;
}

/** The moments of revisions that were met. */
const useDates = (): { dates: Map<number, number>; date: Context["date"] } => {
  const dates = useRef(new Map<number, number>()).current;
  return { dates, date: useCallback((revision, ms) => { if (ms !== null) dates.set(revision, ms); }, []) };
};

const wholeOf = (window: Window): { from: number; to: number } => {
  const to = window.last.ms ?? window.asked.ms ?? 0;
  const from = window.first.ms ?? window.density?.from ?? to;
  const edge = Math.max((to - from) * 0.01, EDGE_MS);
  return { from: from - edge, to: to + edge };
};

const Looked = ({ source, window, state, go, theme }: LookedProps): JSX.Element => {
  const { dates, date } = useDates();
  const [said, setSaid] = useState("");
  const at = atOf(state.at);
  const findings = useAnswer(() => source.findings(at), [at, window.last.revision]);
  const whole = useMemo(() => wholeOf(window), [window]);
  const span = useMemo(() => (state.from === null || state.to === null ? whole : within({ from: state.from, to: state.to }, whole)), [state.from, state.to, whole]);
  const say = useCallback((text: string) => setSaid(text), []);
  useEffect(() => {
    if (!said) return;
    const timer = setTimeout(() => setSaid(""), SAID_MS);
    return () => clearTimeout(timer);
  }, [said]);
  const isDated = window.last.ms !== null || window.density !== null;
  const context: Context = { source, window, state, go, isDated, whole, span, at, cursorMs: cursorOf(state, window, dates, findings.value), say, date };
  useEffect(() => {
    const title = state.title || source.title;
    document.title = visible(title ? `${title} · ketcd` : `${window.source} · ketcd`);
  }, [state.title, window.source]);
  return (
    <Provider value={context}>
      <Layout findings={findings} said={said} theme={theme} />
    </Provider>
  );
};

/** When the cursor is, as far as it is known. */
const cursorOf = (state: State, window: Window, dates: ReadonlyMap<number, number>, findings: FindingsAnswer | null): number | null => {
  if (state.at === null) return (window.live ? window.last.ms : window.asked.ms) ?? window.last.ms;
  if ("ms" in state.at) return state.at.ms;
  const { revision } = state.at;
  const known = dates.get(revision) ?? [window.last, window.asked, window.first].find((moment) => moment.revision === revision)?.ms;
  if (known !== undefined) return known;
  return findings?.moment.revision === state.at.revision ? findings.moment.ms : null;
};

const Layout = ({ findings, said, theme }: { findings: ReturnType<typeof useAnswer<FindingsAnswer>>; said: string; theme: string }): JSX.Element => {
  const dialog = useRef<HTMLDialogElement>(null);
  const help = (): void => dialog.current?.showModal();
  const page = useKeys(findings.value, help);
  const { state } = page;
  const [width, setWidth] = useState(46);
  return (
    <div class="app">
      <Top findings={findings.value} help={help} />
      {page.isDated && <TimeStrip intervals={intervals(findings.value)} theme={theme} />}
      <main class={`main ${state.object ? "split" : ""}`} style={{ "--panel": `${width}%` }}>
        <div class="left">
          <Findings answer={findings} />
          {state.view === "changed" ? <ChangedView /> : <RowsView />}
        </div>
        {state.object && <Splitter width={width} setWidth={setWidth} />}
        {state.object && <Panel key={`${state.object} ${state.uid ?? ""}`} />}
      </main>
      <div class="sr" role="status" aria-live="polite">{said}</div>
      {said && <div class="toast" aria-hidden="true">{said}</div>}
      <KeysDialog dialog={dialog} />
    </div>
  );
};

/** The bar between rows and panel: dragged, or moved by arrow keys. */
const Splitter = ({ width, setWidth }: { width: number; setWidth: (width: number) => void }): JSX.Element => {
  const place = (wanted: number): void => setWidth(Math.min(Math.max(wanted, 20), 80));
  const move = (event: PointerEvent): void => {
    const bar = event.currentTarget as HTMLElement;
    if (!bar.hasPointerCapture(event.pointerId)) return;
    const box = bar.parentElement!.getBoundingClientRect();
    place(((box.right - event.clientX) / box.width) * 100);
  };
  return (
    <div
      class="bar" role="separator" tabIndex={0} aria-orientation="vertical" aria-label="width of the panel" aria-valuenow={Math.round(width)} aria-valuemin={20} aria-valuemax={80}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={move}
      onKeyDown={(event) => {
        const by = event.key === "ArrowLeft" ? 4 : event.key === "ArrowRight" ? -4 : 0;
        if (by === 0) return;
        event.preventDefault();
        event.stopPropagation();
        place(width + by);
      }}
    />
  );
};
