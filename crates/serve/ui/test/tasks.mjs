// What somebody has to find out at 3 a.m., done in the page with the mouse and the keyboard as a reader would: each click, key and typed word is counted.
// node test/tasks.mjs, with KETCD and KETCD_TEST_CHROMIUM; tools/page --tasks does. Prints the table of docs/how-to/in-a-browser.md.
import { close, holds, open, settled } from "./harness.mjs";

/** A task that takes more shows what to mend. */
const MOST_STEPS = 5;

/** How long an answer may take before a task has failed. */
const LONGEST_MS = 20_000;

/** A page whose steps are counted. */
const counted = (page) => {
  let steps = 0;
  const step = async (action) => {
    steps += 1;
    await action();
    await settled(page);
  };
  return {
    count: () => steps,
    click: (selector, text) => step(() => (text === undefined ? page.locator(selector) : page.locator(selector).filter({ hasText: text })).first().click()),
    tab: (name) => step(() => page.getByRole("tab", { name, exact: true }).click()),
    press: (key) => step(() => page.keyboard.press(key)),
    /** A word that is typed counts as one step, and so does the key that ends it. */
    type: async (text) => {
      await step(() => page.keyboard.type(text));
      await step(() => page.keyboard.press("Enter"));
    },
  };
};

/** Waits until a part of the page says some words. */
const says = async (page, selector, ...words) => {
  const isSaid = ({ selector, words }) => { const text = document.querySelector(selector)?.innerText ?? ""; return words.every((word) => text.includes(word)); };
  await page.waitForFunction(isSaid, { selector, words }, { polling: 50, timeout: LONGEST_MS }).catch(async () => {
    holds(false, `${selector} does not say ${words.join(", ")}: ${(await page.locator(selector).first().innerText().catch(() => "nothing")).slice(0, 400)}`);
  });
};

/** Each task: what is asked, how it is done in words, and the steps. */
const TASKS = [
  ["What is broken?", "it is on the first view", async ({ page }) => says(page, ".findings", "unschedulable", "CrashLoopBackOff")],
  ["What was broken at 22:20:30?", "`@`, the time, Enter", async ({ page, steps }) => {
    await steps.press("@");
    await steps.type("22:20:30");
    await says(page, ".findings", "silent");
  }],
  ["When did the node really stop, and when was it noticed?", "as above, then the finding", async ({ page, steps }) => {
    await steps.press("@");
    await steps.type("22:20:30");
    await steps.click(".finding button", "silent");
    await says(page, ".finding.picked", "noticed");
    await says(page, ".panel", "node2");
  }],
  ["What ran on it?", "the node's row, tab Node", async ({ page, steps }) => {
    await steps.click("[role=treeitem] .name", "node2");
    await steps.tab("Node");
    await says(page, ".podlist", "spread-1", "agent-tc9j2");
  }],
  ["Did somebody touch the node before?", "the node's row: its changes have their authors", async ({ page, steps }) => {
    await steps.click("[role=treeitem] .name", "node2");
    await says(page, "#tab-body", "kubectl-taint");
  }],
  ["Why does the pod find no node, and what would help?", "the finding: its decision opens", async ({ page, steps }) => {
    await steps.click(".finding button", "unschedulable");
    await says(page, "#tab-body", "NodePorts", "NodeAffinity", "What would let it in");
  }],
  ["Which port is taken, and whose is it?", "the finding, then the refusing cell", async ({ page, steps }) => {
    await steps.click(".finding button", "unschedulable");
    await steps.click("td.no button");
    await says(page, "#tab-body", "8080");
  }],
  ["Who changed what led to it?", "the finding: its causes", async ({ page, steps }) => {
    await steps.click(".finding button", "unschedulable");
    await says(page, ".finding.picked", "Cause", "by ");
  }],
  ["Who set the image, and when?", "`/`, the name, Enter, the row, tab YAML", async ({ page, steps }) => {
    await steps.press("/");
    await steps.type("kind:Deployment tomcat");
    await steps.click("[role=treeitem][aria-level='2'] .name");
    await steps.tab("YAML");
    await says(page, ".yaml", "image: ", "kubectl");
  }],
  ["Who deleted it, and what was in it?", "`/`, the name, Enter, the row: the last change", async ({ page, steps }) => {
    await steps.press("/");
    await steps.type("kind:ConfigMap scratch/x");
    await steps.click("[role=treeitem][aria-level='2'] .name");
    await says(page, "#tab-body", "Deleted");
  }],
];

let failed = 0;
console.log("| question | in the page | steps |\n|---|---|---|");
for (const [question, way, run] of TASKS) {
  const page = await open({ capture: "k120-story" });
  const steps = counted(page);
  try {
    await run({ page, steps });
    holds(steps.count() <= MOST_STEPS, `it takes ${steps.count()} steps`);
    console.log(`| ${question} | ${way} | ${steps.count()} |`);
  } catch (error) {
    failed += 1;
    console.log(`| ${question} | FAILED | ${steps.count()} |\n${error.stack}`);
  }
  await page.context().close();
}
await close();
process.exit(failed > 0 ? 1 : 0);
