// Objects over time: names as elements, bars and ticks on one canvas, of what is in sight alone.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { cursorAt, usePage, useSize, type Context } from "../context";
import { type Gesture, press, turn } from "../gesture";
import { Command, Failed, named, Tone } from "../parts";
import { moment, type Span, x } from "../scale";
import type { Counted, Row } from "../source/contract";
import { isObject } from "../source/file";
import { count, line } from "../text";
import { clock, full, marks } from "../time";
import { colours, draw, prepared, type Shown, tickAt } from "./draw";
import { type Model, type Slot, useRows } from "./model";
import { Tools } from "./tools";

/** Rows drawn above and below those in sight. */
const SPARE_ROWS = 4;
/** How tall a list browsers can scroll, in pixels. */
const MAX_TALL_PX = 15_000_000;

const pixels = (name: string): number => parseFloat(getComputedStyle(document.documentElement).getPropertyValue(name)) || 24;

export const RowsView = (): JSX.Element => {
  const page = usePage();
  const { state, span, cursorMs } = page;
  const [attach, size, box] = useSize<HTMLDivElement>();
  const label = pixels("--label");
  const row = pixels("--row");
  const width = Math.max(size.width - label, 0);
  const model = useRows(width);
  const { listing } = model;
  const [top, setTop] = useState(0);
  const [active, setActive] = useState(0);
  const [chosen, choosing] = useState<Span | null>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const first = Math.max(Math.floor(top / row) - SPARE_ROWS, 0);
  const last = Math.min(Math.ceil((top + size.height) / row) + SPARE_ROWS, listing.length);
  const slots = useMemo(() => Array.from({ length: Math.max(last - first, 0) }, (_, index) => listing.slot(first + index)), [listing, first, last]);
  useEffect(() => model.want(first, last));
  const axis = marks(span.from, span.to, width / 72, state.zone);
  useLayoutEffect(() => {
    if (!canvas.current || width <= 0 || size.height <= 0) return;
    const sheet = { context: prepared(canvas.current, width, size.height), colours: colours(), span, width, height: size.height, row };
    draw(sheet, slots.map((slot) => shown(slot, model)), first * row - top, gapsOf(page), axis.map(({ at }) => at), cursorMs);
    if (chosen) drawChosen(sheet.context, sheet.colours.accent, x(span, width, chosen.from), x(span, width, chosen.to), size.height);
  });
  useFollow(page, model, box, row, setActive);
  const look = (next: Span): void => page.go({ from: next.from, to: next.to });
  const rectangle = (): DOMRect => {
    const { left, top, height } = box.current!.getBoundingClientRect();
    return new DOMRect(left + label, top, width, height);
  };
  const slotAt = (event: { clientY: number }): number => Math.floor((event.clientY - box.current!.getBoundingClientRect().top + box.current!.scrollTop) / row);
  const gesture: Gesture = { span, whole: page.whole, box: rectangle, choosing, look, pick: (at, event) => pick(page, model, slotAt(event), at, event.clientX - rectangle().left, width) };
  useEffect(() => {
    const element = box.current;
    const wheel = (event: WheelEvent): void => void turn(event, gesture);
    element?.addEventListener("wheel", wheel, { passive: false });
    return () => element?.removeEventListener("wheel", wheel);
  });
  const hint = useHint(page, model, slotAt, () => rectangle().left, width);
  const tall = Math.min(listing.length * row, MAX_TALL_PX);
  return (
    <>
      <Tools model={model} />
      {model.failure && <Failed failure={model.failure} />}
      <div class={`busy ${model.busy ? "on" : ""}`} />
      {page.isDated && <Axis marks={axis} width={width} gesture={{ ...gesture, pick: (at) => page.go({ at: cursorAt(at, page.window) }, true) }} />}
      <div
        class="rows" id="rows" role={listing.length > 0 ? "tree" : "group"} tabIndex={0} ref={attach} aria-label="objects over time" aria-activedescendant={active >= first && active < last ? `row-${active}` : undefined}
        onScroll={(event) => { setTop(event.currentTarget.scrollTop); hint.leave(); }}
        onKeyDown={(event) => keyed(event, page, model, active, (next) => { setActive(next); reveal(box.current, next, row); })}
        onPointerDown={(event) => press(event, gesture)} onPointerMove={hint.move} onPointerLeave={hint.leave}
      >
        <div class="tall" role="none" style={{ height: `${tall}px`, minHeight: "100%" }}>
          <canvas ref={canvas} aria-hidden="true" />
          <div class="names" role="none">
            {slots.map((slot, index) => <Name key={first + index} slot={slot} number={first + index} top={(first + index) * row} model={model} isActive={first + index === active} activate={() => setActive(first + index)} />)}
          </div>
        </div>
        {model.answer && listing.length === 0 && <p class="empty" role="none">{emptyWords(model)}</p>}
      </div>
      {hint.element}
      <CountedOnly />
      <Command command={model.answer?.command} />
    </>
  );
};

