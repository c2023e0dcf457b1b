// What filters look for in an object of a report beyond its row: labels, images, authors and messages, out of its versions and Events.
import { at as fieldAt } from "../patch";
import type { Json } from "../yaml";
import type { Details } from "./contract";
import { valueAt } from "./versions";

export interface Facts {
  /** Of the last version that is there. */
  labels: { [name: string]: string };
  images: string[];
  authors: string[];
  messages: string[];
}

const texts = (list: Json | undefined, field: string): string[] => {
  const found = (Array.isArray(list) ? list : []).map((item) => (item !== null && typeof item === "object" && !Array.isArray(item) ? item[field] : undefined));
  return found.filter((text): text is string => typeof text === "string");
};

/** Where pods and what makes them have their containers. */
const PODS = ["/spec", "/spec/template/spec", "/spec/jobTemplate/spec/template/spec"];
const CONTAINERS = ["containers", "initContainers", "ephemeralContainers"];

export const factsOf = ({ history: { versions }, events }: Details): Facts => {
  const last = versions.findLastIndex(({ type }) => type !== "DELETED");
  const object = last < 0 ? null : valueAt(versions, last);
  const field = (path: string): Json | undefined => (object === null ? undefined : fieldAt(object, path));
  const labels = field("/metadata/labels");
  return {
    labels: labels !== null && typeof labels === "object" && !Array.isArray(labels) ? Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, String(value)])) : {},
    images: PODS.flatMap((pod) => CONTAINERS.flatMap((list) => texts(field(`${pod}/${list}`), "image"))),
    authors: versions.flatMap(({ by, request }) => [by, request]).filter((text): text is string => text !== null),
    messages: [...events.map(({ message }) => message), ...texts(field("/status/conditions"), "message")],
  };
};

/** One requirement of a selector: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`; null where it is none. */
const requirement = (text: string): ((labels: Facts["labels"]) => boolean) | null => {
  const has = (labels: Facts["labels"], name: string): boolean => Object.hasOwn(labels, name);
  const set = text.match(/^([^\s=!,()]+)\s+(in|notin)\s*\(([^()]*)\)$/);
  if (set) {
    const [, name = "", operator, list = ""] = set;
    const values = list.split(",").map((value) => value.trim());
    return (labels) => (has(labels, name) && values.includes(labels[name]!)) === (operator === "in");
  }
  const pair = text.match(/^([^\s=!,()]+)\s*(==?|!=)\s*([^\s=!,()]*)$/);
  if (pair) {
    const [, name = "", operator, value = ""] = pair;
    return (labels) => (has(labels, name) && labels[name] === value) === (operator !== "!=");
  }
  const name = text.match(/^(!?)\s*([^\s=!,()]+)$/);
  return name ? (labels) => has(labels, name[2]!) === (name[1] === "") : null;
};

/** Whether labels fit a selector; null where it cannot be read. */
export const selector = (text: string): ((labels: Facts["labels"]) => boolean) | null => {
  const all = text.split(/,(?![^()]*\))/).map((part) => requirement(part.trim()));
  return all.every((one) => one !== null) ? (labels) => all.every((one) => one!(labels)) : null;
};
