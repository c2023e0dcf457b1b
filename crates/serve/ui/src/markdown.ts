// The view as Markdown, for a ticket or a post-mortem, with its link.
import { atOf, type Context } from "./context";
import { endsOf } from "./changed";
import { standing, who } from "./findings";
import { named } from "./parts";
import type { Findings } from "./source/contract";
import { line } from "./text";
import { full, lasting, parse, zoneName } from "./time";

/** Text of the cluster inside Markdown: nothing in it is markup. */
const plain = (text: string): string => line(text).replace(/[\\`*_{}[\]<>#|~!&]/g, "\\$&");

/** The longest list that a ticket needs. */
const MAX_LINES = 60;

export const markdown = async (page: Context, findings: Findings | null): Promise<string> => {
  const { state, source, window, span, cursorMs } = page;
  const at = (ms: number | null): string => (ms === null ? "undated" : `${full(ms, state.zone)}`);
  const zone = zoneName(state.zone, span.to);
  const out = [`## ${plain(state.title || source.title || window.source)}`, "", `${plain(window.source)}, ${at(span.from)} to ${at(span.to)} ${zone}; looked at ${at(cursorMs)}`, "", `<${location.href}>`, ""];
  if (findings) out.push(...findingLines(page, findings));
  if (state.view === "changed") out.push(...(await changedLines(page)));
  if (state.object) out.push(...(await objectLines(page)));
  return `${out.join("\n").trimEnd()}\n`;
};

const findingLines = ({ cursorMs, state }: Context, findings: Findings): string[] => {
  const all = findings.triage.findings;
  if (all.length === 0) return ["Nothing is wrong.", ""];
  const out = ["### Findings", ""];
  for (const finding of all.slice(0, MAX_LINES)) {
    out.push(`- **${plain(finding.what)}** ${plain(who(finding, findings))}, ${standing(finding, findings, cursorMs)}. ${plain(finding.detail)}`.trimEnd());
    for (const { change, secondsBefore } of finding.causes) {
      const ms = parse(change.time);
      out.push(`  - cause: ${plain(named(change))} ${plain(change.what)} by ${plain(change.by ?? "nobody known")}${ms === null ? "" : `, ${full(ms, state.zone)}`}${secondsBefore === null ? "" : `, ${lasting(secondsBefore * 1000)} before`}`);
    }
    if (finding.remedy) out.push(`  - ends it: ${plain(finding.remedy)}`);
  }
  return [...out, "", fenced(findings.command), ""];
};

const objectLines = async ({ source, state, window }: Context): Promise<string[]> => {
  const history = await source.history({ object: state.object!, uid: state.uid }).catch(() => null);
  if (!history) return [];
  const seen = history.versions.filter(({ ms }) => ms === null || ((state.from === null || ms >= state.from) && (state.to === null || ms <= state.to)));
  const out = [`### ${plain(named(history.name))}`, "", "| time | revision | what | by |", "|---|---|---|---|"];
  for (const { ms, revision, label, by, type } of seen.slice(-MAX_LINES)) out.push(`| ${ms === null ? "undated" : full(ms, state.zone)} | ${revision} | ${plain(label || type.toLowerCase())} | ${plain(by ?? "")} |`);
  if (window.gaps.length > 0) out.push("", `Parts of the history cannot be read: ${window.gaps.map(({ fromRevision, toRevision }) => `r${fromRevision}–r${toRevision}`).join(", ")}.`);
  return [...out, "", fenced(history.command), ""];
};

const changedLines = async (page: Context): Promise<string[]> => {
  const { a, b } = endsOf(page);
  const changed = await page.source.changed(atOf(a), atOf(b), { ...page.state.filters }).catch(() => null);
  if (!changed) return [];
  const out = ["### What somebody did", ""];
  for (const { by, items } of changed.authors) {
    out.push(`- **${plain(by ?? "nobody known")}**`);
    for (const item of items.slice(0, MAX_LINES)) out.push(`  - ${item.ms === null ? "" : `${full(item.ms, page.state.zone)} `}${plain(named(item))}: ${plain(item.what)}`);
  }
  return [...out, "", fenced(changed.command), ""];
};

/** A command as a block of code, whose fence is longer than any inside. */
const fenced = (command: string): string => {
  const longest = Math.max(2, ...(command.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = "`".repeat(longest + 1);
  return `${fence}sh\n${line(command)}\n${fence}`;
};
