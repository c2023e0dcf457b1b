// Versions of an object from its first one and JSON patches (RFC 6902). Names are data: `__proto__` is a member like any other.
import type { Json } from "./yaml";

/** One operation of a patch. */
export interface Operation {
  op: "add" | "remove" | "replace" | "move" | "copy" | "test";
  path: string;
  from?: string;
  value?: Json;
}

type Holder = { [name: string]: Json } | Json[];

const tokens = (path: string): string[] => path.split("/").slice(1).map((token) => token.replace(/~1/g, "/").replace(/~0/g, "~"));
const own = (value: Json | undefined, token: string): Json | undefined =>
  value !== null && typeof value === "object" && Object.hasOwn(value, token) ? (value as { [name: string]: Json })[token] : undefined;
const put = (holder: Holder, name: string, value: Json): void => {
  Object.defineProperty(holder, name, { value, writable: true, enumerable: true, configurable: true });
};

/** What `path` names in `value`. */
export const at = (value: Json, path: string): Json | undefined => tokens(path).reduce<Json | undefined>(own, value);

/** A copy of `value` with `patch` applied; operations that do not fit are left out. */
export const apply = (value: Json, patch: readonly Operation[]): Json => {
  let result = copy(value);
  for (const { op, path, value: next, from } of patch) {
    const names = tokens(path);
    const last = names.pop();
    const given = op === "move" || op === "copy" ? copy(at(result, from ?? "") ?? null) : copy(next ?? null);
    if (op === "move" && from !== undefined) result = apply(result, [{ op: "remove", path: from }]);
    if (last === undefined) {
      if (op !== "remove" && op !== "test") result = given;
      continue;
    }
    const holder = names.reduce<Json | undefined>(own, result);
    if (holder === null || typeof holder !== "object") continue;
    set(holder as Holder, last, op, given);
  }
  return result;
};

const set = (holder: Holder, name: string, op: Operation["op"], value: Json): void => {
  if (op === "test") return;
  if (!Array.isArray(holder)) {
    if (op === "remove") delete holder[name];
    else put(holder, name, value);
    return;
  }
  const index = name === "-" ? holder.length : Number(name);
  if (!Number.isInteger(index)) return;
  if (op === "remove") holder.splice(index, 1);
  else if (op === "replace") holder[index] = value;
  else holder.splice(index, 0, value);
};

/** A deep copy that keeps members called `__proto__`. */
export const copy = (value: Json): Json => {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(copy);
  const result: { [name: string]: Json } = {};
  for (const name of Object.keys(value)) put(result, name, copy(value[name] as Json));
  return result;
};
