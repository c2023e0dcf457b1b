// The whole window of time: density, gaps, outages and findings, with the visible stretch as a brush and the cursor.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { atOf, cursorAt, newest, usePage, useSize } from "./context";
import { press, turn, type Gesture } from "./gesture";
import { colours, hatch, prepared } from "./rows/draw";
import { moment, type Span, within, x, zoomed } from "./scale";
import type { Window } from "./source/contract";
import { clock, day, full, lasting, marks, momentIn, zoneName } from "./time";
import type { Tone } from "./tones";

/** A finding as the strip draws it. */
export interface Interval extends Span {
  id: string;
  tone: Tone;
}

export const TimeStrip = ({ intervals, theme }: { intervals: readonly Interval[]; theme: string }): JSX.Element => {
  const page = usePage();
  const { state, whole, span, cursorMs, go } = page;
  const [attach, size, box] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [chosen, choosing] = useState<Span | null>(null);
  useEffect(() => {
    if (canvas.current && size.width > 0) drawStrip(canvas.current, size, page.window, whole, chosen ?? span, intervals, cursorMs, state.zone);
  }, [size.width, size.height, page.window, whole, span, chosen, intervals, cursorMs, theme, state.zone]);
  const look = (next: Span): void => go({ from: next.from, to: next.to });
  const gesture: Gesture = { span: whole, whole, box: () => box.current!.getBoundingClientRect(), pick: (at) => go({ at: cursorAt(at, page.window) }, true), choosing, look };
  useEffect(() => {
    const element = box.current;
    const wheel = (event: WheelEvent): void => void turn(event, { ...gesture, span });
    element?.addEventListener("wheel", wheel, { passive: false });
    return () => element?.removeEventListener("wheel", wheel);
  });
  const isWhole = state.from === null;
  return (
    <section class="time" aria-label="time">
      <div class="line">
        <MomentField />
        {state.at !== null && "revision" in state.at && <span class="faint">r{state.at.revision}</span>}
        {atOf(state.at) !== atOf(newest(page.window)) && <button type="button" class="button" title="Look at the newest moment (.)" onClick={() => go({ at: newest(page.window) }, true)}>Newest</button>}
        <span class="grow" />
        <span class="faint stretch">{clock(span.from, state.zone)} – {clock(span.to, state.zone)} · {lasting(span.to - span.from)}{isWhole ? ", all" : ""}</span>
        <span class="seg">
          <button type="button" aria-label="zoom in" title="Zoom in (+)" onClick={() => look(within(zoomed(span, 0.5, cursorIn(span, cursorMs)), whole))}>+</button>
          <button type="button" aria-label="zoom out" title="Zoom out (-)" onClick={() => look(within(zoomed(span, 2, cursorIn(span, cursorMs)), whole))}>−</button>
          <button type="button" title="The whole window (0)" onClick={() => go({ from: null, to: null })}>All</button>
        </span>
        <button type="button" class="button" title="UTC or local time (z)" onClick={() => go({ zone: state.zone === "utc" ? "local" : "utc" })}>{state.zone === "utc" ? "UTC" : "Local"}</button>
      </div>
      <div class="overview" ref={attach} onPointerDown={(event) => press(event, gesture)}>
        <canvas ref={canvas} role="img" aria-label={`Changes from ${day(whole.from, state.zone)} ${clock(whole.from, state.zone)} to ${clock(whole.to, state.zone)}, ${page.window.gaps.length} gaps, ${page.window.outages.length} outages of nodes, ${intervals.length} findings`} />
        {size.width > 0 && (["from", "to"] as const).map((edge) => <Handle key={edge} edge={edge} width={size.width} />)}
      </div>
    </section>
  );
};

/** The cursor's time, and the field that sets it. */
const MomentField = (): JSX.Element => {
  const { window, state, cursorMs, whole, go, say } = usePage();
  const shown = cursorMs === null ? "undated" : full(cursorMs, state.zone);
  const put = (event: Event): void => {
    event.preventDefault();
    const field = (event.currentTarget as HTMLFormElement).elements.namedItem("moment") as HTMLInputElement;
    const revision = field.value.trim().match(/^r?(\d{1,15})$/i)?.[1];
    const ms = momentIn(field.value, cursorMs ?? whole.to, state.zone);
    if (revision === undefined && ms === null) return say("a moment is a time such as 22:16:12, a date with a time, or a revision such as r812");
    go({ at: revision !== undefined ? { revision: Math.min(Math.max(Number(revision), window.first.revision), window.last.revision) } : cursorAt(ms!, window) }, true);
    field.blur();
  };
  return (
    <form class="moment" onSubmit={put}>
      <input name="moment" id="moment" class="now" key={shown} defaultValue={shown} aria-label="the moment looked at: a time or a revision" title="The moment looked at: type a time or a revision ( @ )" autocomplete="off" spellcheck={false} onFocus={(event) => event.currentTarget.select()} onKeyDown={(event) => { if (event.key === "Escape") { event.currentTarget.value = shown; event.currentTarget.blur(); } event.stopPropagation(); }} />
      <span>{zoneName(state.zone, whole.to)}</span>
    </form>
  );
};

