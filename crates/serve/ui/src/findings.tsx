// What is wrong at the cursor, as it was known then and as it turned out, with causes.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type Answer, usePage, type Context } from "./context";
import { copy, named, Failed, Time, Tone } from "./parts";
import type { Finding, Findings as FindingsAnswer, Subject, TriageChange } from "./source/contract";
import type { Interval } from "./strip";
import { within } from "./scale";
import { count, line } from "./text";
import { lasting, parse } from "./time";
import type { Tone as ToneName } from "./tones";

/** From which weight on a trouble is drawn as one that breaks something. */
const BAD_WEIGHT = 3;

const toneOf = (finding: Finding): ToneName => (finding.weight >= BAD_WEIGHT ? "bad" : "waiting");

/** The stretches of the findings, for the strip. */
export const intervals = (answer: FindingsAnswer | null): Interval[] =>
  (answer?.triage.findings ?? []).flatMap((finding) => {
    const place = answer?.places[finding.id];
    const from = place?.from ?? parse(finding.since);
    return from === null ? [] : [{ id: finding.id, from, to: place?.to ?? Number.MAX_SAFE_INTEGER, tone: toneOf(finding) }];
  }).sort((a, b) => (a.tone === b.tone ? 0 : a.tone === "bad" ? 1 : -1));

/** Looks at a finding: its first object, and its interval with some of what was before. */
export const jump = (page: Context, answer: FindingsAnswer, finding: Finding): void => {
  const place = answer.places[finding.id];
  const object = place?.objects[0];
  const from = place?.from ?? parse(finding.since);
  const stretch = from === null ? null : ((): { from: number; to: number } => {
    const to = place?.to ?? page.whole.to;
    const edge = Math.max((to - from) * 0.12, 5_000);
    return within({ from: from - edge, to: to + edge }, page.whole);
  })();
  page.go({ finding: finding.id, ...(stretch ?? {}), ...(object ? { object: object.address, uid: object.uid || null, tab: finding.trouble === "Unschedulable" && object.kind === "Pod" ? "decision" : "timeline" } : {}) }, true);
};

/** The finding before or after the one that was jumped to. */
export const nextFinding = (page: Context, answer: FindingsAnswer | null, by: number): void => {
  const all = answer?.triage.findings ?? [];
  if (!answer || all.length === 0) return page.say("nothing is wrong at the cursor");
  const index = all.findIndex(({ id }) => id === page.state.finding);
  const next = all[index < 0 ? (by > 0 ? 0 : all.length - 1) : (index + by + all.length) % all.length]!;
  jump(page, answer, next);
};

/** How long it lasts, and what became of it. */
export const standing = (finding: Finding, answer: FindingsAnswer, cursorMs: number | null): string => {
  const place = answer.places[finding.id];
  const from = place?.from ?? parse(finding.since);
  const words: string[] = [];
  const least = finding.mayBeginEarlier ? "at least " : "";
  if (finding.seconds !== null) words.push(`for ${least}${lasting(finding.seconds * 1000)}`);
  if (place?.turnedOut === "over" && place.to !== null && from !== null && (cursorMs === null || place.to > cursorMs)) words.push(`ended after ${least}${lasting(place.to - from)}`);
  else if (place?.turnedOut === "over" && place.to !== null) words.push("over");
  else if (place?.turnedOut === "lasts") words.push("lasts");
  return words.join(", ");
};

export const who = (finding: Finding, answer: FindingsAnswer): string => {
  const [first] = finding.objects;
  const all = answer.places[finding.id]?.count ?? finding.objects.length;
  const subject = finding.owner && all > 1 ? finding.owner : first;
  return subject ? `${named(subject)}${all > 1 ? ` (${count(all, "object")})` : ""}` : "";
};

