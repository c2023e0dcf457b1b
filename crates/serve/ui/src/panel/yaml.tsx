// The object at the cursor, with who set each line.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAnswer, usePage } from "../context";
import { copy, Shown } from "../parts";
import type { ObjectView, Setter } from "../source/contract";
import { clipped, line, visible } from "../text";
import { clock, full } from "../time";
import { Frame, type TabProps } from "./panel";

const STATES: { [state: string]: string } = { deleted: "It is deleted at the cursor: this is its last version.", notYet: "It is not there yet at the cursor.", unreadable: "Its version at the cursor cannot be read." };

export const YamlTab = ({ asked }: TabProps): JSX.Element => {
  const page = usePage();
  const { source, at, window } = page;
  const answer = useAnswer(() => source.object(asked, at), [asked, at, window.last.revision], asked);
  const [isPlain, setPlain] = useState(false);
  const [shows, setShows] = useState(false);
  return (
    <Frame tab="yaml" command={answer.value?.command}>
      <Shown answer={answer}>
        {(view) => (
          <>
            <p class="steps">
              <label><input type="checkbox" checked={!isPlain} onChange={() => setPlain(!isPlain)} /> who set it</label>
              {isManaged(view.lines).includes(true) && <label><input type="checkbox" checked={shows} onChange={() => setShows(!shows)} /> managed fields</label>}
              <button type="button" class="button" onClick={() => copy(view.lines.map(({ text }) => text).join("\n"), page.say, "the YAML is copied")}>Copy</button>
            </p>
            {STATES[view.state] && <p class="note warn">{STATES[view.state]}</p>}
            {view.error && <p class="note bad">{line(view.error)}</p>}
            <Lines view={view} isPlain={isPlain} shows={shows} />
          </>
        )}
      </Shown>
    </Frame>
  );
};

/** The lines of the managed fields: the longest part that few read. */
const isManaged = (lines: ObjectView["lines"]): boolean[] => {
  let inside = -1;
  return lines.map(({ text }) => {
    const depth = text.length - text.trimStart().length;
    if (inside >= 0 && (depth > inside || (depth === inside && text.trimStart().startsWith("-")))) return true;
    inside = /^\s+managedFields:/.test(text) ? depth : -1;
    return inside >= 0;
  });
};

/** Lines that are shown at first. */
const MAX_LINES = 3_000;

/** A long line goes on further in than it began; a word that is longer than a line is broken where the line ends. */
const hanging = (text: string): { paddingLeft: string; textIndent: string; wordBreak: "break-all" | "normal" } => {
  const depth = text.length - text.trimStart().length + 2;
  return { paddingLeft: `calc(8px + ${depth}ch)`, textIndent: `-${depth}ch`, wordBreak: /\S{60}/.test(text) ? "break-all" : "normal" };
};

const Lines = ({ view, isPlain, shows }: { view: ObjectView; isPlain: boolean; shows: boolean }): JSX.Element => {
  const managed = shows ? [] : isManaged(view.lines);
  const [all, setAll] = useState(false);
  const every = view.lines.filter((_, index) => !managed[index]);
  const lines = all ? every : every.slice(0, MAX_LINES);
  const newest = view.version?.revision ?? null;
  return (
    <div class={`yaml ${isPlain ? "plain" : ""}`}>
      {lines.map(({ text, set }, index) => {
        const setter = view.setters[set];
        const same = index > 0 && lines[index - 1]!.set === set;
        const fresh = setter !== undefined && setter.revision !== null && setter.revision === newest && view.setters.length > 1;
        return [
          !isPlain && <div class={`by ${fresh ? "fresh" : ""}`}>{!same && setter && <By setter={setter} />}</div>,
          <div class="code" style={hanging(text)}>{visible(clipped(text)) || " "}</div>,
        ];
      })}
      {lines.length < every.length && <button type="button" class="button" onClick={() => setAll(true)}>All {every.length.toLocaleString("en")} lines</button>}
    </div>
  );
};

const By = ({ setter }: { setter: Setter }): JSX.Element => {
  const { state, go, date } = usePage();
  if (setter.revision === null) return <span title="older than the readable history">earlier</span>;
  const revision = setter.revision;
  const words = [setter.ms === null ? "undated" : full(setter.ms, state.zone), `r${revision}`, setter.by ?? "by nobody known", setter.byFrom === "inferred" ? "(inferred)" : "", setter.request ?? ""].filter((word) => word);
  return (
    <button type="button" title={line(words.join(" "))} onClick={() => { date(revision, setter.ms); go({ at: { revision } }, true); }}>
      {setter.ms === null ? `r${revision}` : clock(setter.ms, state.zone)} {line(setter.by ?? "?")}
    </button>
  );
};
