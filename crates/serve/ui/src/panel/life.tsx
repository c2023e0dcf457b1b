// An object's life: its phases with how long each took, and every change with what it changed.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { useAnswer, usePage } from "../context";
import { named, Shown, Time } from "../parts";
import { at as fieldAt } from "../patch";
import type { Timeline, Version } from "../source/contract";
import { valueAt } from "../source/versions";
import { short, line } from "../text";
import { lasting, parse } from "../time";
import { Frame, goTo, type TabProps, versionAt } from "./panel";

/** Fields whose change alone says nothing. */
const QUIET = /^\/metadata\/(managedFields|resourceVersion|generation)|^\/status\/observedGeneration$/;

export const LifeTab = ({ asked, history }: TabProps): JSX.Element => {
  const { source, at, window } = usePage();
  const timeline = useAnswer(() => source.timeline(asked, at), [asked, at, window.last.revision], asked);
  return (
    <Frame tab="timeline" command={timeline.value?.command ?? history.value?.command}>
      <>
        {timeline.value?.timelines.map((each) => <Phases key={each.object.uid} timeline={each} />)}
        <Shown answer={history}>{({ versions, left }) => <Changes versions={versions} left={left} />}</Shown>
      </>
    </Frame>
  );
};

const Phases = ({ timeline }: { timeline: Timeline }): JSX.Element | null => {
  const { rollouts = [], waiting = [], phases, related = [] } = timeline;
  if (phases.length + rollouts.length + waiting.length === 0) return null;
  return (
    <>
      <h3>Phases</h3>
      {waiting.map(({ phase, detail, sinceTime }, index) => <p class="note warn" key={index}>Waits: {line(phase)} {line(detail)} since <Time ms={parse(sinceTime)} /></p>)}
      <PhaseList phases={phases} />
      {rollouts.length > 0 && <h3>Rollouts</h3>}
      <ul class="list">
        {rollouts.map(({ number, change, by, outcome, seconds, stuck, time, revision }) => (
          <li key={revision} class="entry"><Time ms={parse(time)} /><span class="rev">r{revision}</span><span class="what">{number ? `rollout ${line(number)}: ` : ""}{line(change)} <span class="faint">{[by && `by ${line(by)}`, outcome, typeof seconds === "number" && lasting(seconds * 1000)].filter((word) => word).join(" · ")}</span>{stuck && <span class="danger"> {line(stuck)}</span>}</span></li>
        ))}
      </ul>
      {related.map((other) => <details key={other.object.uid}><summary>{named(other.object)}</summary><PhaseList phases={other.phases} /></details>)}
    </>
  );
};

const PhaseList = ({ phases }: { phases: Timeline["phases"] }): JSX.Element => {
  const { go, date } = usePage();
  return (
    <ol class="list">
      {phases.map(({ phase, detail, time, revision, sincePreviousSeconds, longest }, index) => (
        <li key={index}>
          <button type="button" class="entry" onClick={() => { date(revision, parse(time)); go({ at: { revision } }, true); }}>
            <Time ms={parse(time)} />
            <span class={longest ? "warn" : "faint"}>{sincePreviousSeconds === null ? "" : `+${lasting(sincePreviousSeconds * 1000)}`}</span>
            <span class="what"><b>{line(phase)}</b> {line(detail)}{longest ? <span class="warn"> longest</span> : ""}</span>
          </button>
        </li>
      ))}
    </ol>
  );
};

const Changes = ({ versions, left }: { versions: readonly Version[]; left: number }): JSX.Element => {
  const page = usePage();
  const current = versionAt(versions, page);
  const [shut, setShut] = useState(false);
  return (
    <>
      <h3>Changes</h3>
      {left > 0 && <p class="note">{left.toLocaleString("en")} earlier ones are left out.</p>}
      <ol class="list">
        {versions.map((version, index) => (
          <li key={version.revision}>
            <button type="button" class="entry" aria-current={index === current} aria-expanded={index === current && !shut} onClick={() => { setShut(index === current && !shut); goTo(page, version); }}>
              <Time ms={version.ms} />
              <span class="rev">r{version.revision}</span>
              <span class="what">{line(version.label || version.type.toLowerCase())}<By version={version} /></span>
            </button>
            {index === current && !shut && <Fields versions={versions} index={index} />}
          </li>
        ))}
      </ol>
    </>
  );
};

/** Who made a change, unless its label says so. */
const By = ({ version: { by, byFrom, label } }: { version: Version }): JSX.Element | null =>
  by === null || (label.includes(by) && byFrom !== "inferred") ? null : <span class="faint">{label.includes(by) ? "" : ` · ${line(by)}`}{byFrom === "inferred" ? " (inferred)" : ""}</span>;

/** What one change changed, field by field. */
const Fields = ({ versions, index }: { versions: readonly Version[]; index: number }): JSX.Element => {
  const version = versions[index]!;
  const before = useMemo(() => (index > 0 ? valueAt(versions, index - 1) : undefined), [versions, index]);
  const patch = (version.patch ?? []).filter(({ path, op }) => op !== "test" && !QUIET.test(path));
  return (
    <div class="fields">
      {version.request && <div class="faint">{line(version.request)}</div>}
      {version.errorSeconds !== null && version.errorSeconds >= 1 && <div class="faint">its time is known to ±{lasting(version.errorSeconds * 1000)}</div>}
      {version.error && <div class="danger">{line(version.error)}</div>}
      {patch.map(({ op, path, value }, number) => {
        const old = before === undefined || op === "add" ? undefined : fieldAt(before, path);
        return (
          <div key={number}>
            <span class={op === "add" ? "plus" : op === "remove" ? "minus" : "faint"}>{op === "add" ? "+" : op === "remove" ? "−" : "±"}</span> <span class="path">{line(dotted(path))}</span>{" "}
            {old !== undefined && <span class="minus">{short(old, 160)}</span>}{old !== undefined && value !== undefined ? " → " : ""}{value !== undefined && <span class={old === undefined ? "" : "plus"}>{short(value, 400)}</span>}
          </div>
        );
      })}
      {patch.length === 0 && version.patch && <div class="faint">only bookkeeping</div>}
    </div>
  );
};

/** `/spec/containers/0/image` as `spec.containers[0].image`. */
export const dotted = (path: string): string =>
  path.split("/").slice(1).map((token) => token.replace(/~1/g, "/").replace(/~0/g, "~")).reduce((text, token) => (/^\d+$/.test(token) ? `${text}[${token}]` : /[./]/.test(token) ? `${text}[${token}]` : text ? `${text}.${token}` : token), "");
