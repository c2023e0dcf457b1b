// What chooses rows: the filter, the grouping, and how many objects are left out by what.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { usePage } from "../context";
import { FILTERS, filtersOf, filterText, GROUPINGS } from "../state";
import { count } from "../text";
import type { Model } from "./model";

/** How long typing may pause before rows are asked for, in milliseconds. */
const TYPED_MS = 250;

const NAMES = { namespace: "namespace", owner: "owner", node: "node", none: "nothing" } as const;

export const Tools = ({ model }: { model: Model }): JSX.Element => {
  const { state, go } = usePage();
  const said = filterText(state.filters);
  const [text, setText] = useState(said);
  useEffect(() => {
    if (JSON.stringify(filtersOf(text)) !== JSON.stringify(state.filters)) setText(said);
  }, [said]);
  const filter = (): void => {
    const filters = filtersOf(text);
    if (JSON.stringify(filters) !== JSON.stringify(state.filters)) go({ filters });
  };
  useEffect(() => {
    const timer = setTimeout(filter, TYPED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <search class="tools">
      <input
        type="search" id="filter" value={text} placeholder="Filter: words, kind:Pod, node:n3, by:jane, reason:… ( / )" aria-label={`filter: words, or ${FILTERS.slice(1).join(", ")} with a colon and a value`}
        spellcheck={false} autocomplete="off" list="filters" onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") filter();
          if (event.key === "Escape") {
            if (text) setText("");
            else event.currentTarget.blur();
            event.stopPropagation();
          }
        }}
      />
      <datalist id="filters">{FILTERS.slice(1).map((name) => <option key={name} value={`${name}:`} />)}</datalist>
      <label>by <select value={state.group} title="Grouping (g)" onChange={(event) => go({ group: GROUPINGS.find((name) => name === event.currentTarget.value)!, in: [] })}>{GROUPINGS.map((name) => <option key={name} value={name}>{NAMES[name]}</option>)}</select></label>
      <label title="Objects that are deleted at the cursor"><input type="checkbox" checked={state.deleted} onChange={(event) => go({ deleted: event.currentTarget.checked })} /> deleted</label>
      <label title="Objects with nothing in the visible time"><input type="checkbox" checked={state.quiet} onChange={(event) => go({ quiet: event.currentTarget.checked })} /> quiet</label>
      <Counts model={model} />
    </search>
  );
};

const Counts = ({ model: { answer } }: { model: Model }): JSX.Element | null => {
  if (!answer) return null;
  const { counts, isCut, groupsLeft } = answer;
  const left = [
    counts.filtered > 0 && `${counts.filtered.toLocaleString("en")} hidden by the filter`,
    counts.quiet > 0 && `${counts.quiet.toLocaleString("en")} quiet folded`,
    groupsLeft > 0 && `${count(groupsLeft, "group")} more`,
    isCut && "of the first 5,000 only",
  ].filter((words) => words);
  return <span class="faint" role="status" id="counts">{count(counts.matching, "object")}{left.length > 0 ? ` · ${left.join(" · ")}` : ""}</span>;
};
