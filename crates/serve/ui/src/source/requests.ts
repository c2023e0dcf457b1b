// What pods request of a node's resources, out of their specs: as the scheduler counts it (pkg/api resource helpers, PodRequests).
import { at as fieldAt } from "../patch";
import type { Json } from "../yaml";

const UNITS: { [suffix: string]: number } = { n: 1e-9, u: 1e-6, m: 1e-3, "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 };

/** A quantity as a number; null where it is none. */
export const amount = (text: Json | undefined): number | null => {
  const found = String(text ?? "").match(/^([+-]?[0-9.]+(?:[eE][+-]?\d+)?)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$/);
  const number = found ? Number(found[1]) * UNITS[found[2] ?? ""]! : NaN;
  return Number.isNaN(number) ? null : number;
};

/** A sum as a quantity: thousandths of a core, or the largest unit of bytes that it has a whole number of. */
export const quantity = (resource: string, sum: number): string => {
  if (resource === "cpu") return Number.isInteger(sum) ? String(sum) : `${Math.round(sum * 1000)}m`;
  for (const suffix of ["Gi", "Mi", "Ki"]) if (sum >= UNITS[suffix]! && sum % UNITS[suffix]! === 0) return `${sum / UNITS[suffix]!}${suffix}`;
  return String(Math.round(sum));
};

type Sums = Map<string, number>;

const requestsOf = (container: Json): Sums => {
  const requests = container === null ? undefined : fieldAt(container, "/resources/requests");
  const sums: Sums = new Map();
  if (requests !== null && typeof requests === "object" && !Array.isArray(requests)) for (const [name, text] of Object.entries(requests)) sums.set(name, amount(text) ?? 0);
  return sums;
};

const add = (sums: Sums, more: Sums): void => more.forEach((value, name) => sums.set(name, (sums.get(name) ?? 0) + value));

/** What a pod requests. */
export const podRequests = (pod: Json): Sums => {
  const list = (path: string): Json[] => {
    const value = pod === null ? undefined : fieldAt(pod, path);
    return Array.isArray(value) ? value : [];
  };
  const sums: Sums = new Map();
  list("/spec/containers").forEach((container) => add(sums, requestsOf(container)));
  // Containers that go on while the others run count with them; each other one runs alone, before those.
  const sidecars: Sums = new Map();
  const first: Sums = new Map();
  for (const container of list("/spec/initContainers")) {
    const goesOn = container !== null && fieldAt(container, "/restartPolicy") === "Always";
    const now = requestsOf(container);
    if (goesOn) add(sidecars, now);
    const then: Sums = new Map(sidecars);
    if (!goesOn) add(then, now);
    then.forEach((value, name) => first.set(name, Math.max(first.get(name) ?? 0, value)));
  }
  add(sums, sidecars);
  first.forEach((value, name) => sums.set(name, Math.max(sums.get(name) ?? 0, value)));
  const overhead = pod === null ? undefined : fieldAt(pod, "/spec/overhead");
  if (overhead !== null && typeof overhead === "object" && !Array.isArray(overhead)) add(sums, new Map(Object.entries(overhead).map(([name, text]) => [name, amount(text) ?? 0])));
  return sums;
};
