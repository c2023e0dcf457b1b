// An object next to the rows: its head, the steps through its changes, and one view at a time.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { type Answer, useAnswer, usePage, type Context } from "../context";
import { Command, copy, named, Time } from "../parts";
import type { History, Name, Version } from "../source/contract";
import type { Asked } from "../source/source";
import { type Tab, TABS } from "../state";
import { line } from "../text";
import { DecisionTab } from "./decision";
import { DiffTab } from "./diff";
import { EventsTab } from "./events";
import { LifeTab } from "./life";
import { NodeTab } from "./node";
import { RelatedTab } from "./related";
import { YamlTab } from "./yaml";

const LABELS: { [tab in Tab]: string } = { timeline: "Timeline", yaml: "YAML", diff: "Diff", events: "Events", related: "Related", decision: "Decision", node: "Node" };

/** What a tab is given. */
export interface TabProps {
  asked: Asked;
  history: Answer<History>;
}

const kindOf = (address: string, name: Name | null): string => name?.kind ?? address.split("/")[0] ?? "";

/** Tabs that an object of this kind has. */
const tabsOf = (kind: string): Tab[] => TABS.filter((tab) => (tab === "decision" ? /^pods?$/i.test(kind) : tab === "node" ? /^nodes?$/i.test(kind) : true));

/** Which version is there at the cursor; -1 before the first. */
export const versionAt = (versions: readonly Version[], { state, cursorMs, at }: Context): number => {
  if (at === null) return versions.length - 1;
  if (state.at && "revision" in state.at) {
    const { revision } = state.at;
    return versions.findLastIndex((version) => version.revision <= revision);
  }
  return versions.findLastIndex(({ ms }) => ms !== null && cursorMs !== null && ms <= cursorMs);
};

/** Goes to a version: the cursor is its revision. */
export const goTo = (page: Context, version: Version): void => {
  page.date(version.revision, version.ms);
  page.go({ at: { revision: version.revision } }, true);
};

/** One change on or back. */
export const stepChange = (page: Context, history: History | null, by: number): void => {
  if (!history || history.versions.length === 0) return;
  const index = versionAt(history.versions, page);
  const next = history.versions[Math.min(Math.max(index + by, 0), history.versions.length - 1)];
  if (next && (page.at === null || next.revision !== history.versions[index]?.revision || by > 0)) goTo(page, next);
};

export const Panel = (): JSX.Element => {
  const page = usePage();
  const { state, source, window, go } = page;
  const asked: Asked = { object: state.object!, uid: state.uid };
  const history = useAnswer(() => source.history(asked), [asked, window.last.revision], asked);
  const name = history.value?.name ?? null;
  const tabs = tabsOf(kindOf(asked.object, name));
  const tab = tabs.includes(state.tab) ? state.tab : "timeline";
  useStepKeys(page, history.value);
  useEffect(() => document.getElementById(`tab-${tab}`)?.scrollIntoView({ block: "nearest", inline: "nearest" }), [tab]);
  return (
    <section class="panel" aria-label="object" id="panel">
      <header>
        <div class="head">
          <h2 class="grow">{name ? named(name) : line(asked.object)}</h2>
          <button type="button" class="button" title="Copy the address" onClick={() => copy(asked.object, page.say, "the address is copied")}>Address</button>
          <button type="button" class="button" aria-label="close" title="Close (Escape)" onClick={() => go({ object: null, uid: null }, true)}>✕</button>
        </div>
        <Steps history={history.value} />
        <div class="tabs" role="tablist" aria-label="views of the object" onKeyDown={(event) => turnTab(event, page, tabs, tab)}>
          {tabs.map((each) => (
            <button key={each} type="button" role="tab" id={`tab-${each}`} aria-selected={each === tab} aria-controls="tab-body" tabIndex={each === tab ? 0 : -1} onClick={() => go({ tab: each }, true)}>{LABELS[each]}</button>
          ))}
        </div>
      </header>
      <Body tab={tab} asked={asked} history={history} />
    </section>
  );
};

const Body = ({ tab, asked, history }: TabProps & { tab: Tab }): JSX.Element => {
  const View = { timeline: LifeTab, yaml: YamlTab, diff: DiffTab, events: EventsTab, related: RelatedTab, decision: DecisionTab, node: NodeTab }[tab];
  return <View key={tab} asked={asked} history={history} />;
};

/** The frame of a tab: what scrolls, and its command. */
export const Frame = ({ tab, command, children }: { tab: Tab; command: string | null | undefined; children: JSX.Element | JSX.Element[] }): JSX.Element => (
  <>
    <div class="body" role="tabpanel" id="tab-body" aria-labelledby={`tab-${tab}`} tabIndex={0}>{children}</div>
    <Command command={command} />
  </>
);

const turnTab = (event: KeyboardEvent, { go }: Context, tabs: readonly Tab[], tab: Tab): void => {
  const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  if (by === 0) return;
  event.preventDefault();
  event.stopPropagation();
  const next = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length]!;
  go({ tab: next });
  document.getElementById(`tab-${next}`)?.focus();
};

/** `[` and `]` step through the object's changes. */
const useStepKeys = (page: Context, history: History | null): void => {
  const held = useRef({ page, history });
  held.current = { page, history };
  useEffect(() => {
    const follow = (event: Event): void => stepChange(held.current.page, held.current.history, (event as CustomEvent<number>).detail);
    addEventListener("ketcd-step", follow);
    return () => removeEventListener("ketcd-step", follow);
  }, []);
};

const Steps = ({ history }: { history: History | null }): JSX.Element => {
  const page = usePage();
  const versions = history?.versions ?? [];
  const index = versionAt(versions, page);
  const version = versions[index];
  return (
    <div class="steps">
      <span class="seg">
        <button type="button" aria-label="previous change" title="Previous change ([)" disabled={index <= 0} onClick={() => stepChange(page, history, -1)}>◀</button>
        <button type="button" aria-label="next change" title="Next change (])" disabled={index >= versions.length - 1} onClick={() => stepChange(page, history, 1)}>▶</button>
      </span>
      {version ? (
        <>
          <span>change {index + 1 + (history?.left ?? 0)} of {versions.length + (history?.left ?? 0)}</span>
          <span class="faint">r{version.revision}</span>
          <Time ms={version.ms} />
          <span class="faint cut">{version.type === "DELETED" ? "deleted " : ""}{version.by ? `by ${line(version.by)}` : ""}{version.byFrom === "inferred" ? " (inferred)" : ""}</span>
        </>
      ) : (
        <span class="faint">{history ? (versions.length === 0 ? "no readable version" : "not there yet at the cursor") : "…"}</span>
      )}
    </div>
  );
};
