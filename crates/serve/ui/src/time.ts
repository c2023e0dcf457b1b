// Moments and durations: milliseconds since 1970 to text and back, and where an axis has its marks.

/** Which clock moments are shown by. */
export type Zone = "utc" | "local";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Distances between marks of an axis. */
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 91 * DAY, 364 * DAY];

const two = (number: number): string => String(number).padStart(2, "0");

interface Parts {
  day: string;
  clock: string;
  milliseconds: string;
}

const parts = (ms: number, zone: Zone): Parts => {
  const date = new Date(zone === "utc" ? ms : ms - new Date(ms).getTimezoneOffset() * MINUTE);
  if (Number.isNaN(date.getTime())) return { day: "?", clock: "?", milliseconds: "" };
  return {
    day: `${date.getUTCFullYear()}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())}`,
    clock: `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`,
    milliseconds: String(date.getUTCMilliseconds()).padStart(3, "0"),
  };
};

/** `22:16:12`. */
export const clock = (ms: number, zone: Zone): string => parts(ms, zone).clock;

/** `2026-11-20`. */
export const day = (ms: number, zone: Zone): string => parts(ms, zone).day;

/** `2026-11-20 22:16:12.876`. */
export const full = (ms: number, zone: Zone): string => {
  const { day, clock, milliseconds } = parts(ms, zone);
  return `${day} ${clock}.${milliseconds}`;
};

/** `2026-11-20T22:16:12.876Z`, as flags take it. */
export const rfc3339 = (ms: number): string => new Date(ms).toISOString();

/** Milliseconds of an RFC 3339 time; null where there is none. */
export const parse = (time: string | null | undefined): number | null => {
  if (!time) return null;
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? null : ms;
};

/** The moment that a text names: `22:16:12` on the day of another moment, a date with a time, or RFC 3339; null where it is none. */
export const momentIn = (text: string, near: number, zone: Zone): number | null => {
  const found = text.trim().match(/^(?:(\d{4}-\d{2}-\d{2})[T ])?(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d{1,3})?))?(Z|[+-]\d{2}:\d{2})?$/i);
  if (!found) return null;
  const [, date, hour, minute, second, offset] = found;
  const ms = Date.parse(`${date ?? day(near, zone)}T${hour!.padStart(2, "0")}:${minute}:${second ?? "00"}${offset?.toUpperCase() ?? "Z"}`);
  if (Number.isNaN(ms)) return null;
  return offset || zone === "utc" ? ms : ms + new Date(ms).getTimezoneOffset() * MINUTE;
};

/** `UTC`, or the local zone's distance from it. */
export const zoneName = (zone: Zone, ms: number): string => {
  if (zone === "utc") return "UTC";
  const minutes = -new Date(ms).getTimezoneOffset();
  const size = Math.abs(minutes);
  return `UTC${minutes < 0 ? "−" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
};

/** `4.1 s`, `6 min`, `2 h 5 min`. */
export const lasting = (ms: number): string => {
  const size = Math.abs(ms);
  if (size < SECOND) return `${Math.round(size)} ms`;
  if (size < 10 * SECOND) return `${(size / SECOND).toFixed(1)} s`;
  if (size < MINUTE) return `${Math.round(size / SECOND)} s`;
  const [large, small, names] = size < HOUR ? [MINUTE, SECOND, ["min", "s"]] : size < DAY ? [HOUR, MINUTE, ["h", "min"]] : [DAY, HOUR, ["d", "h"]];
  const whole = Math.floor(size / (large as number));
  const rest = Math.round((size - whole * (large as number)) / (small as number));
  return rest > 0 && whole < 10 ? `${whole} ${names[0]} ${rest} ${names[1]}` : `${whole} ${names[0]}`;
};

/** A mark of an axis. */
export interface Mark {
  at: number;
  label: string;
  /** Whether it begins a day. */
  major: boolean;
}

/** The marks of an axis from `from` to `to` with room for `most` labels. */
export const marks = (from: number, to: number, most: number, zone: Zone): Mark[] => {
  const rough = (to - from) / Math.max(most, 1);
  const step = STEPS.find((step) => step >= rough) ?? Math.ceil(rough / (364 * DAY)) * 364 * DAY;
  const shift = zone === "utc" ? 0 : new Date(from).getTimezoneOffset() * MINUTE;
  const found: Mark[] = [];
  for (let at = Math.ceil((from - shift) / step) * step + shift; at <= to; at += step) {
    const { day, clock, milliseconds } = parts(at, zone);
    const midnight = clock === "00:00:00" && milliseconds === "000";
    const label = step >= DAY || midnight ? day.slice(5) : step >= MINUTE ? clock.slice(0, 5) : step >= SECOND ? clock : `${clock}.${milliseconds}`;
    found.push({ at, label, major: midnight });
  }
  return found;
};
