// How fast the page is on a large file, what it costs its server, and what a report of it weighs. node test/measure.mjs FILE, with KETCD and
// KETCD_TEST_CHROMIUM; tools/page --measure does. Prints a table, and a JSON line to keep as the last line.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [file] = process.argv.slice(2);
const KETCD = process.env.KETCD;
/** How many look on at once. */
const VIEWERS = 10;
/** How often a page asks whether something happened, in seconds. */
const FOLLOW_SECONDS = 5;
/** Clock ticks of /proc/PID/stat in a second. */
const TICKS = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));
/** The longest that one answer is waited for. */
const LONGEST_MS = 300_000;

const folder = mkdtempSync(join(tmpdir(), "ketcd-measure-"));
const figures = [];
const note = (what, value, unit, aim = null) => {
  const shown = unit === "ms" ? Math.round(value) : Number(value.toFixed(unit === "s" ? 2 : 1));
  figures.push({ what, value: shown, unit, aim });
  console.error(`${what}: ${shown} ${unit}`);
};

/** Seconds of CPU that a process took, and its memory that is no file's, in megabytes. */
const cost = (pid) => {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  const anonymous = Number(readFileSync(`/proc/${pid}/status`, "utf8").match(/RssAnon:\s+(\d+)/)[1]);
  return { cpu: (Number(stat[11]) + Number(stat[12])) / TICKS, heap: (anonymous * 1024) / 1e6 };
};

/** The largest heap of a process from now on, until `end`. */
const watched = (pid) => {
  let most = 0;
  const look = () => { most = Math.max(most, cost(pid).heap); };
  const timer = setInterval(look, 50);
  return { end: () => { look(); clearInterval(timer); return most; } };
};

const serve = async () => {
  const server = spawn(KETCD, ["-f", file, "ui", "--no-open"], { stdio: ["ignore", "ignore", "pipe"] });
  const link = await new Promise((done, failed) => {
    let said = "";
    server.stderr.setEncoding("utf8").on("data", (text) => {
      said += text;
      const found = said.match(/https?:\/\/\S+\/ui\/#\S+/);
      if (found) done(found[0]);
    });
    server.on("exit", () => failed(new Error(`it does not serve: ${said}`)));
  });
  return { server, link };
};

const browser = await chromium.launch({ executablePath: process.env.KETCD_TEST_CHROMIUM, args: ["--no-sandbox"] });

/** Opens the page, and counts the bytes of its answers. */
const view = async (link) => {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(LONGEST_MS);
  page.answers = new Map();
  page.on("response", async (response) => {
    const name = response.url().match(/\/ui\/api\/([a-z]+)/)?.[1];
    if (name) page.answers.set(response.url(), { name, bytes: (await response.body().catch(() => Buffer.alloc(0))).length });
  });
  // The slowest event of the page, from the input to the picture that follows it.
  await page.addInitScript(() => {
    window.slowest = 0;
    new PerformanceObserver((list) => list.getEntries().forEach(({ duration }) => { window.slowest = Math.max(window.slowest, duration); })).observe({ type: "event", durationThreshold: 16, buffered: true });
  });
  const begun = performance.now();
  await page.goto(link);
  return { page, begun };
};

const shows = (page, what) => page.waitForFunction(what, null, { polling: 20, timeout: LONGEST_MS });
const hasRows = () => document.querySelector("#counts") !== null && document.querySelectorAll("[role=treeitem]").length > 0;
const hasFindings = () => document.querySelector(".findings h2 .faint, .finding, .findings .note") !== null;
/** What could not be shown is said, and not measured as if it were. */
const said = async (page) => { for (const text of await page.locator(".note.bad").allInnerTexts()) note(`not shown: ${text.slice(0, 120)}`, 1, "time"); };
const isStill = () => document.querySelector(".busy.on") === null && ![...document.querySelectorAll("[role=status]")].some((element) => element.textContent.includes("Reading…")) && document.querySelector("#rows .name.faint") === null;

/** Does something: how long until the picture moved, and until the answer is there. */
const act = async (page, what, action) => {
  await page.evaluate(() => { window.slowest = 0; });
  const begun = performance.now();
  await action();
  // Movements wait for their end before rows are asked for.
  await page.waitForTimeout(200);
  await shows(page, isStill);
  const answered = performance.now() - begun - 200;
  const slowest = await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(window.slowest), 50))));
  note(`${what}: until the page moves`, slowest, "ms", 100);
  note(`${what}: until the answer is there`, Math.max(answered, 0), "ms");
};

