// A node: room, conditions, taints, heartbeat, and its pods over time.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { stretchOf, useAnswer, usePage, useSize } from "../context";
import { Shown, Time, Tone } from "../parts";
import { colours, draw, prepared } from "../rows/draw";
import type { NodeView, Row } from "../source/contract";
import { count, line } from "../text";
import { marks, parse } from "../time";
import { Frame, type TabProps } from "./panel";

/** How tall a pod's bar is, and how many pods are drawn. */
const BAR_PX = 18;
const MAX_BARS = 250;

export const NodeTab = ({ asked, history }: TabProps): JSX.Element => {
  const { source, at, state, window } = usePage();
  const { from, to } = stretchOf(state, window);
  const answer = useAnswer(() => source.node(asked, from, to, at), [asked, from, to, at, window.last.revision], asked);
  return (
    <Frame tab="node" command={answer.value?.command ?? history.value?.command}>
      <Shown answer={answer}>
        {(view) => (
          <>
            <p class="chips">
              {view.state && <span class="chip"><Tone tone={view.state.tone} /> {line(view.state.label)}</span>}
              {view.unschedulable && <span class="chip warn">cordoned</span>}
              {view.heartbeat.lease && <span class="chip">last heartbeat <Time ms={parse(view.heartbeat.lease)} /></span>}
              {!view.heartbeat.lease && view.heartbeat.status && <span class="chip">last status <Time ms={parse(view.heartbeat.status)} /></span>}
            </p>
            <Room view={view} />
            <Conditions view={view} />
            <Pods view={view} />
          </>
        )}
      </Shown>
    </Frame>
  );
};

const Room = ({ view }: { view: NodeView }): JSX.Element => (
  <>
    <h3>Requested of allocatable</h3>
    <div class="meter">
      {view.resources.map(({ name, requested, allocatable, percent }) => [
        <span class="cut" title={line(name)}>{line(name)}</span>,
        <span class="track" role="img" aria-label={percent === null ? "no share known" : `${percent} percent`}><span class={`fill ${(percent ?? 0) >= 90 ? "full" : ""}`} style={{ width: `${Math.min(percent ?? 0, 100)}%` }} /></span>,
        <span>{requested ? `${line(requested)} of ` : "allocatable "}{line(allocatable)}{percent === null ? "" : ` · ${Math.round(percent)} %`}</span>,
      ])}
    </div>
  </>
);

/** Whether a condition says that something is wrong. */
const isWrong = (type: string, status: string): boolean => (type === "Ready" ? status !== "True" : status !== "False");

const Conditions = ({ view }: { view: NodeView }): JSX.Element => (
  <>
    <h3>Conditions</h3>
    <ul class="list">
      {view.conditions.map(({ type, status, reason, message, since }) => <li key={type} class="entry"><Tone tone={isWrong(type, status) ? "bad" : "good"} /><span>{line(type)} {line(status)}</span><span class="what"><span class="faint">since <Time ms={parse(since)} /></span> {line(reason)} <span class="faint">{line(message)}</span></span></li>)}
    </ul>
    <h3>Taints</h3>
    {view.taints.length === 0 ? <p class="faint">none</p> : <p class="chips">{view.taints.map(({ key, value, effect, since }) => <span class="chip" key={`${key}${effect}`}>{line(key)}{value ? `=${line(value)}` : ""}:{line(effect)}{since && <> since <Time ms={parse(since)} /></>}</span>)}</p>}
  </>
);

const Pods = ({ view }: { view: NodeView }): JSX.Element => {
  const { go } = usePage();
  const pods = view.pods.slice(0, MAX_BARS);
  return (
    <>
      <h3>{count(view.pods.length + view.podsLeft, "pod")} in the visible time</h3>
      <div class="podlist">
        <ul>{pods.map((pod) => <li key={pod.uid || pod.address} style={{ height: `${BAR_PX}px` }}><button type="button" class="cut" onClick={() => go({ object: pod.address, uid: pod.uid || null, tab: "timeline" }, true)}>{line(`${pod.namespace}/${pod.name}`)}</button></li>)}</ul>
        <PodBars pods={pods} />
      </div>
      {view.pods.length + view.podsLeft > pods.length && <p class="faint">and {view.pods.length + view.podsLeft - pods.length} more</p>}
    </>
  );
};

const PodBars = ({ pods }: { pods: NodeView["pods"] }): JSX.Element => {
  const { span, cursorMs, state } = usePage();
  const [attach, size] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const height = pods.length * BAR_PX;
  useEffect(() => {
    if (!canvas.current || size.width === 0 || height === 0) return;
    const sheet = { context: prepared(canvas.current, size.width, height), colours: colours(), span, width: size.width, height, row: BAR_PX };
    const rows = pods.map((pod) => ({ type: "object" as const, row: { ...pod, ticks: [], events: [] } satisfies Row }));
    draw(sheet, rows, 0, [], marks(span.from, span.to, size.width / 90, state.zone).map(({ at }) => at), cursorMs);
  });
  return <div ref={attach}><canvas ref={canvas} role="img" aria-label="when each pod was on the node" /></div>;
};