/** What a large report counts without rows. */
const CountedOnly = (): JSX.Element | null => {
  const { counted } = usePage().source;
  // Thousands of lines that stay as they are, whatever is filtered: they are made once.
  return useMemo(() => (counted.length === 0 ? null : <CountedList counted={counted} />), [counted]);
};

const CountedList = ({ counted }: { counted: Counted[] }): JSX.Element => {
  const all = counted.reduce((sum, { states }) => sum + states.reduce((part, [, , number]) => part + number, 0), 0);
  return (
    <details class="counted">
      <summary>{count(all, "more object")} without a story {all === 1 ? "is" : "are"} only counted</summary>
      <ul>
        {counted.map(({ kind, namespace, states }) => (
          <li key={`${kind} ${namespace}`}>{line(kind)} {line(namespace)} {states.map(([tone, label, number]) => <span class="chip" key={label}><Tone tone={tone} /> {number.toLocaleString("en")} {line(label)}</span>)}</li>
        ))}
      </ul>
    </details>
  );
};

const emptyWords = ({ answer }: Model): string => {
  const counts = answer!.counts;
  if (counts.filtered > 0) return `Nothing matches: ${count(counts.filtered, "object is", "objects are")} hidden by the filter.`;
  return counts.quiet > 0 ? `Nothing happened here: ${count(counts.quiet, "object")} without changes in this stretch are folded.` : "No objects in this stretch of time.";
};

const gapsOf = ({ window }: Context): Span[] => window.gaps.flatMap(({ from, to }) => (from === null || to === null ? [] : [{ from, to }]));

const shown = (slot: Slot, { listing }: Model): Shown => {
  if (slot.type === "group") return { type: "group", ticks: listing.members(slot.group).flatMap((row) => row?.ticks.map(([at]) => at) ?? []) };
  return slot.row ? { type: "object", row: slot.row } : { type: "waiting" };
};

const drawChosen = (context: CanvasRenderingContext2D, colour: string, left: number, right: number, height: number): void => {
  context.globalAlpha = 0.16;
  context.fillStyle = colour;
  context.fillRect(left, 0, right - left, height);
  context.globalAlpha = 1;
};

/** Scrolls so that a row is in sight. */
const reveal = (box: HTMLElement | null, index: number, row: number): void => {
  if (!box) return;
  if (index * row < box.scrollTop) box.scrollTop = index * row;
  else if ((index + 1) * row > box.scrollTop + box.clientHeight) box.scrollTop = (index + 1) * row - box.clientHeight;
};

/** Brings the object of the link into sight, once, when it is chosen elsewhere. */
const useFollow = ({ state }: Context, { listing, answer, busy }: Model, box: { current: HTMLElement | null }, row: number, setActive: (index: number) => void): void => {
  const done = useRef<string | null>(null);
  useEffect(() => {
    const wanted = state.object === null ? null : `${state.object} ${state.uid}`;
    if (wanted === null || busy || done.current === wanted) {
      if (wanted === null) done.current = null;
      return;
    }
    const loaded = listing.find(state.object!, state.uid);
    const found = answer?.found ?? null;
    const index = loaded >= 0 ? loaded : found ? listing.at(found.group, found.index) : -1;
    if (index < 0) return;
    done.current = wanted;
    setActive(index);
    if (!box.current) return;
    const middle = index * row - box.current.clientHeight / 2;
    if (index * row < box.current.scrollTop || (index + 1) * row > box.current.scrollTop + box.current.clientHeight) box.current.scrollTop = middle;
  });
};