/** Where zooming happens around: the cursor if it is in sight. */
export const cursorIn = (span: Span, cursor: number | null): number => (cursor !== null && cursor > span.from && cursor < span.to ? cursor : (span.from + span.to) / 2);

/** An edge of the visible stretch. */
const Handle = ({ edge, width }: { edge: "from" | "to"; width: number }): JSX.Element => {
  const { span, whole, state, go } = usePage();
  const put = (at: number): void => {
    const next = edge === "from" ? { from: Math.min(at, span.to - 20), to: span.to } : { from: span.from, to: Math.max(at, span.from + 20) };
    go({ from: Math.max(next.from, whole.from), to: Math.min(next.to, whole.to) });
  };
  return (
    <div
      class="handle" role="slider" tabIndex={0} aria-label={edge === "from" ? "begin of the visible time" : "end of the visible time"} style={{ left: `${x(whole, width, span[edge])}px` }}
      aria-valuemin={Math.round(whole.from)} aria-valuemax={Math.round(whole.to)} aria-valuenow={Math.round(span[edge])} aria-valuetext={full(span[edge], state.zone)}
      onPointerDown={(event) => {
        event.stopPropagation();
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
        const { left } = event.currentTarget.parentElement!.getBoundingClientRect();
        put(moment(whole, width, event.clientX - left));
      }}
      onKeyDown={(event) => {
        const by = event.key === "ArrowLeft" ? -0.02 : event.key === "ArrowRight" ? 0.02 : 0;
        if (by === 0) return;
        event.preventDefault();
        event.stopPropagation();
        put(span[edge] + by * (whole.to - whole.from));
      }}
    />
  );
};

/** How tall the lane of findings is, and the text under it, in pixels. */
const LANE_PX = 5;
const TEXT_PX = 13;

const drawStrip = (canvas: HTMLCanvasElement, { width, height }: { width: number; height: number }, window: Window, whole: Span, span: Span, intervals: readonly Interval[], cursor: number | null, zone: "utc" | "local"): void => {
  const context = prepared(canvas, width, height);
  const shades = colours();
  const px = (at: number): number => x(whole, width, at);
  const base = height - TEXT_PX;
  context.fillStyle = shades.line;
  context.globalAlpha = 0.6;
  context.fillRect(0, base, width, 1);
  context.globalAlpha = 1;
  drawDensity(context, window, whole, width, LANE_PX + 3, base);
  context.globalAlpha = 0.5;
  for (const { from, to } of window.outages) {
    context.fillStyle = shades.fill.waiting;
    context.fillRect(px(from), base - 4, Math.max(px(to ?? whole.to) - px(from), 2), 4);
  }
  context.globalAlpha = 1;
  for (const { from, to } of window.gaps) if (from !== null && to !== null) hatch(context, shades.gap, px(from), LANE_PX + 2, Math.max(px(to), px(from) + 3), base - LANE_PX - 2, width);
  for (const { from, to, tone } of intervals) {
    context.fillStyle = shades.fill[tone];
    context.globalAlpha = 0.45;
    context.fillRect(px(from), 0, Math.max(px(to) - px(from), 3), LANE_PX);
    context.globalAlpha = 1;
    context.fillRect(px(from), 0, 3, LANE_PX + 2);
  }
  context.fillStyle = shades.veil;
  context.fillRect(0, 0, px(span.from), base);
  context.fillRect(px(span.to), 0, width - px(span.to), base);
  context.fillStyle = shades.faint;
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "bottom";
  for (const { at, label } of marks(whole.from, whole.to, width / 90, zone)) {
    context.fillRect(px(at), base, 1, 3);
    if (px(at) + 50 < width) context.fillText(label, px(at) + 3, height);
  }
  if (cursor === null) return;
  context.fillStyle = shades.cursor;
  context.fillRect(Math.round(px(cursor)) - 0.5, 0, 1.5, base);
};

const drawDensity = (context: CanvasRenderingContext2D, { density }: Window, whole: Span, width: number, top: number, base: number): void => {
  if (!density) return;
  const columns = new Float64Array(Math.max(1, Math.ceil(width / 2)));
  density.counts.forEach((count, index) => {
    const column = Math.floor(x(whole, width, density.from + (index + 0.5) * density.width) / 2);
    if (column >= 0 && column < columns.length) columns[column]! += count;
  });
  const most = Math.log1p(columns.reduce((a, b) => Math.max(a, b), 1));
  context.fillStyle = colours().density;
  columns.forEach((count, column) => {
    if (count === 0) return;
    const size = 1 + (Math.log1p(count) / most) * (base - top - 1);
    context.fillRect(column * 2, base - size, 1.6, size);
  });
};
