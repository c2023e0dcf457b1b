// Which rows there are: groups, and the rows of those that are open, read a page at a time when they come in sight.
import { useEffect, useRef, useState } from "preact/hooks";
import { stretchOf, useAnswer, usePage, useSettled, type Context } from "../context";
import type { Group, Row, Rows } from "../source/contract";
import { isObject } from "../source/file";
import type { Asked, Failure, RowsQuery } from "../source/source";

/** Rows that are asked for at once. */
const PAGE_ROWS = 200;
/** Up to how many rows come without opening groups. */
const MAX_ROWS = 500;
/** How long movements of the axis may go on before rows are asked for, in milliseconds. */
const STILL_MS = 140;

/** A place in the list. */
export type Slot = { type: "group"; group: Group; isOpen: boolean } | { type: "row"; group: Group; index: number; row: Row | null };

/** The list as a whole: slots are made only for what is in sight. */
export interface Listing {
  length: number;
  slot(index: number): Slot;
  /** Where a row of an object is; -1 where it is not loaded. */
  find(address: string, uid: string | null): number;
  /** Where a row of a group is, loaded or not; -1 where the group is shut. */
  at(group: string, index: number): number;
  /** The loaded rows of a group. */
  members(group: Group): readonly (Row | undefined)[];
}

export interface Model {
  listing: Listing;
  answer: Rows | null;
  failure: Failure | null;
  busy: boolean;
  /** Asks for the rows between two slots that are not there yet. */
  want(first: number, last: number): void;
  toggle(group: Group): void;
  /** Opens all groups, or shuts them. */
  all(open: boolean): void;
}

interface PageHeld {
  key: string;
  rows: Row[];
}

const queryOf = ({ state, at, window }: Context, stretch: { from: number | null; to: number | null }, width: number, asked: Asked | null): RowsQuery => ({
  ...stretchOf(stretch, window), at, group: state.group, buckets: Math.min(Math.max(Math.ceil(width / 200) * 200, 200), 4000), filters: { ...state.filters }, quiet: state.quiet, deleted: state.deleted, object: asked?.object ?? null, uid: asked?.uid ?? null,
});

export const useRows = (width: number): Model => {
  const page = usePage();
  const { source, state, window, go } = page;
  const seen = useSettled({ from: state.from, to: state.to }, STILL_MS);
  const [asked, ask] = useState<Asked | null>(state.object === null ? null : { object: state.object, uid: state.uid });
  const query = queryOf(page, seen, width, asked);
  const key = JSON.stringify([query, window.last.revision]);
  const answer = useAnswer(width > 0 ? () => source.rows({ ...query, limit: MAX_ROWS }) : null, [key], [state.group]);
  const pages = useRef(new Map<string, PageHeld>()).current;
  const wanted = useRef(new Set<string>()).current;
  const [, again] = useState(0);
  const opened = useRef<Asked | null>(null);
  const looked = useRef("");
  const { value } = answer;
  const listing = listingOf(value, state.in, (group, number) => pages.get(`${group} ${number}`)?.rows);
  const toggle = (group: Group): void => {
    const open = isOpen(group, value, state.in);
    const usual = opensItself(value);
    const others = state.in.filter((id) => id !== group.id && id !== `-${group.id}`);
    go({ in: open === usual ? [...others, open ? `-${group.id}` : group.id] : others });
  };
  useEffect(() => {
    if (value === null || answer.busy) return;
    const isNew = looked.current !== `${state.object} ${state.uid}`;
    looked.current = `${state.object} ${state.uid}`;
    if (state.object === null) return;
    if (isAsked(asked, state)) {
      // The group of an object that was looked for opens, once.
      const { found } = value;
      const group = found && value.groups.find(({ id }) => id === found.group);
      if (group && opened.current !== asked && !isOpen(group, value, state.in)) toggle(group);
      opened.current = asked;
    } else if (isNew && listing.find(state.object, state.uid) < 0) ask({ object: state.object, uid: state.uid });
  });
  return {
    listing,
    answer: value,
    failure: answer.failure,
    busy: answer.busy,
    want: (first, last) => {
      if (!value || comesWhole(value) || answer.busy) return;
      const names = new Set<string>();
      for (let index = Math.max(first, 0); index < Math.min(last, listing.length); index += 1) {
        const slot = listing.slot(index);
        if (slot.type === "row") names.add(`${slot.group.id} ${Math.floor(slot.index / PAGE_ROWS)}`);
      }
      for (const name of names) {
        if (pages.get(name)?.key === key || wanted.has(`${name} ${key}`)) continue;
        wanted.add(`${name} ${key}`);
        const at = name.lastIndexOf(" ");
        const number = Number(name.slice(at + 1));
        source.rows({ ...query, in: name.slice(0, at), offset: number * PAGE_ROWS, limit: PAGE_ROWS }).then(
          ({ rows }) => { pages.set(name, { key, rows }); again((n) => n + 1); },
          () => wanted.delete(`${name} ${key}`),
        );
      }
    },
    toggle,
    all: (open) => {
      const usual = opensItself(value);
      go({ in: open === usual ? [] : (value?.groups ?? []).slice(0, 50).map(({ id }) => (open ? id : `-${id}`)) });
    },
  };
};

