// Why a pod runs where it runs: nodes by plugins, what refused and what scored, the chosen node and its runner-up.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAnswer, usePage } from "../context";
import { Shown, Time } from "../parts";
import type { Candidate, DecisionView, Filter, Score } from "../source/contract";
import { count, line } from "../text";
import { parse } from "../time";
import { Frame, type TabProps } from "./panel";

export const DecisionTab = ({ asked, history }: TabProps): JSX.Element => {
  const { source, at, window, state } = usePage();
  const answer = useAnswer(() => source.decision(asked, at, state.pick), [asked, at, state.pick, window.last.revision], asked);
  return (
    <Frame tab="decision" command={answer.value?.command ?? history.value?.command}>
      <Shown answer={answer}>
        {(view) => (
          <>
            <Verdict view={view} />
            <Refused view={view} />
            <Matrix view={view} />
            <Picked view={view} />
            <Remedies view={view} />
            <Earlier view={view} />
          </>
        )}
      </Shown>
    </Frame>
  );
};

const VERDICTS: { [verdict: string]: string } = {
  Agrees: "The computed decision is the recorded one.", Tie: "Several nodes have the highest total; the recorded one is among them.",
  Disagrees: "The computed decision differs from the recorded one.", Unverifiable: "Nothing was recorded to compare the computed decision with.",
};

const Verdict = ({ view }: { view: DecisionView }): JSX.Element => {
  const { attempt, verdict, message, caveats = [], profile } = view.decision;
  return (
    <>
      <p>
        <b>{attempt?.node ? `Scheduled to ${line(attempt.node)}` : line(attempt?.outcome ?? "Not evaluated")}</b> <Time ms={parse(attempt?.time)} /> <span class="faint">{attempt ? `r${attempt.revision}, evaluated on the state of r${attempt.evaluatedRevision}` : ""}{view.runnerUp ? `; runner-up ${line(view.runnerUp)}` : ""}</span>
      </p>
      {!profile && <p class="note">It is not evaluated here. Ask ketcd: <code class="mono">{line(view.command)}</code></p>}
      {verdict && <p class={verdict === "Disagrees" ? "note bad" : "note"}>{VERDICTS[verdict] ?? line(verdict)}{attempt?.recordedMessage && attempt.recordedMessage === message ? ` ${line(message)}` : ""}</p>}
      {message && message !== attempt?.recordedMessage && <p class="note">Computed: {line(message)}</p>}
      {attempt?.recordedMessage && message !== attempt.recordedMessage && <p class="note">Recorded: {line(attempt.recordedMessage)}</p>}
      {caveats.map((caveat) => <p class="note warn" key={caveat}>{line(caveat)}</p>)}
      {profile && <p class="faint">{line(profile.schedulerName)}, rules of {line(profile.version)} by {line(profile.versionFrom)}</p>}
    </>
  );
};

/** All nodes by what refused them: thousands on a few lines. */
const Refused = ({ view }: { view: DecisionView }): JSX.Element | null => {
  const { go } = usePage();
  if (view.reasons.length === 0) return null;
  const most = Math.max(...view.reasons.map(({ nodes }) => nodes), 1);
  return (
    <>
      <h3>{count(view.nodesInAll, "node")} by reason</h3>
      <div class="meter reasons">
        {view.reasons.map(({ plugin, reason, nodes, examples }) => [
          <span class="cut" title={line(plugin ?? "feasible")}>{plugin === null ? <b class="plus">feasible</b> : line(plugin)}</span>,
          <span><span class="track"><span class={plugin === null ? "fill fit" : "fill full"} style={{ width: `${(nodes / most) * 100}%` }} /></span>{plugin !== null && <span>{line(reason)}</span>}</span>,
          <span><b>{nodes.toLocaleString("en")}</b> <span class="chips">{examples.slice(0, 3).map((node) => <button key={node} type="button" class="chip" onClick={() => go({ pick: node })}>{line(node)}</button>)}</span></span>,
        ])}
      </div>
    </>
  );
};

const refuses = ({ status }: Filter): boolean => status !== "Success" && status !== "Skip";

/** The highest score of a plugin, where it tells nodes apart. */
const bestOf = (nodes: readonly Candidate[], plugin: string): number => {
  const all = nodes.flatMap(({ scores }) => scores.filter((score) => score.plugin === plugin).map(({ weighted }) => weighted));
  const most = Math.max(...all);
  return all.some((score) => score < most) ? most : Infinity;
};

