"use strict";
// The report's page: rows are made only where they are seen; details are inflated when they are opened.
const $ = (selector, within = document) => within.querySelector(selector);
const data = JSON.parse($("#data").textContent);
let packed = null;
const SPAN = Math.max(data.t1 - data.t0, 1);
const QUIET = /^(Role|RoleBinding|ClusterRole|ClusterRoleBinding|APIService|FlowSchema|PriorityLevelConfiguration|PriorityClass|Lease|Endpoints|EndpointSlice|ControllerRevision|ServiceAccount|CSINode|CSIDriver|RangeAllocation|IPAddress|ServiceCIDR|ValidatingWebhookConfiguration|MutatingWebhookConfiguration|CustomResourceDefinition)$/;
const TONES = [["good", "as it should be"], ["working", "on its way"], ["waiting", "held up"], ["bad", "broken"], ["ending", "being deleted"], ["done", "over"], ["neutral", "exists"]];
const view = { from: -SPAN * 0.01, to: SPAN * 1.01, text: "", namespace: "", hidden: new Set(), rows: [], picked: -1, all: false };
const rowsBox = $(".rows"), canvas = $(".canvas"), panel = $(".panel");

const el = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) name.startsWith("on") ? node.addEventListener(name.slice(2), value) : value !== null && value !== false && node.setAttribute(name, value === true ? "" : value);
  node.append(...children.filter((child) => child !== null));
  return node;
};
const pad = (number, width = 2) => String(number).padStart(width, "0");
const clock = (ms, precise = true) => { const d = new Date(data.t0 + ms); return `${pad(d.getUTCHours())}:${pad(d.getUTCMinutes())}:${pad(d.getUTCSeconds())}` + (precise ? `.${pad(d.getUTCMilliseconds(), 3)}` : ""); };
const day = (ms) => new Date(data.t0 + ms).toISOString().slice(0, 10);
const lasting = (ms) => ms < 1000 ? `${Math.round(ms)} ms` : ms < 60000 ? `${(ms / 1000).toFixed(1)} s` : ms < 3600000 ? `${Math.floor(ms / 60000)} min ${Math.round(ms % 60000 / 1000)} s` : `${Math.floor(ms / 3600000)} h ${Math.round(ms % 3600000 / 60000)} min`;
const percent = (ms) => (ms - view.from) / (view.to - view.from) * 100;

// ---- which rows ----
const above = [];
for (const row of data.rows) { above[row.d] = row; row.up = row.d ? above[row.d - 1] : null; }
const kinds = new Map(), namespaces = new Set();
data.rows.forEach((row, id) => {
  row.id = id;
  row.hay = `${row.k}/${row.ns}/${row.n} ${row.s.map((s) => s[2]).join(" ")} ${row.v.map((v) => v[1]).join(" ")}`.toLowerCase();
  // A row with `q` stands for objects that have none: how many are in each state.
  row.size = row.q ? row.q.reduce((sum, [, , count]) => sum + count, 0) : 1;
  kinds.set(row.k, (kinds.get(row.k) || 0) + row.size);
  if (row.ns) namespaces.add(row.ns);
});
const TOTAL = data.rows.reduce((sum, row) => sum + row.size, 0), COUNTED = data.rows.some((row) => row.q);
for (const kind of kinds.keys()) if (QUIET.test(kind)) view.hidden.add(kind);
if (view.hidden.size === kinds.size) view.hidden.clear();

function choose() {
  const words = view.text.toLowerCase().split(/\s+/).filter(Boolean);
  let space = null;
  view.rows = [];
  for (const row of data.rows) {
    if (view.namespace && row.ns !== view.namespace) continue;
    if (words.length ? !words.every((word) => row.hay.includes(word)) : view.hidden.has(row.k)) continue;
    const group = row.ns || (row.k === "Node" ? "nodes" : "cluster");
    if (group !== space && (row.d === 0 || !row.up)) { space = group; view.rows.push({ space }); }
    view.rows.push(row);
  }
  const shown = view.rows.filter((row) => !row.space && !row.q).length, counted = view.rows.reduce((sum, row) => sum + (row.q ? row.size : 0), 0);
  $(".count").textContent = `${shown} of ${TOTAL} objects${counted ? `, ${counted} counted` : ""}`;
  canvas.style.height = `${view.rows.length * height()}px`;
  draw();
}

