// Keys for everything, and the list of them.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { cursorAt, newest, usePage, type Context } from "./context";
import { nextFinding } from "./findings";
import { copy, Tone } from "./parts";
import { markdown } from "./markdown";
import { moved, within, zoomed } from "./scale";
import type { Findings } from "./source/contract";
import { GROUPINGS, TABS, THEMES } from "./state";
import { cursorIn } from "./strip";

/** The keys and what they do, for readers. */
const LISTED: readonly [string, string][] = [
  ["/", "filter"], ["j k ↓ ↑", "next and previous row; Enter opens it, → ← open and shut groups"], ["[ ]", "previous and next change of the object"], ["f F", "next and previous finding"],
  ["+ −", "zoom in and out around the cursor"], ["h l", "move back and on in time"], ["0", "the whole window"], ["@", "type a moment: a time or a revision"], [", ;", "the cursor back and on"], [".", "the newest moment"], ["1 – 7", "timeline, YAML, diff, Events, related, decision, node"],
  ["d", "what changed between two moments, and back"], ["g", "group by namespace, owner, node or nothing"], ["x", "show and hide deleted objects"], ["q", "show and fold quiet objects"], ["c", "copy the link"], ["m", "copy as Markdown"],
  ["t", "title of the view"], ["z", "UTC or local time"], ["n", "light, dark, or as the system"], ["Escape", "close the panel"], ["?", "this list"],
];

/** The colours of states. */
const LEGEND = [["good", "as it should be"], ["working", "on its way"], ["waiting", "held up"], ["bad", "broken"], ["ending", "being deleted"], ["done", "over"], ["neutral", "exists"]] as const;

/** What each key does. */
const actions = (page: Context, findings: Findings | null, help: () => void): { [key: string]: () => void } => {
  const { state, go, span, whole, cursorMs, say } = page;
  const zoom = (factor: number): void => { const next = within(zoomed(span, factor, cursorIn(span, cursorMs)), whole); go({ from: next.from, to: next.to }); };
  const move = (part: number): void => { const next = within(moved(span, part), whole); go({ from: next.from, to: next.to }); };
  const shift = (part: number): void => go({ at: cursorAt((cursorMs ?? span.to) + part * (span.to - span.from), page.window) });
  const step = (by: number): void => void dispatchEvent(new CustomEvent("ketcd-step", { detail: by }));
  const rows = (key: string): void => {
    const tree = document.getElementById("rows");
    tree?.focus();
    tree?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: false }));
  };
  return {
    "/": () => document.getElementById("filter")?.focus(), "@": () => document.getElementById("moment")?.focus(),
    j: () => rows("ArrowDown"), k: () => rows("ArrowUp"), ArrowDown: () => rows("ArrowDown"), ArrowUp: () => rows("ArrowUp"),
    "[": () => step(-1), "]": () => step(1), f: () => nextFinding(page, findings, 1), F: () => nextFinding(page, findings, -1),
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), h: () => move(-0.25), l: () => move(0.25), "0": () => go({ from: null, to: null }),
    ",": () => shift(-0.02), ";": () => shift(0.02), ".": () => go({ at: newest(page.window) }, true),
    ...Object.fromEntries(TABS.map((tab, index) => [String(index + 1), () => state.object && go({ tab }, true)])),
    d: () => go({ view: state.view === "changed" ? "rows" : "changed" }, true),
    g: () => go({ group: GROUPINGS[(GROUPINGS.indexOf(state.group) + 1) % GROUPINGS.length]!, in: [] }),
    x: () => go({ deleted: !state.deleted }), q: () => go({ quiet: !state.quiet }),
    c: () => void copy(location.href, say, "the link is copied"),
    m: () => void markdown(page, findings).then((text) => copy(text, say, "copied as Markdown")),
    t: () => document.querySelector<HTMLElement>("[data-key=t]")?.click(),
    z: () => go({ zone: state.zone === "utc" ? "local" : "utc" }), n: () => go({ theme: THEMES[(THEMES.indexOf(state.theme) + 1) % THEMES.length]! }),
    Escape: () => state.object && go({ object: null, uid: null }, true),
    "?": help,
  };
};

const isTyping = (target: EventTarget | null): boolean => target instanceof HTMLElement && (target.matches("input:not([type=checkbox]), textarea, select") || target.closest("dialog") !== null);

/** Follows the keys of the whole page; returns its context. */
export const useKeys = (findings: Findings | null, help: () => void): Context => {
  const page = usePage();
  const held = useRef({ page, findings, help });
  held.current = { page, findings, help };
  useEffect(() => {
    const follow = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const { page, findings, help } = held.current;
      const all = actions(page, findings, help);
      if (!Object.hasOwn(all, event.key)) return;
      event.preventDefault();
      all[event.key]!();
    };
    addEventListener("keydown", follow);
    return () => removeEventListener("keydown", follow);
  }, []);
  return page;
};

export const KeysDialog = ({ dialog }: { dialog: { current: HTMLDialogElement | null } }): JSX.Element => (
  <dialog ref={dialog} aria-labelledby="keys-head">
    <h2 id="keys-head">Keys</h2>
    <dl class="keys">{LISTED.map(([key, what]) => [<dt>{key}</dt>, <dd>{what}</dd>])}</dl>
    <p class="legend">{LEGEND.map(([tone, what]) => <span key={tone}><Tone tone={tone} /> {what}</span>)}</p>
    <p class="faint">Marks at the top of a bar are changes, tall ones creation and deletion; points at its foot are Events, red ones warnings; hatched stretches cannot be read.</p>
    <p class="faint">Over the axis and the rows: a click sets the cursor, a drag zooms, with shift it moves; the wheel with Ctrl zooms.</p>
    <form method="dialog"><button type="submit" class="button">Close</button></form>
  </dialog>
);
