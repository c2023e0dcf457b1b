// One gesture over every axis: a click sets the cursor, a drag zooms, with shift or a finger it moves; the wheel with ctrl zooms, sideways it moves.
import { moment, moved, type Span, within, zoomed } from "./scale";

/** How far a pointer moves before it drags, in pixels. */
const DRAG_PX = 4;

export interface Gesture {
  span: Span;
  whole: Span;
  /** The element whose width is the span's. */
  box: () => DOMRect;
  /** A click: where, and the event. */
  pick(at: number, event: PointerEvent): void;
  /** The stretch that is being chosen; null when that ends. */
  choosing(stretch: Span | null): void;
  look(span: Span): void;
}

/** Begins what a pointer does that was pressed. */
export const press = (event: PointerEvent, { span, whole, box, pick, choosing, look }: Gesture): void => {
  if (event.button !== 0) return;
  const target = event.currentTarget as HTMLElement;
  const { left, width } = box();
  const from = event.clientX - left;
  if (from < 0 || from > width) return;
  const moves = event.shiftKey || event.pointerType === "touch";
  let dragged = false;
  const place = (px: number): number => moment(span, width, Math.min(Math.max(px, 0), width));
  const stretch = (px: number): Span => {
    const [a, b] = [place(from), place(px)];
    return { from: Math.min(a, b), to: Math.max(a, b) };
  };
  const move = (next: PointerEvent): void => {
    const px = next.clientX - left;
    if (!dragged && Math.abs(px - from) < DRAG_PX) return;
    if (!dragged) target.setPointerCapture(next.pointerId);
    dragged = true;
    if (moves) look(within(moved(span, (from - px) / Math.max(width, 1)), whole));
    else choosing(stretch(px));
  };
  const end = (next: PointerEvent): void => {
    target.removeEventListener("pointermove", move);
    target.removeEventListener("pointerup", end);
    target.removeEventListener("pointercancel", end);
    choosing(null);
    if (next.type === "pointercancel") return;
    if (!dragged) pick(place(from), next);
    else if (!moves) look(within(stretch(next.clientX - left), whole));
  };
  target.addEventListener("pointermove", move);
  target.addEventListener("pointerup", end);
  target.addEventListener("pointercancel", end);
};

/** What the wheel does: whether it was for the axis. */
export const turn = (event: WheelEvent, { span, whole, box, look }: Gesture): boolean => {
  const { left, width } = box();
  if (event.ctrlKey || event.metaKey) {
    look(within(zoomed(span, Math.exp(Math.sign(event.deltaY) * 0.25), moment(span, width, event.clientX - left)), whole));
  } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    look(within(moved(span, (event.deltaX || event.deltaY) / Math.max(width, 1)), whole));
  } else {
    return false;
  }
  event.preventDefault();
  return true;
};
