// The way between moments and pixels of an axis.

/** A stretch of time. */
export interface Span {
  from: number;
  to: number;
}

export const x = (span: Span, width: number, at: number): number => ((at - span.from) / (span.to - span.from)) * width;

export const moment = (span: Span, width: number, px: number): number => span.from + (px / Math.max(width, 1)) * (span.to - span.from);

/** The shortest stretch that can be looked at, in milliseconds. */
const SHORTEST_MS = 20;

/** `span` held inside `whole`. */
export const within = (span: Span, whole: Span): Span => {
  const length = Math.min(Math.max(span.to - span.from, SHORTEST_MS), Math.max(whole.to - whole.from, SHORTEST_MS));
  const from = Math.min(Math.max(span.from, whole.from), whole.to - length);
  return { from, to: from + length };
};

/** `span` made `factor` times as long around `at`. */
export const zoomed = (span: Span, factor: number, at: number): Span => ({ from: at - (at - span.from) * factor, to: at + (span.to - at) * factor });

/** `span` moved by a part of its length. */
export const moved = (span: Span, part: number): Span => {
  const by = (span.to - span.from) * part;
  return { from: span.from + by, to: span.to + by };
};
