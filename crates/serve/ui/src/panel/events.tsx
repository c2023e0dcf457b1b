// Kubernetes' Events about an object.
import type { JSX } from "preact";
import { cursorAt, useAnswer, usePage } from "../context";
import { Shown, Time } from "../parts";
import type { ObjectEvent } from "../source/contract";
import { line } from "../text";
import { Frame, type TabProps } from "./panel";

export const EventsTab = ({ asked }: TabProps): JSX.Element => {
  const { source, at, window, cursorMs } = usePage();
  const answer = useAnswer(() => source.object(asked, at), [asked, at, window.last.revision], asked);
  return (
    <Frame tab="events" command={answer.value?.eventsCommand}>
      <Shown answer={answer}>
        {({ events }) => (events.length === 0 ? <p class="empty">No Events about it.</p> : <ol class="list">{events.map((event, index) => <Entry key={index} event={event} isLater={event.ms !== null && cursorMs !== null && event.ms > cursorMs} />)}</ol>)}
      </Shown>
    </Frame>
  );
};

const Entry = ({ event, isLater }: { event: ObjectEvent; isLater: boolean }): JSX.Element => {
  const { go, date, window } = usePage();
  return (
    <li>
      <button type="button" class="entry" onClick={() => { date(event.revision, event.ms); go({ at: event.revision || event.ms === null ? { revision: event.revision } : cursorAt(event.ms, window) }, true); }}>
        <Time ms={event.ms} />
        <span class={event.type === "Warning" ? "danger" : "faint"}>{line(event.type)}</span>
        <span class="what"><b>{line(event.reason)}</b>{event.count > 1 ? ` ×${event.count}` : ""} {line(event.message)} <span class="faint">{line(event.source)}{isLater ? " · after the cursor" : ""}</span></span>
      </button>
    </li>
  );
};