// ---- what stands out ----
function chip({ tone, who, what, lasted, lasts, row }) {
  return el("button", { class: "chip", title: `open ${data.rows[row].n}`, onclick: () => find(data.rows[row]) }, el("i", { class: tone }), el("b", {}, who), ` ${what}, ${lasting(lasted)}${lasts ? ", still" : ""}`);
}
function find(row) {
  let index = view.rows.indexOf(row);
  if (index < 0) { $("#search").value = view.text = ""; $("#namespace").value = view.namespace = ""; view.hidden.delete(row.k); choose(); index = view.rows.indexOf(row); }
  rowsBox.scrollTop = Math.max(0, (index - 4) * height());
  open(row);
}

// ---- drawing ----
const height = () => parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row"));
let pending = false;
function draw() { if (!pending) { pending = true; requestAnimationFrame(() => { pending = false; paint(); }); } }
function paint() {
  axis();
  const tall = height();
  const first = view.all ? 0 : Math.max(0, Math.floor(rowsBox.scrollTop / tall) - 4);
  const last = view.all ? view.rows.length : Math.min(view.rows.length, Math.ceil((rowsBox.scrollTop + rowsBox.clientHeight) / tall) + 4);
  const width = Math.max(rowsBox.clientWidth - parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--label")), 60);
  const made = document.createDocumentFragment();
  for (let index = first; index < last; index++) made.append(line(view.rows[index], index, tall, width));
  canvas.replaceChildren(made);
  if (!view.rows.length) canvas.replaceChildren(el("p", { class: "empty" }, `Nothing matches. Clear the search, or choose other kinds.${COUNTED ? " Objects that are only counted cannot be found by their names." : ""}`));
}
function line(row, index, tall, width) {
  const top = `top:${index * tall}px`;
  if (row.space) return el("div", { class: "row space", style: top }, el("div", { class: "name" }, row.space), el("div", {}));
  const track = el("div", { class: "track" });
  if (row.q) add(track, piece(0, SPAN, { class: `bar counted ${row.q[0][0]}`, title: states(row) }, states(row)));
  else { bars(row, track); marks(row, track, width); }
  const title = `${row.k} ${row.ns ? row.ns + "/" : ""}${row.n}`;
  const short = row.up && row.n.startsWith(row.up.n + "-") ? "…" + row.n.slice(row.up.n.length) : row.n;
  return el("div", { class: "row", style: top, role: "option", "data-id": row.id, "aria-selected": String(view.picked === row.id), onclick: () => open(row) },
    el("div", { class: "name", title, style: `padding-left:${16 + row.d * 14}px` }, el("small", {}, row.k), short), track);
}
function piece(from, to, attributes, text = "") {
  const left = Math.max(percent(from), -0.5), right = Math.min(percent(to), 100.5);
  return right < left || left > 100 ? null : el("div", { ...attributes, style: `left:${left}%;width:${right - left}%` }, text);
}
const states = (row) => row.q.map(([, label, count]) => label ? `${count} ${label}` : String(count)).join(" · ");
function bars(row, track) {
  const seen = row.c.at(-1)?.[0] ?? row.f ?? 0, end = row.x ? seen : row.e ?? SPAN;
  if (row.x) add(track, piece(seen, row.e ?? SPAN, { class: "gap", title: "gone by the end of this: its deletion is not readable any more" }));
  if (row.f !== null && row.b !== null && row.b < row.f) add(track, piece(row.b, row.f, { class: "gap", title: "not readable any more" }));
  row.s.forEach(([from, tone, label], n) => {
    const start = from ?? row.f ?? 0, stop = row.s[n + 1]?.[0] ?? end;
    add(track, piece(start, Math.max(stop, start), { class: `bar ${tone}`, title: `${label || row.k}: ${clock(start)} – ${clock(stop)} (${lasting(stop - start)})` }, label));
  });
  for (const [from, to] of data.gaps) add(track, piece(from, to, { class: "gap hole", title: "revisions are missing here" }));
}
const add = (parent, child) => child && parent.append(child);
function marks(row, track, width) {
  let free = -1;
  row.c.forEach(([time, letter, label], n) => {
    if (time === null) return;
    const x = percent(time) / 100 * width;
    if (x < 0 || x > width || (letter === "~" && x < free)) return;
    free = x + 4;
    const kind = letter === "+" ? "added" : letter === "-" ? "deleted" : "changed";
    track.append(el("button", { class: `tick ${kind}`, style: `left:${percent(time)}%`, title: `${clock(time)}  ${label}`, tabindex: "-1", onclick: (event) => { event.stopPropagation(); open(row, n); } }));
  });
  free = -1;
  for (const [time, reason, warning] of row.v) {
    if (time === null) continue;
    const x = percent(time) / 100 * width;
    if (x < 0 || x > width || x < free) continue;
    free = x + 8;
    track.append(el("button", { class: `dot${warning ? " warning" : ""}`, style: `left:${percent(time)}%`, title: `${clock(time)}  ${reason}`, tabindex: "-1", onclick: (event) => { event.stopPropagation(); open(row, null, "Events"); } }));
  }
}
function axis() {
  const scale = $(".scale"), span = view.to - view.from;
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 108e5, 216e5, 432e5, 864e5, 1728e5, 6048e5];
  const room = Math.max(2, Math.floor(scale.clientWidth / 96));
  const step = steps.find((step) => span / step <= room) ?? steps.at(-1);
  const made = document.createDocumentFragment();
  let last = "";
  for (let at = Math.ceil((view.from + data.t0) / step) * step - data.t0; at < view.to; at += step) {
    const today = day(at), text = step >= 864e5 ? today : clock(at, step < 1000).slice(0, step >= 6e4 ? 5 : undefined);
    made.append(el("span", { style: `left:${percent(at)}%`, title: today }, last && today !== last ? `${today.slice(5)} ${text}` : text));
    last = today;
  }
  scale.replaceChildren(made);
}
function zoom(factor, at = 0.5) {
  const span = Math.min(Math.max((view.to - view.from) * factor, 20), SPAN * 1.02), middle = view.from + (view.to - view.from) * at;
  place(middle - span * at, span);
}
function place(from, span) { view.from = Math.min(Math.max(from, -SPAN * 0.01), SPAN * 1.01 - span); view.to = view.from + span; draw(); }
const move = (part) => place(view.from + (view.to - view.from) * part, view.to - view.from);
const fit = () => place(-SPAN * 0.01, SPAN * 1.02);