const Matrix = ({ view }: { view: DecisionView }): JSX.Element | null => {
  const [all, setAll] = useState(false);
  const nodes = view.decision.nodes ?? [];
  if (nodes.length === 0) return null;
  const telling = view.plugins.filters.filter((plugin) => all || nodes.some(({ filters }) => filters.some((filter) => filter.plugin === plugin && refuses(filter))));
  const silent = view.plugins.filters.length - telling.length;
  const scores = nodes.some(({ scores }) => scores.length > 0) ? view.plugins.scores : [];
  const best = new Map(scores.map((plugin) => [plugin, bestOf(nodes, plugin)]));
  return (
    <>
      <h3>Nodes by plugins</h3>
      <p class="faint">
        {silent > 0 && `${count(silent, "filter")} that let every node here pass ${silent === 1 ? "is" : "are"} not shown. `}
        {view.nodesLeft > 0 && `${view.nodesLeft.toLocaleString("en")} more nodes are in the reasons above. `}
        {(silent > 0 || all) && <button type="button" class="button" aria-pressed={all} onClick={() => setAll(!all)}>All filters</button>}
      </p>
      <div class="wide" tabIndex={0} role="region" aria-label="nodes by plugins">
        <table>
          <thead>
            <tr>
              <th scope="col" class="left">Node</th>
              {telling.map((plugin) => <th key={plugin} scope="col" class="slant"><span>{line(plugin)}</span></th>)}
              {scores.map((plugin) => <th key={plugin} scope="col" class="slant score"><span>{line(plugin)}</span></th>)}
              {scores.length > 0 && <th scope="col">Total</th>}
            </tr>
          </thead>
          <tbody>{nodes.map((node) => <NodeRow key={node.name} view={view} node={node} filters={telling} scores={scores} best={best} />)}</tbody>
        </table>
      </div>
    </>
  );
};

interface NodeRowProps {
  view: DecisionView;
  node: Candidate;
  filters: readonly string[];
  scores: readonly string[];
  best: ReadonlyMap<string, number>;
}

const NodeRow = ({ view, node, filters, scores, best }: NodeRowProps): JSX.Element => {
  const { state, go } = usePage();
  const chosen = node.name === view.decision.attempt?.node;
  const second = node.name === view.runnerUp;
  return (
    <tr class={chosen ? "chosen" : second ? "second" : ""}>
      <th scope="row"><button type="button" aria-pressed={state.pick === node.name} onClick={() => go({ pick: state.pick === node.name ? null : node.name })}>{line(node.name)}{chosen ? " ★" : second ? " ②" : ""}<span class="sr">{chosen ? " chosen" : second ? " runner-up" : ""}</span></button></th>
      {filters.map((plugin) => <FilterCell key={plugin} filter={node.filters.find((filter) => filter.plugin === plugin)} look={() => go({ pick: node.name })} />)}
      {scores.map((plugin) => <ScoreCell key={plugin} score={node.scores.find((score) => score.plugin === plugin)} best={best.get(plugin) ?? Infinity} />)}
      {scores.length > 0 && <td class={`sum ${chosen ? "best" : ""}`}>{node.total === null ? "–" : node.total.toLocaleString("en")}{node.totalRange ? ` (${node.totalRange.lowest.toLocaleString("en")}–${node.totalRange.highest.toLocaleString("en")})` : ""}</td>}
    </tr>
  );
};

const FilterCell = ({ filter, look }: { filter: Filter | undefined; look: () => void }): JSX.Element => {
  if (!filter) return <td class="unseen" title="did not refuse"><span class="sr">did not refuse</span></td>;
  if (!refuses(filter)) return <td class={filter.reached ? "ok" : "unseen"} title={filter.reached ? "lets it pass" : "lets it pass; the scheduler does not come so far"}>{filter.status === "Skip" ? "–" : "✓"}<span class="sr">passes</span></td>;
  const words = line([...(filter.reasons ?? []), ...(filter.compared ?? []).filter(({ holds }) => !holds).map(({ fact }) => fact)].join("; ")) || line(filter.status);
  return <td class={filter.reached ? "no" : "no unseen"} title={words}><button type="button" aria-label={`refused: ${words}`} onClick={look}>{filter.status === "Unknown" ? "?" : "✗"}</button></td>;
};

