// Bars of states, ticks of changes and dots of Events of the rows in sight, on one canvas.
import { type Span, x } from "../scale";
import type { Row, Tick } from "../source/contract";
import { line } from "../text";
import { TONES, type Tone, toneOf } from "../tones";

/** A row as it is shown. */
export type Shown = { type: "group"; ticks: readonly number[] } | { type: "object"; row: Row } | { type: "waiting" };

/** The colours of the theme, read from the page's variables. */
export interface Colours {
  fill: Record<Tone, string>;
  text: Record<Tone, string>;
  line: string;
  mark: string;
  faint: string;
  plus: string;
  minus: string;
  gap: string;
  cursor: string;
  surface: string;
  density: string;
  densityBad: string;
  accent: string;
  veil: string;
}

export const colours = (): Colours => {
  const style = getComputedStyle(document.documentElement);
  const get = (name: string): string => style.getPropertyValue(name).trim();
  const tones = (suffix: string): Record<Tone, string> => Object.fromEntries(TONES.map((tone) => [tone, get(`--${tone}${suffix}`)])) as Record<Tone, string>;
  return {
    fill: tones(""), text: tones("-text"), line: get("--line"), mark: get("--mark"), faint: get("--faint"), plus: get("--plus"), minus: get("--minus"), gap: get("--gap"),
    cursor: get("--cursor"), surface: get("--surface"), density: get("--density"), densityBad: get("--density-bad"), accent: get("--accent"), veil: get("--veil"),
  };
};

/** Gives `canvas` the size of `width` × `height` CSS pixels at the screen's density, empty. */
export const prepared = (canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D => {
  const density = window.devicePixelRatio || 1;
  const pixels = [Math.max(1, Math.round(width * density)), Math.max(1, Math.round(height * density))] as const;
  if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) [canvas.width, canvas.height] = pixels;
  if (canvas.style.width !== `${width}px`) canvas.style.width = `${width}px`;
  if (canvas.style.height !== `${height}px`) canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d")!;
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
};

/** What the rows are drawn on and with. */
export interface Sheet {
  context: CanvasRenderingContext2D;
  colours: Colours;
  span: Span;
  width: number;
  height: number;
  /** How tall a row is. */
  row: number;
}

/** Diagonal lines where nothing is known. */
export const hatch = (context: CanvasRenderingContext2D, colour: string, from: number, top: number, to: number, height: number, most: number): void => {
  const left = Math.max(from, -8);
  const right = Math.min(to, most + 8);
  if (right - left < 1) return;
  context.save();
  context.beginPath();
  context.rect(left, top, right - left, height);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = Math.floor((left - height) / 6) * 6; at < right; at += 6) {
    context.moveTo(at, top + height);
    context.lineTo(at + height, top);
  }
  context.stroke();
  context.restore();
};

/** A stretch of time that is drawn over all rows. */
export interface Stretch {
  from: number;
  to: number;
}

/** Draws `rows`, the first at `offset` pixels. */
export const draw = (sheet: Sheet, rows: readonly Shown[], offset: number, gaps: readonly Stretch[], marks: readonly number[], cursor: number | null): void => {
  const { context, colours, span, width, height, row } = sheet;
  upright(sheet, marks, colours.line);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  rows.forEach((shown, index) => {
    const top = offset + index * row;
    if (shown.type === "object") drawObject(sheet, shown.row, top);
    else if (shown.type === "group") drawGroup(sheet, shown.ticks, top);
  });
  for (const gap of gaps) {
    const left = x(span, width, gap.from);
    const right = Math.max(x(span, width, gap.to), left + 2);
    if (right < 0 || left > width) continue;
    context.fillStyle = colours.veil;
    context.fillRect(left, 0, right - left, height);
    hatch(context, colours.gap, left, 0, right, height, width);
  }
  if (cursor !== null) upright(sheet, [cursor], colours.cursor);
};

const upright = ({ context, span, width, height }: Sheet, moments: readonly number[], colour: string): void => {
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  for (const at of moments) {
    const px = Math.round(x(span, width, at)) + 0.5;
    if (px < -1 || px > width + 1) continue;
    context.moveTo(px, 0);
    context.lineTo(px, height);
  }
  context.stroke();
};