const served = async () => {
  const begun = performance.now();
  const { server, link } = await serve();
  note("start of the server", (performance.now() - begun) / 1000, "s");
  const first = await view(link);
  await shows(first.page, hasRows);
  note("first view, the first of this server", (performance.now() - first.begun) / 1000, "s", 1);
  note("CPU of the server until then", cost(server.pid).cpu, "s");
  await shows(first.page, hasFindings);
  await said(first.page);
  note("findings, the first time", (performance.now() - first.begun) / 1000, "s");
  note("CPU of the server until the findings", cost(server.pid).cpu, "s");
  const again = await view(link);
  await shows(again.page, hasRows);
  note("first view, of another viewer", (performance.now() - again.begun) / 1000, "s", 1);
  const { page } = again;
  await shows(page, hasFindings);
  await page.locator("#rows").focus();
  await act(page, "open a group", () => page.keyboard.press("ArrowRight"));
  await act(page, "scroll 2,000 rows", () => page.evaluate(() => { document.querySelector("#rows").scrollTop += 50_000; }));
  await act(page, "zoom in", () => page.keyboard.press("+"));
  await act(page, "move on in time", () => page.keyboard.press("l"));
  await act(page, "set the cursor", () => page.locator(".overview").click({ position: { x: 500, y: 15 } }));
  await act(page, "open an object", async () => { await page.locator("[role=treeitem][aria-level='2'] .name, [role=treeitem][aria-level='3'] .name").first().click(); });
  await act(page, "its YAML", () => page.keyboard.press("2"));
  await act(page, "one change back", () => page.keyboard.press("["));
  await act(page, "filter by a name", async () => { await page.locator("#filter").fill("node-00042"); await page.locator("#filter").press("Enter"); });
  await act(page, "filter by an image", async () => { await page.locator("#filter").fill("image:nginx"); await page.locator("#filter").press("Enter"); });
  const pods = execFileSync(KETCD, ["-f", file, "ls", "pods", "-A", "--no-headers"], { encoding: "utf8", maxBuffer: 1 << 30 });
  const [namespace, pod] = pods.trimEnd().split("\n").at(-1).split(/\s+/);
  await act(page, "a decision among all nodes", () => page.evaluate((hash) => { location.hash = hash; }, `#object=pod/${namespace}/${pod}&tab=decision`));
  const bytes = [...page.answers.values()].reduce((sum, { bytes }) => Math.max(sum, bytes), 0);
  note("the largest answer", bytes / 1000, "KB");
  // Whatever happens, what is in sight is asked for anew once in that many seconds.
  const fresh = await view(link);
  await shows(fresh.page, hasRows);
  await shows(fresh.page, hasFindings);
  await shows(fresh.page, isStill);
  const renewed = [...fresh.page.answers.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  for (const { name, bytes } of fresh.page.answers.values()) note(`answer ${name}`, bytes / 1000, "KB");
  note("bytes a second to a viewer, at most", renewed / FOLLOW_SECONDS / 1000, "KB/s", 200);
  const heap = watched(server.pid);
  const before = cost(server.pid).cpu;
  await Promise.all(Array.from({ length: VIEWERS }, async (_, number) => {
    const { page } = await view(`${link}&view=rows&q=${number}`);
    await shows(page, hasRows);
    await shows(page, hasFindings);
    await page.keyboard.press("+");
    await page.waitForTimeout(300);
    await shows(page, isStill);
  }));
  note(`heap of the server with ${VIEWERS} viewers, at most`, heap.end(), "MB", 300);
  note(`heap of the server with ${VIEWERS} viewers, afterwards`, cost(server.pid).heap, "MB", 300);
  note(`CPU of the server for ${VIEWERS} viewers`, cost(server.pid).cpu - before, "s");
  server.kill("SIGINT");
};

const reported = async () => {
  const path = join(folder, "report.html");
  const begun = performance.now();
  const writer = spawn(KETCD, ["-f", file, "report", "--out", path], { stdio: ["ignore", "ignore", "inherit"] });
  let most = 0;
  const timer = setInterval(() => { try { most = Math.max(most, cost(writer.pid).heap); } catch { /* it ended */ } }, 50);
  await new Promise((done) => writer.on("exit", done));
  clearInterval(timer);
  note("writing a report", (performance.now() - begun) / 1000, "s");
  note("heap of writing it", most, "MB");
  note("size of the report", statSync(path).size / 1e6, "MB", 50);
  const { page, begun: opened } = await view(`file://${path}`);
  await shows(page, hasRows);
  note("opening the report", (performance.now() - opened) / 1000, "s", 3);
  await act(page, "filter the report by a word", async () => { await page.locator("#filter").fill("kind:Pod"); await page.locator("#filter").press("Enter"); });
};

try {
  await served();
  await reported();
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
console.log("| what | is | aim |\n|---|---|---|");
for (const { what, value, unit, aim } of figures) console.log(`| ${what} | ${value.toLocaleString("en")} ${unit} | ${aim === null ? "–" : `${aim} ${unit}${value > aim ? ", missed" : ""}`} |`);
console.log(JSON.stringify(Object.fromEntries(figures.map(({ what, value, unit }) => [`${what} (${unit})`, value]))));
