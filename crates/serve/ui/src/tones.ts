// How states are coloured.

export const TONES = ["good", "working", "waiting", "bad", "ending", "done", "neutral"] as const;
export type Tone = (typeof TONES)[number];

/** The tone of a word of an answer; one that is not known is neutral. */
export const toneOf = (word: string | null | undefined): Tone => TONES.find((tone) => tone === word) ?? "neutral";

/** How much a tone matters: the worst of several is shown. */
const WORST: readonly Tone[] = ["neutral", "done", "good", "ending", "working", "waiting", "bad"];

export const worse = (a: Tone, b: Tone): Tone => (WORST.indexOf(a) >= WORST.indexOf(b) ? a : b);
