// What the page's tests share: ketcd's page on recorded clusters, served and as a report, and a browser that notes every problem.
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { chromium } from "playwright-core";

const here = import.meta.dirname;
const TESTDATA = resolve(here, "../../../../testdata");
const AXE = readFileSync(resolve(here, "../node_modules/axe-core/axe.min.js"), "utf8");

/** Three clusters with a story each, and one that would like to be markup, script or a prototype. */
export const CAPTURES = ["k120-story", "k131-burst", "k137-story"];
export const HOSTILE = "hostile";

/** What the page and its pictures name is the same wherever the repository lies. */
const FILE = "snapshot.db.zst";
export const folderOf = (capture) => (capture === HOSTILE ? `${TESTDATA}/hostile` : `${TESTDATA}/captures/${capture}`);

export const tests = [];
export const test = (name, run) => tests.push({ name, run });

const folder = mkdtempSync(join(tmpdir(), "ketcd-page-"));
const servers = new Map();
const reports = new Map();
let browser = null;

/** The link of a server's page. */
const served = (capture) => {
  if (!servers.has(capture)) {
    const process_ = spawn(process.env.KETCD, ["-f", FILE, "ui", "--no-open"], { cwd: folderOf(capture), stdio: ["ignore", "ignore", "pipe"] });
    const link = new Promise((done, failed) => {
      let said = "";
      process_.stderr.setEncoding("utf8").on("data", (text) => {
        said += text;
        const found = said.match(/https?:\/\/\S+\/ui\/#\S+/);
        if (found) done(found[0]);
      });
      process_.on("exit", () => failed(new Error(`it does not serve: ${said}`)));
    });
    servers.set(capture, { process_, link });
  }
  return servers.get(capture).link;
};

/** The address of a report. */
const reported = (capture) => {
  if (!reports.has(capture)) {
    const path = join(folder, `${capture}.html`);
    reports.set(capture, promisify(execFile)(process.env.KETCD, ["-f", FILE, "report", "--out", path], { cwd: folderOf(capture) }).then(() => `file://${path}`));
  }
  return reports.get(capture);
};

/** Opens a view. The page's `problems` are what went wrong in it: errors, what the policy blocked, requests to elsewhere. */
export const open = async ({ capture, from = "served", hash = "", width = 1440, height = 900, dark = false, reduced = true, prepared = null }) => {
  browser ??= await chromium.launch({ executablePath: process.env.KETCD_TEST_CHROMIUM, args: ["--no-sandbox", "--font-render-hinting=none"] });
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", reducedMotion: reduced ? "reduce" : "no-preference", timezoneId: "Asia/Kolkata", permissions: ["clipboard-read", "clipboard-write"] });
  await prepared?.(context);
  const page = await context.newPage();
  const link = from === "file" ? await reported(capture) : await served(capture);
  const origin = new URL(link).origin;
  page.problems = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.problems.push(message.text()));
  page.on("pageerror", (error) => page.problems.push(String(error.stack)));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith("data:") && !(from === "file" ? url.startsWith("file:") : url.startsWith(origin))) page.problems.push(`asks ${url}`);
  });
  await page.goto(from === "file" ? `${link}#${hash}` : `${link}&${hash}`);
  await settled(page);
  return page;
};

/** Waits until every answer is there. */
export const settled = async (page) => {
  await page.waitForFunction(
    () => {
      const counts = document.querySelector("#counts, .changed table, .changed .note");
      const reads = [...document.querySelectorAll("[role=status]")].some((element) => element.textContent.includes("Reading…"));
      // Until they are there, the list of findings has no number.
      const findings = document.querySelector(".findings h2 button")?.textContent.trim().endsWith("Findings") && !document.querySelector(".findings .note");
      const busy = findings || document.querySelector(".busy.on, .name.faint");
      const now = document.querySelector("#page")?.innerText.length;
      const same = window.lastLength === now;
      window.lastLength = now;
      return counts && !reads && !busy && same;
    },
    null,
    { polling: 120, timeout: 60_000 },
  );
};

/** Says what is wrong if `what` does not hold. */
export const holds = (what, words) => {
  if (!what) throw new Error(words);
};

export const equals = (is, should, words) => holds(JSON.stringify(is) === JSON.stringify(should), `${words}:\n  is     ${JSON.stringify(is)}\n  should ${JSON.stringify(should)}`);

/** Nothing went wrong, and axe finds nothing. */
export const sound = async (page, words) => {
  equals(page.problems, [], `${words}: problems`);
  const failed = await page.locator(".note.bad[role=alert]").allInnerTexts();
  equals(failed.filter((text) => !text.includes("Ask ketcd:")), [], `${words}: failures`);
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => (await window.axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 200)).join(" | ")}`));
  equals(found, [], `${words}: axe`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  holds(wide <= 0, `${words}: wider than the window by ${wide} px`);
};

/** What a reader sees of a view, apart from what says whether it is served. */
export const seen = (page) =>
  page.evaluate(() => ({
    cursor: document.querySelector(".now")?.value,
    stretch: document.querySelector(".stretch")?.textContent,
    filter: document.querySelector("#filter")?.value,
    counts: document.querySelector("#counts")?.textContent,
    title: document.title,
    selected: [...document.querySelectorAll("[aria-selected=true][role=treeitem] .text")].map((element) => element.textContent),
    object: document.querySelector(".panel h2")?.textContent,
    step: document.querySelector(".panel .steps")?.textContent,
    tab: document.querySelector("[role=tab][aria-selected=true]")?.textContent,
    zone: document.querySelector(".time .button:last-child")?.textContent,
    theme: document.documentElement.dataset.theme,
  }));

/** Types a filter, and returns once its rows are there. */
export const filter = async (page, text) => {
  await page.locator("#filter").fill(text);
  await page.locator("#filter").press("Enter");
  await settled(page);
};

/** The fragment of the page's URL, without a token. */
export const fragment = async (page) => {
  // The link follows movements a moment later.
  await page.waitForFunction(() => { const same = window.lastHash === location.hash; window.lastHash = location.hash; return same; }, null, { polling: 250 });
  return new URL(page.url()).hash.slice(1);
};

export const close = async () => {
  await browser?.close();
  for (const { process_ } of servers.values()) process_.kill();
  rmSync(folder, { recursive: true, force: true });
};
