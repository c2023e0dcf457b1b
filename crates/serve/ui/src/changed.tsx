// What changed in the whole cluster between two moments: what somebody did first, by author, then what follows, by kind.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { atOf, useAnswer, usePage, type Context } from "./context";
import { Command, named, Shown, Time } from "./parts";
import type { Changed, Name } from "./source/contract";
import type { Cursor } from "./state";
import { count, line } from "./text";
import { full } from "./time";

/** The two moments: those that were chosen, else the ends of what is visible. */
export const endsOf = ({ state, window: { first, last } }: Context): { a: Cursor | null; b: Cursor | null } => ({
  a: state.a ?? (state.from === null || (first.ms !== null && state.from <= first.ms) ? null : { ms: state.from }),
  b: state.b ?? (state.to === null || (last.ms !== null && state.to >= last.ms) ? null : { ms: state.to }),
});

export const ChangedView = (): JSX.Element => {
  const page = usePage();
  const { source, state, window } = page;
  const { a, b } = endsOf(page);
  const answer = useAnswer(() => source.changed(atOf(a), atOf(b), { ...state.filters }), [a, b, state.filters.namespace, state.filters.by, window.last.revision]);
  return (
    <>
      <section class="body changed" aria-label="what changed" tabIndex={0}>
        <Ends a={a} b={b} />
        <Shown answer={answer}>{(changed) => <Both changed={changed} />}</Shown>
      </section>
      <Command command={answer.value?.command} />
    </>
  );
};

const Ends = ({ a, b }: { a: Cursor | null; b: Cursor | null }): JSX.Element => {
  const { state, go, cursorMs, window } = usePage();
  const words = (cursor: Cursor | null, otherwise: string): string => (cursor === null ? otherwise : "revision" in cursor ? `r${cursor.revision}` : full(cursor.ms, state.zone));
  const here: Cursor | null = state.at ?? (cursorMs === null ? null : { ms: cursorMs });
  return (
    <div class="steps">
      <span>from <b>{words(a, `the beginning, r${window.first.revision}`)}</b> to <b>{words(b, `the end, r${window.last.revision}`)}</b></span>
      <button type="button" class="button" onClick={() => go({ a: here })}>From the cursor</button>
      <button type="button" class="button" onClick={() => go({ b: here })}>To the cursor</button>
      {(state.a || state.b) && <button type="button" class="button" onClick={() => go({ a: null, b: null })}>What is visible</button>}
      {state.filters.namespace && <span class="chip">namespace {line(state.filters.namespace)}</span>}
      {state.filters.by && <span class="chip">by {line(state.filters.by)}</span>}
    </div>
  );
};

/** How many changes of an author are shown at first. */
const FIRST_ITEMS = 12;

const Both = ({ changed }: { changed: Changed }): JSX.Element => (
  <>
    <h3>What somebody did</h3>
    {changed.authors.length === 0 && <p class="faint">Nobody intervened: what changed, controllers changed.</p>}
    {changed.authors.map((author, index) => <Author key={index} author={author} />)}
    {changed.interventionsLeft > 0 && <p class="note">{changed.interventionsLeft.toLocaleString("en")} more are left out.</p>}
    <h3>What differs</h3>
    <div class="wide" tabIndex={0} role="region" aria-label="what differs, by kind">
      <table>
        <thead><tr><th scope="col" class="left">Kind</th><th scope="col" class="left">Namespace</th><th scope="col">added</th><th scope="col">changed</th><th scope="col">deleted</th><th scope="col">bookkeeping</th><th scope="col" class="left">Objects</th></tr></thead>
        <tbody>
          {changed.kinds.map((kind) => (
            <tr key={`${kind.kind} ${kind.namespace}`}>
              <th scope="row">{line(kind.kind)}</th><td class="left">{line(kind.namespace)}</td><td class="plus">{kind.added || ""}</td><td>{kind.changed || ""}</td><td class="minus">{kind.deleted || ""}</td><td class="unseen">{kind.bookkeeping || ""}</td>
              <td class="why"><Names kind={kind} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </>
);

const Author = ({ author }: { author: Changed["authors"][number] }): JSX.Element => {
  const { go, date } = usePage();
  const [all, setAll] = useState(false);
  const items = all ? author.items : author.items.slice(0, FIRST_ITEMS);
  return (
    <details open>
      <summary><b>{line(author.by ?? "nobody known")}</b>{author.byFrom === "inferred" ? " (inferred)" : ""} <span class="faint">{count(author.changes, "change")}</span></summary>
      <ol class="list">
        {items.map((item) => (
          <li key={`${item.revision} ${item.address}`}>
            <button type="button" class="entry" onClick={() => { date(item.revision, item.ms); go({ object: item.address, uid: item.uid || null, at: { revision: item.revision }, tab: "diff" }, true); }}>
              <Time ms={item.ms} /><span class="rev">r{item.revision}</span><span class="what"><b>{named(item)}</b> {line(item.what)}</span>
            </button>
          </li>
        ))}
      </ol>
      {items.length < author.items.length && <button type="button" class="button" onClick={() => setAll(true)}>All {author.items.length.toLocaleString("en")}</button>}
    </details>
  );
};

const Names = ({ kind }: { kind: Changed["kinds"][number] }): JSX.Element => {
  const { go } = usePage();
  const left = kind.added + kind.changed + kind.deleted - kind.names.length;
  const open = (name: Name): void => go({ object: name.address, uid: name.uid || null, tab: "diff" }, true);
  return (
    <span class="chips">
      {kind.names.slice(0, 8).map((name) => <button type="button" class="chip" key={name.uid || name.address} onClick={() => open(name)}>{line(name.name || name.address)}</button>)}
      {kind.names.length + Math.max(left, 0) > 8 && <span class="faint">and {(kind.names.length + Math.max(left, 0) - 8).toLocaleString("en")} more</span>}
    </span>
  );
};
