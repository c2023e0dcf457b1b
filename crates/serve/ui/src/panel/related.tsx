// What an object belongs to, what it owns, and what it refers to.
import type { JSX } from "preact";
import { useAnswer, usePage } from "../context";
import { named, Shown } from "../parts";
import type { Related } from "../source/contract";
import { line } from "../text";
import { Frame, type TabProps } from "./panel";

export const RelatedTab = ({ asked }: TabProps): JSX.Element => {
  const { source, at, window } = usePage();
  const answer = useAnswer(() => source.object(asked, at), [asked, at, window.last.revision], asked);
  return (
    <Frame tab="related" command={answer.value?.relatedCommand}>
      <Shown answer={answer}>
        {({ owners, owned, refersTo, ownedLeft }) => (
          <>
            <Group title="Owners" of={owners} />
            <Group title="Owns" of={owned} left={ownedLeft} />
            <Group title="Refers to" of={refersTo} />
            {owners.length + owned.length + refersTo.length === 0 && <p class="empty">It has no owner, owns nothing and refers to nothing.</p>}
          </>
        )}
      </Shown>
    </Frame>
  );
};

const Group = ({ title, of, left = 0 }: { title: string; of: readonly Related[]; left?: number }): JSX.Element | null => {
  const { go } = usePage();
  if (of.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul class="list">
        {of.map((object, index) => (
          <li key={index}>
            <button type="button" class="entry" onClick={() => go({ object: object.address, uid: object.uid || null, tab: "timeline" }, true)}>
              <span>{named(object)}</span><span class={object.found ? "faint" : "danger"}>{object.found ? "" : "missing"}</span><span class="what faint">{line(object.via)}</span>
            </button>
          </li>
        ))}
      </ul>
      {left > 0 && <p class="faint">and {left.toLocaleString("en")} more</p>}
    </>
  );
};
