// The value of an object at one of its versions.
import { apply } from "../patch";
import type { Json } from "../yaml";
import type { Moment, Version } from "./contract";

/** The value of a version: the last whole one up to it, patched. */
export const valueAt = (versions: readonly Version[], index: number): Json => {
  let first = index;
  while (first > 0 && versions[first]!.object === undefined) first -= 1;
  let value = versions[first]?.object ?? null;
  for (const { patch } of versions.slice(first + 1, index + 1)) if (patch) value = apply(value, patch);
  return value;
};

/** A moment, and whether it was named by its time. */
export type When = Moment & { isTime: boolean };

/** Which version was there at a moment; -1 before the first. One that nothing dates counts as early. */
export const versionAt = (versions: readonly Version[], { revision, ms, isTime }: When): number =>
  versions.findLastIndex((version) => (isTime ? (version.ms ?? -Infinity) <= ms! : version.revision <= revision));