/** A click: near a mark it goes to that change, else to the moment; in both cases to the object. */
const pick = (page: Context, { listing, toggle }: Model, index: number, at: number, px: number, width: number): void => {
  const slot = index < listing.length ? listing.slot(index) : null;
  if (slot?.type === "group") return px < 0 ? toggle(slot.group) : page.go({ at: cursorAt(at, page.window) }, true);
  const row = slot?.row;
  if (!row) return page.go({ at: cursorAt(at, page.window) }, true);
  const tick = tickAt(row, page.span, width, px);
  if (tick) page.date(tick[3], tick[0]);
  page.go({ object: row.address, uid: row.uid || null, at: tick?.[3] ? { revision: tick[3] } : cursorAt(tick?.[0] ?? at, page.window) }, true);
};

export const openRow = (page: Context, row: Row): void => page.go({ object: row.address, uid: row.uid || null, tab: keptTab(page, row) }, true);

/** The tab stays unless the object does not have it. */
const keptTab = ({ state }: Context, row: Row): Context["state"]["tab"] => {
  if (state.tab === "decision" && row.kind !== "Pod") return "timeline";
  return state.tab === "node" && row.kind !== "Node" ? "timeline" : state.tab;
};

const keyed = (event: KeyboardEvent, page: Context, { listing, toggle }: Model, active: number, move: (index: number) => void): void => {
  if (event.ctrlKey || event.metaKey || event.altKey || listing.length === 0) return;
  const slot = active < listing.length ? listing.slot(active) : null;
  const to = (index: number): void => move(Math.min(Math.max(index, 0), listing.length - 1));
  const steps: { [key: string]: () => void } = {
    ArrowDown: () => to(active + 1), ArrowUp: () => to(active - 1), PageDown: () => to(active + 15), PageUp: () => to(active - 15), Home: () => to(0), End: () => to(listing.length - 1),
    ArrowRight: () => (slot?.type === "group" ? (slot.isOpen ? to(active + 1) : toggle(slot.group)) : slot?.row && openRow(page, slot.row)),
    ArrowLeft: () => (slot?.type === "group" ? slot.isOpen && toggle(slot.group) : to(groupOf(listing, active))),
    Enter: () => (slot?.type === "group" ? toggle(slot.group) : slot?.row && openRow(page, slot.row)),
    " ": () => (slot?.type === "group" ? toggle(slot.group) : slot?.row && openRow(page, slot.row)),
  };
  const step = steps[event.key];
  if (!step) return;
  event.preventDefault();
  event.stopPropagation();
  step();
};

const groupOf = (listing: Model["listing"], index: number): number => {
  let at = index;
  while (at > 0 && listing.slot(at).type !== "group") at -= 1;
  return at;
};

const Axis = ({ marks, width, gesture }: { marks: { at: number; label: string; major: boolean }[]; width: number; gesture: Gesture }): JSX.Element => {
  const { span, cursorMs, state } = usePage();
  const box = useRef<HTMLDivElement>(null);
  const inSight = cursorMs !== null && cursorMs >= span.from && cursorMs <= span.to;
  return (
    <div class="axis" ref={box} aria-hidden="true" onPointerDown={(event) => press(event, { ...gesture, box: () => box.current!.getBoundingClientRect() })}>
      {marks.map(({ at, label, major }) => <span key={at} class={major ? "major" : ""} style={{ left: `${x(span, width, at)}px` }}>{label}</span>)}
      {inSight && <b class="flag" style={{ left: `${Math.min(Math.max(x(span, width, cursorMs), 30), width - 34)}px` }}>{clock(cursorMs, state.zone)}</b>}
    </div>
  );
};

interface NameProps {
  slot: Slot;
  number: number;
  top: number;
  model: Model;
  isActive: boolean;
  activate: () => void;
}

const Name = (props: NameProps): JSX.Element => {
  const { slot, number, top, isActive } = props;
  const place = { top: `${top}px` };
  const active = isActive ? " active" : "";
  if (slot.type === "group") return <GroupName {...props} slot={slot} />;
  if (!slot.row) return <div class={`row${active}`} id={`row-${number}`} role="treeitem" aria-level={2} aria-selected={false} style={place}><div class="name faint">Reading…</div></div>;
  return <ObjectName {...props} row={slot.row} />;
};