// ---- details ----
async function inflate(id) {
  packed ??= JSON.parse($("#details").textContent);
  const bytes = Uint8Array.from(atob(packed[id]), (letter) => letter.charCodeAt(0));
  return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text());
}
const tokens = (path) => path.split("/").slice(1).map((token) => token.replace(/~1/g, "/").replace(/~0/g, "~"));
// Members are the object's own, whatever they are called: `__proto__` is a name like any other.
const own = (value, token) => value !== null && typeof value === "object" && Object.hasOwn(value, token) ? value[token] : undefined;
const put = (holder, name, value) => Object.defineProperty(holder, name, { value, writable: true, enumerable: true, configurable: true });
const at = (object, path) => tokens(path).reduce(own, object);
function apply(object, patch) {
  let result = structuredClone(object);
  for (const operation of patch) {
    const value = operation.op === "move" || operation.op === "copy" ? structuredClone(at(result, operation.from)) : operation.value;
    if (operation.op === "move") result = apply(result, [{ op: "remove", path: operation.from }]);
    if (operation.path === "") { result = value; continue; }
    const names = tokens(operation.path), last = names.pop(), holder = names.reduce(own, result);
    if (operation.op === "test") continue;
    if (operation.op === "remove") Array.isArray(holder) ? holder.splice(Number(last), 1) : delete holder[last];
    else if (Array.isArray(holder) && operation.op !== "replace") holder.splice(last === "-" ? holder.length : Number(last), 0, structuredClone(value));
    else put(holder, last, structuredClone(value));
  }
  return result;
}
function objectAt(versions, index) {
  let object = null;
  for (let n = 0; n <= index; n++) {
    const version = versions[n];
    if (version.o !== undefined) object = version.o; else if (version.p && object !== null) object = apply(object, version.p); else if (!version.p) object = null;
  }
  return object;
}
async function open(row, change = null, tab = null) {
  view.picked = row.id; draw();
  const details = row.q ? { uid: "", versions: [], events: [], decisions: [] } : await inflate(row.id);
  if (view.picked !== row.id) return;
  const tabs = ["Story", ...(details.versions.length ? ["Object"] : []), ...(details.events.length ? ["Events"] : []), ...(details.decisions.length ? ["Scheduling"] : [])];
  const state = { row, details, change: change ?? details.versions.length - 1, opened: change, tab: tabs.includes(tab) ? tab : "Story", tabs };
  view.open = state;
  panel.hidden = false;
  show();
}
function show() {
  const { row, details, tab, tabs } = view.open;
  const body = el("div", { class: "body", role: "tabpanel" });
  const buttons = tabs.map((name) => el("button", { role: "tab", "aria-selected": String(name === tab), onclick: () => { view.open.tab = name; show(); } }, name === "Events" ? `Events ${details.events.length}` : name));
  panel.replaceChildren(el("div", { class: "top" }, el("button", { class: "close", "aria-label": "Close", onclick: shut }, "✕"), el("h2", {}, `${row.k} ${row.ns ? row.ns + "/" : ""}${row.n}`),
    el("p", { class: "sub" }, [!row.q && life(row), details.uid && `uid ${details.uid}`].filter(Boolean).join(" · ")), el("div", { class: "tabs", role: "tablist" }, ...buttons)), body);
  ({ Story: story, Object: whole, Events: events, Scheduling: scheduling })[tab](body);
}
const life = (row) => `${row.b !== null ? clock(row.b, false) : "?"} – ${row.x ? "gone, its deletion is not readable" : row.e !== null ? `${clock(row.e, false)}${row.b !== null ? ` (${lasting(row.e - row.b)})` : ""}` : "still there"}`;
function shut() { panel.hidden = true; view.open = null; rowsBox.focus({ preventScroll: true }); draw(); }
// A command line to be copied: names are quoted for a shell as crates/render/src/command_line.rs does it.
const octal = (byte) => /[A-Za-z0-9_\-.\/:@+=,]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, "0")}`;
const quoted = (word) => {
  if (/^[A-Za-z0-9_\-.\/:@%+,][A-Za-z0-9_\-.\/:@%+=,]*$/.test(word)) return word;
  if (/^[ -\[\]-~\p{L}\p{N}]*$/u.test(word)) return `'${word.replaceAll("'", "'\\''")}'`;
  return `"$(printf '${[...new TextEncoder().encode(word)].map(octal).join("")}')"`;
};
const command = (name, ...words) => el("code", {}, ["ketcd", name, ...words.map(quoted)].join(" "));
function story(body) {
  const { row, details, opened } = view.open, name = [row.k.toLowerCase(), row.ns, row.n].filter(Boolean).join("/");
  if (row.q) {
    for (const [tone, label, count] of row.q) body.append(el("p", { class: "state" }, el("i", { class: tone }), `${count} ${label}`));
    body.append(el("p", { class: "sub" }, "They are counted at the end of the time shown; the notes on the data say why they have no rows. To list them: ", command("ls", row.k.toLowerCase(), ...(row.ns ? ["-n", row.ns] : []))));
  }
  if (details.left) body.append(el("p", {}, `${details.left} changes are left out, as the page has no room for them. To see them: `, command("history", name, "--diff")));
  details.versions.forEach((version, index) => {
    const when = version.t === null ? "undated" : clock(version.t - data.t0);
    const error = version.e ? ` ± ${version.e < 1 ? `${Math.round(version.e * 1000)} ms` : `${version.e.toFixed(1)} s`}` : "";
    const box = el("div", { class: "change" });
    const toggle = () => { const there = $(".diff", box); there ? there.remove() : box.append(diff(details.versions, index)); view.open.change = index; };
    box.append(el("button", { onclick: toggle, title: version.inferred ? "the actor is inferred from what changed" : "" }, el("time", { title: when + error }, when), el("span", { class: "rev" }, `r${version.r}`), el("span", {}, version.label + (version.inferred && version.by ? "*" : ""))));
    body.append(box);
    if (index === opened) { toggle(); requestAnimationFrame(() => box.scrollIntoView({ block: "center" })); }
  });
  if (details.versions.some((version) => version.inferred && version.by)) body.append(el("p", { class: "sub" }, "* inferred from what changed; the write left no record of its author"));
}
const text = (value) => value === undefined ? "" : typeof value === "object" && value !== null ? JSON.stringify(value, null, 1).replace(/\n\s*/g, " ") : String(value);
function diff(versions, index) {
  const version = versions[index], box = el("div", { class: "diff" });
  if (version.x) box.append(el("div", { class: "minus" }, `cannot be decoded: ${version.x}`));
  else if (!version.p) box.append(version.o ? el("pre", { class: "plus" }, JSON.stringify(version.o, null, 2)) : el("div", { class: "minus" }, version.y === "DELETED" ? "the object is gone; its last version is the one before" : "the version before is not readable"));
  else {
    let before = objectAt(versions, index - 1);
    for (const operation of version.p) {
      if (operation.path === "/metadata/resourceVersion") { before = apply(before, [operation]); continue; }
      const old = operation.op === "add" ? undefined : at(before, operation.op === "move" ? operation.from : operation.path);
      const path = readable(before, operation.path, operation.op === "add" ? operation.value : undefined);
      const line = el("div", {}, el("span", { class: "path" }, `${path}  `));
      if (old !== undefined && operation.op !== "move") line.append(el("span", { class: "minus" }, text(old)));
      if (operation.op === "replace") line.append(" → ");
      if (operation.op === "add" || operation.op === "replace") line.append(el("span", { class: "plus" }, text(operation.value)));
      if (operation.op === "move") line.append(`moved from ${readable(before, operation.from)}`);
      box.append(line);
      before = apply(before, [operation]);
    }
  }
  box.append(el("button", { onclick: () => { view.open.change = index; view.open.tab = "Object"; show(); } }, version.y === "DELETED" ? "last version whole" : "whole object here"));
  return box;
}
function readable(object, path, added) {
  let value = object, said = "";
  const names = tokens(path);
  for (const [index, token] of names.entries()) {
    const item = !Array.isArray(value) ? undefined : added !== undefined && index === names.length - 1 ? added : own(value, token);
    said += Array.isArray(value) ? `[${item?.name ?? item?.type ?? item?.key ?? token}]` : (said ? "." : "") + token;
    value = own(value, token);
  }
  return said || "(whole)";
}
function whole(body) {
  const { details } = view.open;
  let index = view.open.change;
  while (index > 0 && details.versions[index].y === "DELETED") index--;
  const version = details.versions[index], object = objectAt(details.versions, index);
  body.append(el("p", { class: "sub" }, `as of revision ${version.r}${version.t === null ? "" : `, ${day(version.t - data.t0)} ${clock(version.t - data.t0)} UTC`}  ( [ and ] step through the versions )`), object === null ? el("p", {}, version.x ?? "not readable") : el("pre", {}, JSON.stringify(object, null, 2)));
}
function events(body) {
  for (const event of view.open.details.events) body.append(el("div", { class: "event" }, el("time", {}, event.t === null ? "undated" : clock(event.t - data.t0)), ` ${event.source ?? ""} `, el("b", { class: event.type === "Warning" ? "warn" : "" }, event.reason ?? ""), event.count > 1 ? ` ×${event.count}` : "", el("div", {}, event.message ?? "")));
}
function scheduling(body) {
  for (const decision of view.open.details.decisions) {
    const { attempt } = decision, when = attempt.time ? attempt.time.slice(11, 23) : "undated";
    body.append(el("h3", {}, `${when}  ${attempt.node ? `→ ${attempt.node}` : attempt.outcome}`));
    if (!decision.profile) {
      const { row } = view.open;
      body.append(decision.message ? el("p", { class: "warn" }, decision.message) : "", el("p", { class: "sub" }, `recorded at r${attempt.revision}, not evaluated here. To evaluate it: `, command("explain", `pod/${row.ns}/${row.n}`)));
      continue;
    }
    body.append(el("p", {}, `by ${decision.profile.schedulerName} ${decision.profile.version}, evaluated on r${attempt.evaluatedRevision}: ${decision.verdict}`));
    if (decision.message) body.append(el("p", { class: "warn" }, decision.message));
    body.append(matrix(decision));
    for (const caveat of decision.caveats) body.append(el("p", { class: "sub" }, caveat));
  }
}
function matrix(decision) {
  const nodes = [...decision.nodes].sort((a, b) => (b.total ?? -1) - (a.total ?? -1) || Number(b.feasible) - Number(a.feasible));
  const plugins = nodes.find((node) => node.scores.length)?.scores.map((score) => score.plugin) ?? [];
  const best = Object.fromEntries(plugins.map((plugin) => [plugin, Math.max(...nodes.flatMap((node) => node.scores.filter((score) => score.plugin === plugin).map((score) => score.weighted)))]));
  const head = el("tr", {}, el("th", {}, "node"), el("th", {}, "total"), ...plugins.map((plugin) => el("th", {}, plugin)));
  const lines = nodes.map((node) => {
    const refused = node.filters.find((filter) => !["Success", "Skip"].includes(filter.status));
    const cells = node.scores.length ? plugins.map((plugin) => { const score = node.scores.find((score) => score.plugin === plugin); return el("td", { class: score?.weighted === best[plugin] ? "top" : "", title: score ? `raw ${score.raw}, normalized ${score.normalized} × ${score.weight}` : "" }, String(score?.weighted ?? "")); })
      : [el("td", { class: refused ? "no" : "only", colspan: Math.max(plugins.length, 1) }, refused ? `${refused.plugin}: ${(refused.reasons ?? [refused.status]).join(", ")}` : "the only one that fits; not scored")];
    return el("tr", { class: node.name === decision.attempt.node ? "chosen" : "" }, el("td", {}, node.name), el("td", {}, node.feasible ? String(node.total ?? "✓") : "✗"), ...cells);
  });
  return el("div", { class: "matrix" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...lines)), decision.left ? el("p", { class: "sub" }, decision.left) : null);
}

// ---- input ----
function step(by) {
  const there = view.rows.findIndex((row) => !row.space && row.id === view.picked);
  let next = there < 0 ? (by > 0 ? 0 : view.rows.length - 1) : there + by;
  while (view.rows[next]?.space) next += by;
  const row = view.rows[next];
  if (!row) return;
  view.picked = row.id;
  const tall = height(), top = next * tall;
  if (top < rowsBox.scrollTop + tall) rowsBox.scrollTop = top - tall; else if (top + 2 * tall > rowsBox.scrollTop + rowsBox.clientHeight) rowsBox.scrollTop = top + 2 * tall - rowsBox.clientHeight;
  view.open ? open(row, null, view.open.tab) : draw();
}
function turn(by) {
  if (!view.open) return;
  view.open.change = Math.min(Math.max(view.open.change + by, 0), view.open.details.versions.length - 1);
  view.open.opened = view.open.change; show();
}
function theme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
}
const keys = { "/": () => $("#search").focus(), j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1), "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1.7), 0: fit, ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2),
  "[": () => turn(-1), "]": () => turn(1), Enter: () => { const row = data.rows[view.picked]; if (row) open(row); }, Escape: () => { if (view.open) shut(); }, "?": () => $("#keys").showModal() };
document.addEventListener("keydown", (event) => {
  // The dialog has its own keys: Escape closes it.
  if (event.ctrlKey || event.metaKey || event.altKey || $("#keys").open) return;
  if (event.target.matches("input, select")) { if (event.key === "Escape") { event.target.value = ""; event.target.dispatchEvent(new Event("input")); event.target.blur(); } return; }
  if (event.key === "Enter" && event.target.matches("button, summary")) return;
  const action = keys[event.key];
  if (action) { event.preventDefault(); action(); }
});
rowsBox.addEventListener("scroll", draw);
addEventListener("resize", draw);
$("main").addEventListener("wheel", (event) => {
  const box = $(".scale").getBoundingClientRect(), part = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
  if (event.ctrlKey) { event.preventDefault(); zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, part); } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) { event.preventDefault(); move((event.deltaX || event.deltaY) / box.width); }
}, { passive: false });
let drag = null;
$(".axis").addEventListener("pointerdown", (event) => { drag = event.clientX; event.currentTarget.setPointerCapture(event.pointerId); });
$(".axis").addEventListener("pointermove", (event) => { if (drag !== null) { move((drag - event.clientX) / $(".scale").clientWidth); drag = event.clientX; } });
$(".axis").addEventListener("pointerup", () => { drag = null; });
$("#search").addEventListener("input", (event) => { view.text = event.target.value; rowsBox.scrollTop = 0; choose(); });
$("#namespace").addEventListener("change", (event) => { view.namespace = event.target.value; rowsBox.scrollTop = 0; choose(); });
$("#in").onclick = () => zoom(0.6); $("#out").onclick = () => zoom(1.7); $("#fit").onclick = fit; $("#theme").onclick = theme; $("#help").onclick = keys["?"];
addEventListener("beforeprint", () => { view.all = true; paint(); });
addEventListener("afterprint", () => { view.all = false; paint(); });

// ---- start ----
$("h1").textContent = data.title;
$(".reach").textContent = `${day(0)} ${clock(0, false)} – ${day(SPAN) === day(0) ? "" : day(SPAN) + " "}${clock(SPAN, false)} UTC · ${data.source} · ${data.reach}`;
$(".stand").append(...(data.stand.length ? [el("span", {}, "What stands out"), ...data.stand.map(chip)] : []));
$("details.notes").open = innerWidth > 720; $("details.notes").hidden = !data.notes.length;
$(".notes summary").textContent = data.notes.length === 1 ? "1 note on the data" : `${data.notes.length} notes on the data`;
$(".notes ul").append(...data.notes.map((note) => el("li", {}, note)));
$(".legend").append(...TONES.map(([tone, means]) => el("span", {}, el("i", { class: tone }), means)), el("span", {}, el("i", { class: "gap", style: "position:static" }), "not readable"));
$("#namespace").append(el("option", { value: "" }, "All namespaces"), ...[...namespaces].sort().map((name) => el("option", {}, name)));
$(".menu").append(...[...kinds].sort().map(([kind, count]) => { const box = el("input", { type: "checkbox", onchange: (event) => { event.target.checked ? view.hidden.delete(kind) : view.hidden.add(kind); choose(); } }); box.checked = !view.hidden.has(kind); return el("label", {}, box, kind, el("output", {}, String(count))); }));
document.addEventListener("click", (event) => { if (!event.target.closest("#kinds")) $("#kinds").open = false; });
choose();
