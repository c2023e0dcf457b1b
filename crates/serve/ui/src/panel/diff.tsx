// What differs between two moments of an object: by fields, and line by line.
import { diffArrays } from "diff";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { atOf, useAnswer, usePage } from "../context";
import { Shown, Time } from "../parts";
import type { Diff, History, Version } from "../source/contract";
import type { Cursor } from "../state";
import { clipped, count, line, short, visible } from "../text";
import { clock } from "../time";
import { Frame, type TabProps, versionAt } from "./panel";

/** Lines around a difference. */
const AROUND = 3;
/** Lines of a document whose differences are searched. */
const MAX_LINES = 20_000;

export const DiffTab = ({ asked, history }: TabProps): JSX.Element => {
  const page = usePage();
  const { state, source, window } = page;
  const versions = history.value?.versions ?? [];
  const index = versionAt(versions, page);
  const to: Cursor | null = state.b ?? state.at ?? (versions[index] ? { revision: versions[index]!.revision } : null);
  const before = versions[index - 1] ?? versions[index];
  const from: Cursor | null = state.a ?? (before ? { revision: before.revision } : null);
  const answer = useAnswer(from ? () => source.diff(asked, atOf(from), atOf(to)) : null, [asked, from, to, window.last.revision], asked);
  return (
    <Frame tab="diff" command={answer.value?.command}>
      <>
        {history.value && <Ends history={history.value} from={from} to={to} />}
        {history.value && versions.length === 0 ? <p class="empty">No version can be read.</p> : <Shown answer={answer}>{(diff) => <Differences diff={diff} />}</Shown>}
      </>
    </Frame>
  );
};

/** The two moments, chosen among the versions. */
const Ends = ({ history, from, to }: { history: History; from: Cursor | null; to: Cursor | null }): JSX.Element => {
  const { state, go } = usePage();
  const label = (version: Version): string => `r${version.revision}  ${version.ms === null ? "undated" : clock(version.ms, state.zone)}  ${short(version.label, 50)}`;
  const end = (name: "a" | "b", value: Cursor | null, words: string): JSX.Element => {
    const chosen = value && "revision" in value ? String(value.revision) : "";
    return (
      <label>
        {words}{" "}
        <select value={chosen} onChange={(event) => go({ [name]: { revision: Number(event.currentTarget.value) } })}>
          {!history.versions.some(({ revision }) => String(revision) === chosen) && <option value={chosen}>{value && "ms" in value ? clock(value.ms, state.zone) : chosen ? `r${chosen}` : "the newest"}</option>}
          {history.versions.map((version) => <option key={version.revision} value={String(version.revision)}>{label(version)}</option>)}
        </select>
      </label>
    );
  };
  return (
    <div class="steps ends">
      {end("a", from, "from")}
      {end("b", to, "to")}
      {(state.a || state.b) && <button type="button" class="button" onClick={() => go({ a: null, b: null })}>Follow the cursor</button>}
    </div>
  );
};

const Differences = ({ diff }: { diff: Diff }): JSX.Element => {
  const fields = diff.fields.filter(({ quiet }) => !quiet);
  const quiet = diff.fields.length - fields.length;
  return (
    <>
      <Authors by={diff.by} />
      {fields.length > 0 && (
        <div class="fields">
          {fields.map(({ path, before, after }) => (
            <div key={path}><span class="path">{line(path)}</span> {before !== undefined && <span class="minus">{short(before)}</span>}{before !== undefined && after !== undefined && " → "}{after !== undefined && <span class="plus">{short(after)}</span>}</div>
          ))}
        </div>
      )}
      {quiet > 0 && <p class="faint">{count(quiet, "field")} of bookkeeping</p>}
      <h3>Line by line</h3>
      <Lined before={diff.before} after={diff.after} />
    </>
  );
};

/** Who changed it in between, each with how often and last when. */
const Authors = ({ by }: { by: Diff["by"] }): JSX.Element | null => {
  const authors = new Map<string, Diff["by"]>();
  for (const change of by) authors.set(change.by ?? "?", [...(authors.get(change.by ?? "?") ?? []), change]);
  if (authors.size === 0) return null;
  return (
    <p class="chips">
      {[...authors].map(([name, changes]) => <span class="chip" key={name}>{line(name)} <span class="faint">{changes.length > 1 ? `${count(changes.length, "change")}, last ` : ""}{changes.at(-1)!.revision === null ? "" : `r${changes.at(-1)!.revision}`} <Time ms={changes.at(-1)!.ms} /></span></span>)}
    </p>
  );
};

type Part = { type: "same" | "plus" | "minus" | "skip"; text: string };

const partsOf = (before: string | null, after: string | null): Part[] => {
  const [a, b] = [before?.split("\n") ?? [], after?.split("\n") ?? []];
  if (a.length + b.length > MAX_LINES) return [{ type: "skip", text: `too long to compare here: ${a.length + b.length} lines` }];
  const parts: Part[] = [];
  const changes = diffArrays(a, b);
  changes.forEach(({ added, removed, value }, index) => {
    if (added || removed) {
      for (const text of value) parts.push({ type: added ? "plus" : "minus", text });
      return;
    }
    const head = index === 0 ? 0 : AROUND;
    const tail = index === changes.length - 1 ? 0 : AROUND;
    const skipped = value.length - head - tail;
    if (skipped <= 1) for (const text of value) parts.push({ type: "same", text });
    else {
      for (const text of value.slice(0, head)) parts.push({ type: "same", text });
      parts.push({ type: "skip", text: count(skipped, "line") });
      for (const text of value.slice(value.length - tail)) parts.push({ type: "same", text });
    }
  });
  return parts;
};

const SIGNS = { same: " ", plus: "+", minus: "−", skip: "" };

const Lined = ({ before, after }: { before: string | null; after: string | null }): JSX.Element => {
  const parts = useMemo(() => partsOf(before, after), [before, after]);
  if (before === null && after === null) return <p class="faint">It is there at neither moment.</p>;
  if (!parts.some(({ type }) => type === "plus" || type === "minus")) return <p class="faint">Nothing differs.</p>;
  return <div class="diff">{parts.map(({ type, text }, index) => <div key={index} class={type}>{SIGNS[type]} {visible(clipped(text))}</div>)}</div>;
};