const GroupName = ({ slot: { group, isOpen }, number, top, model, isActive, activate }: NameProps & { slot: Extract<Slot, { type: "group" }> }): JSX.Element => (
  <div class={`row group${isActive ? " active" : ""}`} id={`row-${number}`} role="treeitem" aria-level={1} aria-expanded={isOpen} aria-selected={false} style={{ top: `${top}px` }}>
    <div class="name" title={`${line(group.title)}: ${count(group.changes, "change")}`} onPointerDown={(event) => event.stopPropagation()} onClick={() => { activate(); model.toggle(group); }}>
      <span class="twist" aria-hidden="true">{isOpen ? "▾" : "▸"}</span>
      {group.tone && <Tone tone={group.tone} />}
      <span class="text cut">{line(group.title)}</span>
      <span class="many">{group.rows.toLocaleString("en")}<span class="sr"> objects, {count(group.changes, "change")}</span></span>
    </div>
  </div>
);

const ObjectName = ({ row, number, top, isActive, activate }: NameProps & { row: Row }): JSX.Element => {
  const page = usePage();
  const { state, cursorMs } = page;
  const gone = row.end !== null && cursorMs !== null && row.end <= cursorMs;
  const later = row.begin !== null && cursorMs !== null && row.begin > cursorMs;
  const selected = isObject(row, state.object, state.uid);
  const said = gone ? "deleted" : later ? "not there yet" : line(row.now?.label ?? "");
  return (
    <div class={`row${gone ? " gone" : later ? " later" : ""}${isActive ? " active" : ""}`} id={`row-${number}`} role="treeitem" aria-level={2 + row.depth} aria-selected={selected} style={{ top: `${top}px` }}>
      <div class="name" title={`${named(row)}${said ? `, ${said}` : ""}`} style={{ paddingLeft: `${24 + Math.min(row.depth, 6) * 12}px` }} onPointerDown={(event) => event.stopPropagation()} onClick={() => { activate(); openRow(page, row); }}>
        <Tone tone={gone || later ? "neutral" : row.now?.tone} />
        <span class="kind cut">{line(row.kind)}</span>
        <span class="text cut">{line(state.group === "namespace" || !row.namespace ? row.name : `${row.namespace}/${row.name}`)}</span>
        <span class="sr">{said ? ` ${said},` : ""} {count(row.changes, "change")}</span>
      </div>
    </div>
  );
};

/** What is under the pointer, said next to it. */
const useHint = (page: Context, { listing }: Model, slotAt: (event: { clientY: number }) => number, left: () => number, width: number): { element: JSX.Element | null; move: (event: PointerEvent) => void; leave: () => void } => {
  const [hint, setHint] = useState<{ x: number; y: number; text: string } | null>(null);
  const { span, state } = page;
  const wordsAt = (event: PointerEvent): string => {
    const index = slotAt(event);
    const px = event.clientX - left();
    if (px < 0 || index >= listing.length) return "";
    const slot = listing.slot(index);
    if (slot.type !== "row" || !slot.row) return "";
    const row = slot.row;
    const tick = tickAt(row, span, width, px);
    if (tick) return `${full(tick[0], state.zone)}  r${tick[3]}\n${line(tick[2])}${tick[4] > 1 ? `\nand ${count(tick[4] - 1, "change")} more` : ""}`;
    const event_ = row.events.find(([at]) => Math.abs(x(span, width, at) - px) < 5);
    if (event_) return `${full(event_[0], state.zone)}\n${line(event_[1])}${event_[3] > 1 ? ` ×${event_[3]}` : ""}`;
    const at = moment(span, width, px);
    const bar = row.bars.findLast(([from, to]) => (from ?? row.begin ?? -Infinity) <= at && (to ?? row.end ?? Infinity) > at);
    return bar ? line(bar[3]) : "";
  };
  const move = (event: PointerEvent): void => {
    if (event.pointerType === "touch" || event.buttons !== 0) return setHint(null);
    const text = wordsAt(event);
    setHint(text ? { x: event.clientX, y: event.clientY, text } : null);
  };
  const element = hint && <div class="hint" aria-hidden="true" style={{ left: `${Math.min(hint.x + 12, innerWidth - 260)}px`, top: `${hint.y + 16 > innerHeight - 60 ? hint.y - 56 : hint.y + 16}px` }}>{hint.text}</div>;
  return { element, move, leave: () => setHint(null) };
};
