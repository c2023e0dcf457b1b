// A value as the lines of a YAML document, each with the path of the field that it shows.
import { visible } from "./text";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A line of a document. */
export interface YamlLine {
  text: string;
  /** The JSON pointer of the field. */
  path: string;
}

const isObject = (value: Json): value is { [name: string]: Json } => value !== null && typeof value === "object" && !Array.isArray(value);
const pointer = (path: string, name: string): string => `${path}/${name.replace(/~/g, "~0").replace(/\//g, "~1")}`;

/** Words that YAML 1.1 or 1.2 reads as something other than text. */
const NOT_PLAIN = /^(|~|null|true|false|yes|no|on|off|y|n|[-+.]?[0-9].*|\.inf|\.nan|<<|=)$/i;
const PLAIN = /^[A-Za-z0-9_/.$(][A-Za-z0-9_\-/.$()+@%^ =,;:<>~]*$/;

const scalar = (value: Json): string => {
  if (typeof value !== "string") return value === null ? "null" : JSON.stringify(value);
  return PLAIN.test(value) && !NOT_PLAIN.test(value) && !/: |:$| #| $/.test(value) ? value : visible(JSON.stringify(value));
};

/** `value` as YAML, its members in the order of `kubectl get -o yaml`. */
export const yaml = (value: Json): YamlLine[] => {
  const lines: YamlLine[] = [];
  write(value, "", "", "", lines);
  return lines;
};

/** Writes `value`, whose first line begins with `lead` and whose others with `indent`. */
const write = (value: Json, path: string, lead: string, indent: string, lines: YamlLine[]): void => {
  if (isObject(value) && Object.keys(value).length > 0) {
    let begin = lead;
    for (const name of Object.keys(value).sort()) {
      member(name, value[name] as Json, pointer(path, name), begin, indent, lines);
      begin = indent;
    }
  } else if (Array.isArray(value) && value.length > 0) {
    let begin = lead;
    value.forEach((item, index) => {
      write(item, `${path}/${index}`, `${begin}- `, `${indent}  `, lines);
      begin = indent;
    });
  } else {
    lines.push({ text: lead + (isObject(value) ? "{}" : Array.isArray(value) ? "[]" : scalar(value)), path });
  }
};

const member = (name: string, value: Json, path: string, begin: string, indent: string, lines: YamlLine[]): void => {
  const key = `${begin}${scalar(name)}:`;
  if (isObject(value) && Object.keys(value).length > 0) {
    lines.push({ text: key, path });
    write(value, path, `${indent}  `, `${indent}  `, lines);
  } else if (Array.isArray(value) && value.length > 0) {
    lines.push({ text: key, path });
    write(value, path, indent, indent, lines);
  } else if (typeof value === "string" && value.includes("\n")) {
    const ends = value.endsWith("\n");
    lines.push({ text: `${key} |${ends ? "" : "-"}`, path });
    for (const part of (ends ? value.slice(0, -1) : value).split("\n")) lines.push({ text: `${indent}  ${visible(part)}`, path });
  } else {
    lines.push({ text: `${key} ${isObject(value) ? "{}" : Array.isArray(value) ? "[]" : scalar(value)}`, path });
  }
};
