// The head of the page: what is looked at, and what can be done with the view as a whole.
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { usePage } from "./context";
import { copy } from "./parts";
import { markdown } from "./markdown";
import type { Findings } from "./source/contract";
import { THEMES } from "./state";
import { count, line } from "./text";

export const Top = ({ findings, help }: { findings: Findings | null; help: () => void }): JSX.Element => {
  const page = usePage();
  const { state, source, window, go, say } = page;
  const dialog = useRef<HTMLDialogElement>(null);
  const title = state.title || source.title;
  const facts = [
    ...(title ? [window.source] : []),
    window.release && `Kubernetes ${window.release}`,
    window.last.revision > 0 && (window.oneMoment ? `r${window.last.revision}` : `r${window.first.revision}–r${window.last.revision}`),
    count(window.objects, "object"),
    window.reach,
  ].filter((fact) => fact).map((fact) => line(String(fact)));
  return (
    <header class="top">
      <h1>{line(title || window.source)}</h1>
      <span class="facts grow">{window.live && <span class="live">live · </span>}{facts.join(" · ")}</span>
      <nav aria-label="the view">
        <span class="seg" role="group" aria-label="what is shown">
          <button type="button" aria-pressed={state.view === "rows"} onClick={() => go({ view: "rows" }, true)}>Rows</button>
          <button type="button" aria-pressed={state.view === "changed"} title="What changed between two moments (d)" onClick={() => go({ view: "changed" }, true)}>What changed</button>
        </span>
        <button type="button" class="button" title="Name this view (t)" data-key="t" onClick={() => dialog.current?.showModal()}>Title</button>
        <button type="button" class="button" title="Copy a link to this view (c)" onClick={() => copy(location.href, say, "the link is copied")}>Link</button>
        <button type="button" class="button" title="Copy this view as Markdown (m)" onClick={async () => copy(await markdown(page, findings), say, "copied as Markdown")}>Markdown</button>
        <button type="button" class="button" aria-label={`theme: ${state.theme}`} title="Light or dark (n)" onClick={() => go({ theme: THEMES[(THEMES.indexOf(state.theme) + 1) % THEMES.length]! })}>{{ auto: "◐", light: "☀", dark: "☾" }[state.theme]}</button>
        <button type="button" class="button" aria-label="keys" title="Keys (?)" onClick={help}>?</button>
      </nav>
      {window.notes.length > 0 && <details class="notes"><summary>{count(window.notes.length, "note")} on the data</summary><ul>{window.notes.map((note) => <li key={note}>{line(note)}</li>)}</ul></details>}
      <dialog ref={dialog} aria-labelledby="title-head">
        <form method="dialog" onSubmit={(event) => go({ title: (event.currentTarget.elements.namedItem("title") as HTMLInputElement).value.trim() }, true)}>
          <h2 id="title-head">Title of this view</h2>
          <label>It is part of the link. <input name="title" defaultValue={state.title} key={state.title} maxLength={200} /></label>
          <p class="right"><button type="submit" class="button">Keep</button></p>
        </form>
      </dialog>
    </header>
  );
};