export const Findings = ({ answer }: { answer: Answer<FindingsAnswer> }): JSX.Element => {
  const { state, cursorMs, say } = usePage();
  const [isOpen, setOpen] = useState(true);
  const { value, failure } = answer;
  const all = value?.triage.findings ?? [];
  const looked = value?.triage.lookedAt;
  return (
    <section class="findings" aria-label="findings" tabIndex={0}>
      <h2>
        <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>{isOpen ? "▾" : "▸"} {value ? (all.length > 0 ? count(all.length + value.findingsLeft, "finding") : "Nothing is wrong") : "Findings"}{state.at === null ? "" : " at the cursor"}</button>
        {looked && <span class="faint">{count(looked.pods, "pod")}, {count(looked.nodes, "node")}, {count(looked.workloads, "workload")} looked at{answer.busy ? "…" : ""}</span>}
        {value?.command && <button type="button" class="button" title={`As text: ${line(value.command)}`} onClick={() => copy(value.command, say, "the command is copied")}>Command</button>}
        {value?.triage.absence && <span>{line(value.triage.absence.message)}</span>}
      </h2>
      {failure && <Failed failure={failure} />}
      {isOpen && value && (
        <ul>
          {all.map((finding, index) => <Row key={`${finding.id} ${index}`} finding={finding} answer={value} isPicked={finding.id === state.finding} cursorMs={cursorMs} />)}
          {value.findingsLeft > 0 && <li class="note">{value.findingsLeft.toLocaleString("en")} more that weigh less: the command prints them</li>}
        </ul>
      )}
    </section>
  );
};

const Row = ({ finding, answer, isPicked, cursorMs }: { finding: Finding; answer: FindingsAnswer; isPicked: boolean; cursorMs: number | null }): JSX.Element => {
  const page = usePage();
  return (
    <li class={`finding ${isPicked ? "picked" : ""}`}>
      <button type="button" aria-expanded={isPicked} onClick={() => (isPicked ? page.go({ finding: null }) : jump(page, answer, finding))}>
        <Tone tone={toneOf(finding)} />
        <span class="what cut">{line(finding.what)}</span>
        <span class="who cut">{who(finding, answer)}</span>
        <span class="long">{standing(finding, answer, cursorMs)}</span>
      </button>
      {isPicked && <More finding={finding} answer={answer} />}
    </li>
  );
};

const More = ({ finding, answer }: { finding: Finding; answer: FindingsAnswer }): JSX.Element => (
  <div class="more">
    {finding.detail && <p>{line(finding.detail)}</p>}
    {finding.message && !finding.detail.includes(finding.message) && <p class="faint">{line(finding.message)}</p>}
    {finding.remedy && <p><b>Ends it:</b> {line(finding.remedy)}</p>}
    {finding.causes.map(({ change, relation, secondsBefore }, index) => (
      <p class="cause" key={index}>
        <b>Cause</b>
        <ChangeLink change={change} />
        <span class="faint">{relation.toLowerCase()}{secondsBefore === null ? "" : `, ${lasting(secondsBefore * 1000)} before`}</span>
      </p>
    ))}
    {finding.effects.map((effect, index) => <p key={index}><b>Follows</b> {line(effect.what)}: {who(effect, answer)} <span class="faint">{line(effect.detail)}</span></p>)}
    {finding.objects.length > 1 && <p class="chips">{finding.objects.slice(0, 12).map((object) => <SubjectLink key={object.uid || object.name} subject={object} />)}{(answer.places[finding.id]?.count ?? 0) > 12 && <span class="faint">and {((answer.places[finding.id]?.count ?? 0) - 12).toLocaleString("en")} more</span>}</p>}
  </div>
);

/** An object without an address: it is asked for when it is clicked. */
export const SubjectLink = ({ subject, revision = null }: { subject: Pick<Subject, "kind" | "namespace" | "name">; revision?: number | null }): JSX.Element => {
  const page = usePage();
  const open = async (): Promise<void> => {
    const found = await page.source.locate(subject.kind, subject.namespace, subject.name, revision).catch(() => null);
    if (found) page.go({ object: found.address, uid: found.uid || null, ...(revision === null ? {} : { at: { revision } }) }, true);
    else page.say(`${named(subject)} has no row here`);
  };
  return <button type="button" class="chip" onClick={open}>{named(subject)}</button>;
};

export const ChangeLink = ({ change }: { change: TriageChange }): JSX.Element => (
  <>
    <Time ms={parse(change.time)} />
    <SubjectLink subject={change} revision={change.revision} />
    <span>{line(change.what)}</span>
    <span class="faint">{change.by === null ? "by nobody known" : `by ${line(change.by)}`}{change.byFrom === "inferred" ? " (inferred)" : ""}</span>
  </>
);