const drawObject = (sheet: Sheet, row: Row, top: number): void => {
  const { context, colours, span, width } = sheet;
  const height = sheet.row - 8;
  const begin = row.begin ?? span.from;
  const known = Math.max(row.readable ?? begin, begin);
  hatch(context, colours.gap, x(span, width, begin), top + 4, x(span, width, known), height, width);
  for (const [from, to, tone, label] of row.bars) bar(sheet, toneOf(tone), label, Math.max(from ?? known, known), to ?? row.end ?? span.to + 1, top + 4, height);
  if (row.vanished && row.end !== null) hatch(context, colours.minus, x(span, width, row.end) - 7, top + 4, x(span, width, row.end), height, width);
  drawTicks(sheet, row.ticks, top);
  for (const [at, , warning] of row.events) {
    const px = x(span, width, at);
    if (px < -4 || px > width + 4) continue;
    context.beginPath();
    context.arc(px, top + sheet.row - 5, warning ? 3 : 2.25, 0, Math.PI * 2);
    context.fillStyle = warning ? colours.fill.bad : colours.surface;
    context.strokeStyle = warning ? colours.surface : colours.faint;
    context.lineWidth = 1;
    context.fill();
    context.stroke();
  }
};

const drawTicks = ({ context, colours, span, width, row }: Sheet, ticks: readonly Tick[], top: number): void => {
  let last = -10;
  for (const [at, type] of ticks) {
    const px = Math.round(x(span, width, at));
    const ends = type !== "~";
    if (px < -2 || px > width + 2 || (!ends && px - last < 2)) continue;
    last = px;
    context.fillStyle = type === "+" ? colours.plus : type === "-" ? colours.minus : colours.mark;
    context.globalAlpha = ends ? 1 : 0.6;
    if (ends) context.fillRect(px - 1, top + 2, 2.5, row - 4);
    else context.fillRect(px, top + 1.5, 1.5, 6);
  }
  context.globalAlpha = 1;
};

const bar = (sheet: Sheet, tone: Tone, label: string, from: number, to: number, top: number, height: number): void => {
  const { context, colours, span, width } = sheet;
  const left = Math.max(x(span, width, from), -4);
  const right = Math.min(x(span, width, to), width + 4);
  if (right < -3 || left > width + 3 || right < left) return;
  const size = Math.max(right - left - 1, 1.5);
  const thin = tone === "neutral";
  context.fillStyle = colours.fill[tone];
  context.beginPath();
  context.roundRect(left, thin ? top + 4 : top, size, thin ? height - 8 : height, 2.5);
  context.fill();
  if (thin || size < 34 || !label) return;
  const start = Math.max(left, 0) + 5;
  const text = fitting(line(label), Math.min(right, width) - start - 4);
  if (!text) return;
  context.fillStyle = colours.text[tone];
  context.fillText(text, start, top + height / 2 + 0.5);
};

/** About how wide a character of a bar's label is, in pixels. */
const CHARACTER_PX = 6;

/** As much of `label` as has room; nothing where that says nothing. */
const fitting = (label: string, room: number): string => {
  const most = Math.floor(room / CHARACTER_PX);
  if (label.length <= most) return label;
  return most < 5 ? "" : `${label.slice(0, most - 1)}…`;
};

/** How wide a column of a group's density is, in pixels. */
const COLUMN_PX = 3;

const drawGroup = ({ context, colours, span, width, row }: Sheet, ticks: readonly number[], top: number): void => {
  const columns = new Map<number, number>();
  let most = 1;
  for (const at of ticks) {
    const column = Math.floor(x(span, width, at) / COLUMN_PX);
    const count = (columns.get(column) ?? 0) + 1;
    columns.set(column, count);
    if (count > most) most = count;
  }
  context.fillStyle = colours.density;
  for (const [column, count] of columns) {
    const size = 2 + (Math.log1p(count) / Math.log1p(most)) * (row - 11);
    context.fillRect(column * COLUMN_PX, top + row - 3 - size, COLUMN_PX - 0.75, size);
  }
};

/** The tick nearest to a pixel, at most a few away. */
export const tickAt = (row: Row, span: Span, width: number, px: number): Tick | null => {
  let best: Tick | null = null;
  let distance = 6;
  for (const tick of row.ticks) {
    const away = Math.abs(x(span, width, tick[0]) - px);
    if (away < distance) [best, distance] = [tick, away];
  }
  return best;
};