const isAsked = (asked: Asked | null, { object, uid }: Context["state"]): boolean => asked !== null && asked.object === object && asked.uid === uid;

/** Whether all rows came with the first answer. */
const comesWhole = (value: Rows): boolean => value.rows.length > 0 || value.total === 0;
const opensItself = (value: Rows | null): boolean => value !== null && (comesWhole(value) || value.groups.length === 1);
const isOpen = (group: Group, value: Rows | null, chosen: readonly string[]): boolean => (chosen.includes(group.id) ? true : chosen.includes(`-${group.id}`) ? false : opensItself(value));

const listingOf = (value: Rows | null, chosen: readonly string[], paged: (group: string, number: number) => Row[] | undefined): Listing => {
  const groups = value?.groups ?? [];
  const whole = new Map<string, Row[]>();
  if (value && comesWhole(value)) for (const row of value.rows) (whole.get(row.group) ?? whole.set(row.group, []).get(row.group)!).push(row);
  const starts: number[] = [];
  const opened: boolean[] = [];
  let length = 0;
  for (const group of groups) {
    starts.push(length);
    const open = isOpen(group, value, chosen);
    opened.push(open);
    length += 1 + (open ? sizeOf(group, whole) : 0);
  }
  const rowOf = (group: Group, index: number): Row | null => whole.get(group.id)?.[index] ?? paged(group.id, Math.floor(index / PAGE_ROWS))?.[index % PAGE_ROWS] ?? null;
  return {
    length,
    slot: (index) => {
      let low = 0;
      for (let high = starts.length - 1; low < high; ) {
        const middle = Math.ceil((low + high) / 2);
        if (starts[middle]! <= index) low = middle;
        else high = middle - 1;
      }
      const group = groups[low]!;
      const inside = index - starts[low]! - 1;
      return inside < 0 ? { type: "group", group, isOpen: opened[low]! } : { type: "row", group, index: inside, row: rowOf(group, inside) };
    },
    find: (address, uid) => {
      for (const [number, group] of groups.entries()) {
        if (!opened[number]) continue;
        const size = sizeOf(group, whole);
        for (let index = 0; index < size; index += 1) {
          const row = rowOf(group, index);
          if (row === null) index += PAGE_ROWS - (index % PAGE_ROWS) - 1;
          else if (isObject(row, address, uid)) return starts[number]! + 1 + index;
        }
      }
      return -1;
    },
    at: (id, index) => {
      const number = groups.findIndex((group) => group.id === id);
      return number >= 0 && opened[number] ? starts[number]! + 1 + index : -1;
    },
    members: (group) => whole.get(group.id) ?? paged(group.id, 0) ?? [],
  };
};

const sizeOf = (group: Group, whole: ReadonlyMap<string, Row[]>): number => whole.get(group.id)?.length ?? group.rows;
