// Text from the cluster, made fit to be shown: nothing in it may move, hide or reorder what stands around it.

/** Control characters but tab and newline, and characters that reorder or hide text. */
// eslint-disable-next-line no-control-regex
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Writes a character as `\u{202e}`. */
const escape = (character: string): string => `\\u{${character.codePointAt(0)!.toString(16)}}`;

/** Text of one or more lines with every control and bidirectional character escaped. */
export const visible = (text: string): string => text.replace(UNSEEN, escape);

/** The same on one line. */
export const line = (text: string): string => visible(text).replace(/\n/g, "\\n").replace(/\t/g, "\\t");

/** Characters of one line that a reader can want to see at once. */
const MAX_SHOWN_CHARACTERS = 10_000;

/** The beginning of a very long text, with how much is left. */
export const clipped = (text: string): string => (text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}… ${(text.length - MAX_SHOWN_CHARACTERS).toLocaleString("en")} more characters` : text);

/** Any value on one line, as JSON unless it is a text. */
export const short = (value: unknown, most = 200): string => {
  const text = value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
  const characters = Array.from(line(text));
  return characters.length > most ? `${characters.slice(0, most).join("")}…` : characters.join("");
};

/** `1 pod`, `2 pods`. */
export const count = (number: number, one: string, many = `${one}s`): string => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

/** A word as a POSIX shell reads it literally. */
export const quoted = (word: string): string =>
  /^[A-Za-z0-9_\-./:@+=,%]+$/.test(word)
    ? word
    : /[\u0000-\u001f\u007f-\uffff]/.test(word)
      ? `$'${Array.from(new TextEncoder().encode(word), (byte) => octal(byte)).join("")}'`
      : `'${word.replace(/'/g, `'\\''`)}'`;

const octal = (byte: number): string => {
  const character = String.fromCharCode(byte);
  return /[A-Za-z0-9_\-./:@+=, {}[\]"]/.test(character) ? character : `\\${byte.toString(8).padStart(3, "0")}`;
};
