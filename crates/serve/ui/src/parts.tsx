// Small parts that several views are made of.
import type { ComponentChildren, JSX } from "preact";
import { usePage } from "./context";
import type { Failure } from "./source/source";
import { line } from "./text";
import { clock, day, full, zoneName } from "./time";
import { toneOf } from "./tones";

/** A point in the colour of a state; the words next to it say the same. */
export const Tone = ({ tone }: { tone: string | null | undefined }): JSX.Element => <span class={`tone ${toneOf(tone)}`} aria-hidden="true" />;

/** A moment: the time of day, and the date where it is not the window's. */
export const Time = ({ ms }: { ms: number | null | undefined }): JSX.Element => {
  const { state, whole } = usePage();
  if (ms === null || ms === undefined) return <span class="at faint">undated</span>;
  const other = day(ms, state.zone) !== day(whole.to, state.zone);
  return (
    <time class="at" dateTime={new Date(ms).toISOString()} title={`${full(ms, state.zone)} ${zoneName(state.zone, ms)}`}>
      {other ? `${day(ms, state.zone).slice(5)} ` : ""}
      {clock(ms, state.zone)}
    </time>
  );
};

/** Why there is no answer, with the command that may have it. */
export const Failed = ({ failure }: { failure: Failure }): JSX.Element => (
  <div class="note bad" role="alert">
    <p>{line(failure.message)}</p>
    {failure.command && <p>Ask ketcd: <code class="mono">{line(failure.command)}</code></p>}
  </div>
);

export const Waiting = (): JSX.Element => <p class="empty" role="status">Reading…</p>;

/** Shows an answer, or why there is none yet. */
export const Shown = <T,>({ answer, children }: { answer: { value: T | null; failure: Failure | null }; children: (value: T) => ComponentChildren }): JSX.Element => {
  if (answer.failure) return <Failed failure={answer.failure} />;
  if (answer.value === null) return <Waiting />;
  return <>{children(answer.value)}</>;
};

/** A command to copy. */
export const Command = ({ command }: { command: string | null | undefined }): JSX.Element | null => {
  const { say } = usePage();
  if (!command) return null;
  return (
    <div class="command">
      <span class="faint">As text</span>
      <code>{line(command)}</code>
      <button type="button" class="button" onClick={() => copy(command, say, "the command is copied")}>Copy</button>
    </div>
  );
};

/** Copies a text, and says so. */
export const copy = async (text: string, say: (text: string) => void, done: string): Promise<void> => {
  try {
    await navigator.clipboard.writeText(text);
    say(done);
  } catch {
    // Pages of files and of plain HTTP have no clipboard: a field that is selected has one.
    const field = document.createElement("textarea");
    field.value = text;
    field.setAttribute("aria-label", "text to copy");
    document.body.append(field);
    field.select();
    say(document.execCommand("copy") ? done : "the browser does not let the page copy");
    field.remove();
  }
};

/** `kind namespace/name`. */
export const named = (object: { kind: string; namespace: string; name: string }): string =>
  line(`${object.kind} ${object.namespace ? `${object.namespace}/` : ""}${object.name}`);