const ScoreCell = ({ score, best }: { score: Score | undefined; best: number }): JSX.Element =>
  score ? <td class={score.weighted === best ? "best" : ""} title={`raw ${score.raw}, normalized ${score.normalized} × weight ${score.weight}`}>{score.weighted.toLocaleString("en")}{score.uncertain ? "?" : ""}</td> : <td class="unseen"><span class="sr">no score</span></td>;

/** What each plugin compared on the node that was chosen to look at. */
const Picked = ({ view }: { view: DecisionView }): JSX.Element | null => {
  const { state } = usePage();
  const nodes = view.decision.nodes ?? [];
  const node = nodes.find(({ name }) => name === state.pick) ?? (nodes.length > 0 && !nodes.some(({ feasible }) => feasible) ? nodes[0] : undefined);
  if (!node) return state.pick ? <p class="note">{line(state.pick)} is not among the nodes here.</p> : null;
  const telling = node.filters.filter((filter) => refuses(filter) || (filter.compared ?? []).length > 0);
  return (
    <section aria-label={`node ${line(node.name)}`}>
      <h3>{line(node.name)}</h3>
      <ul class="list">
        {telling.map(({ plugin, status, reasons = [], compared = [], reached }) => (
          <li key={plugin}>
            <p><b>{line(plugin)}</b> <span class={status === "Success" ? "plus" : "minus"}>{line(status)}</span> {line(reasons.join("; "))} {!reached && <span class="faint">the scheduler does not come so far</span>}</p>
            <ul class="fields">{compared.map(({ fact, holds }) => <li key={fact}><span class={holds ? "plus" : "minus"} aria-hidden="true">{holds ? "✓" : "✗"}</span> {line(fact)}<span class="sr">{holds ? " holds" : " does not hold"}</span></li>)}</ul>
          </li>
        ))}
        {telling.length === 0 && <li class="faint">Every filter lets the pod pass.</li>}
      </ul>
      {node.scores.length > 0 && (
        <div class="wide" tabIndex={0} role="region" aria-label="scores of the node">
          <table>
            <thead><tr><th scope="col" class="left">Score</th><th scope="col">raw</th><th scope="col">normalized</th><th scope="col">weight</th><th scope="col">weighted</th></tr></thead>
            <tbody>{node.scores.map(({ plugin, raw, normalized, weight, weighted }) => <tr key={plugin}><th scope="row">{line(plugin)}</th><td>{raw.toLocaleString("en")}</td><td>{normalized}</td><td>×{weight}</td><td>{weighted.toLocaleString("en")}</td></tr>)}</tbody>
          </table>
        </div>
      )}
    </section>
  );
};

const Remedies = ({ view }: { view: DecisionView }): JSX.Element | null => {
  const { remedies = [], beyondHelp = [], preemption } = view.decision;
  const victims = preemption?.candidates ?? [];
  if (remedies.length + beyondHelp.length + victims.length === 0) return null;
  return (
    <>
      <h3>What would let it in</h3>
      <ul class="list">
        {remedies.map(({ node, changes, plugins }, index) => <li key={index} class="entry"><b>{line(node)}</b><span class="faint">{line(plugins.join(", "))}</span><span class="what">{line(changes.join("; "))}</span></li>)}
        {victims.map(({ node, picked, victims }) => <li key={node} class="entry"><b>{line(node)}</b><span class="faint">preemption{picked ? ", chosen" : ""}</span><span class="what">{victims.map(({ namespace, name }) => line(`${namespace}/${name}`)).join(", ")}</span></li>)}
        {beyondHelp.map(({ node, plugin, why }) => <li key={`${node} ${plugin}`} class="entry"><b>{line(node)}</b><span class="faint">{line(plugin)}</span><span class="what faint">{line(why)}</span></li>)}
      </ul>
    </>
  );
};

const Earlier = ({ view }: { view: DecisionView }): JSX.Element | null => {
  const { go, date } = usePage();
  if (view.earlier.length === 0) return null;
  return (
    <>
      <h3>Refused before</h3>
      <ol class="list">
        {view.earlier.map(({ revision, ms, message }) => <li key={revision}><button type="button" class="entry" onClick={() => { date(revision, ms); go({ at: { revision } }, true); }}><Time ms={ms} /><span class="rev">r{revision}</span><span class="what">{line(message ?? "")}</span></button></li>)}
      </ol>
    </>
  );
};
