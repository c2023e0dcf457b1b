// Every view of three clusters: opens without a problem, axe finds nothing, and it says what it is for.
import { CAPTURES, equals, filter, holds, open, settled, sound, test } from "./harness.mjs";

const TABS = ["Timeline", "YAML", "Diff", "Events", "Related", "Decision", "Node"];

/** Opens the first row of a kind that matches. */
const openFirst = async (page, text) => {
  await filter(page, text);
  const row = page.locator("[role=treeitem][aria-level='2'] .name, [role=treeitem][aria-level='3'] .name").first();
  await row.click();
  await settled(page);
};

for (const capture of CAPTURES) {
  for (const from of ["served", "file"]) {
    test(`views: rows of ${capture}, ${from}`, async () => {
      const page = await open({ capture, from });
      for (const group of ["owner", "node", "none", "namespace"]) {
        await page.locator(".tools select").selectOption(group);
        await settled(page);
        holds((await page.locator("[role=treeitem]").count()) > 5, `few rows by ${group}`);
        await sound(page, `by ${group}`);
      }
      await page.context().close();
    });

    test(`views: a pod and a node of ${capture}, ${from}`, async () => {
      const page = await open({ capture, from, hash: "deleted=false" });
      for (const [kind, tabs] of [["kind:Pod", TABS.slice(0, 6)], ["kind:Node", [...TABS.slice(0, 5), "Node"]]]) {
        await openFirst(page, kind);
        for (const tab of tabs) {
          await page.getByRole("tab", { name: tab, exact: true }).click();
          await settled(page);
          holds((await page.locator(".panel .body").innerText()).trim().length > 3, `${tab} of ${kind} is empty`);
          await sound(page, `${tab} of ${kind}`);
        }
      }
      await page.context().close();
    });

    test(`views: what changed in ${capture}, ${from}`, async () => {
      const page = await open({ capture, from, hash: "view=changed" });
      holds((await page.locator(".changed table tbody tr").count()) > 0, "nothing changed");
      await sound(page, "changed");
      await page.context().close();
    });
  }
}

for (const from of ["served", "file"]) test(`views: a finding is jumped to, with its causes, ${from}`, async () => {
  const page = await open({ capture: "k120-story", from });
  await page.locator(".finding button").filter({ hasText: "unschedulable" }).first().click();
  await settled(page);
  holds((await page.locator(".finding.picked .cause").count()) > 0, "no cause");
  holds((await page.locator(".panel h2").innerText()).includes("tomcat"), "another object");
  const decision = await page.locator(".panel .body").innerText();
  for (const words of ["NodePorts", "NodeAffinity", "nodes by reason", "Nodes by plugins"]) holds(decision.includes(words), `its decision does not say ${words}`);
  await sound(page, "a finding");
  await page.context().close();
});

test("views: what a filter does not match is gone, with a count", async () => {
  const page = await open({ capture: "k120-story" });
  await filter(page, "kind:Pod ubuntu");
  const counts = await page.locator("#counts").innerText();
  holds(/^\d+ objects? · [\d,]+ hidden by the filter/.test(counts), counts);
  const names = await page.locator("[role=treeitem] .kind").allInnerTexts();
  holds(names.length > 0 && names.every((kind) => kind === "Pod"), names.join());
  await filter(page, "nothing is called like this");
  holds((await page.locator(".empty").innerText()).includes("hidden by the filter"), "no word about what is hidden");
  await page.context().close();
});

test("views: copied as Markdown, with the link", async () => {
  const page = await open({ capture: "k120-story", hash: "title=Monday" });
  await page.locator(".finding button").first().click();
  await settled(page);
  await page.getByRole("button", { name: "Markdown" }).click();
  await page.locator(".toast").waitFor();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  holds(text.startsWith("## Monday\n") && text.includes("### Findings") && text.includes("#") && !text.includes("token="), text);
  await page.context().close();
});

test("views: a decision has weights, totals, the runner-up and each comparison", async () => {
  const page = await open({ capture: "k120-story", hash: "object=pod/lab/weighted&tab=decision&pick=node3" });
  const text = await page.locator("#tab-body").innerText();
  for (const words of ["Scheduled to node3", "Total", "raw", "normalized", "weight", "The computed decision is the recorded one"]) holds(text.includes(words), `${words} is not in ${text}`);
  await page.locator("tr.chosen").waitFor();
  const tied = await open({ capture: "k120-story", hash: "object=pod/lab/ubuntu&tab=decision" });
  holds((await tied.locator("tr.second").count()) === 1 && (await tied.locator("#tab-body").innerText()).includes("runner-up"), "no runner-up");
  await page.context().close();
  await tied.context().close();
});

for (const from of ["served", "file"]) {
  test(`views: a node has its pods over time, what they request, conditions, taints and heartbeat, ${from}`, async () => {
    const page = await open({ capture: "k120-story", from, hash: "object=node/node2&tab=node&at=r1350" });
    const text = await page.locator("#tab-body").innerText();
    for (const words of ["Requested of allocatable", "of 4", "Conditions", "Ready Unknown", "Taints", "node.kubernetes.io/unreachable", "pods in the visible time"]) holds(text.includes(words), `${words} is not in ${text}`);
    holds(/last (heartbeat|status)/.test(text), "no heartbeat");
    const pods = await page.locator(".podlist").innerText();
    for (const name of ["spread-1", "agent-"]) holds(pods.includes(name), `${name} is not among ${pods}`);
    await page.context().close();
  });

  test(`views: every view is of the cursor, ${from}`, async () => {
    const page = await open({ capture: "k120-story", from, hash: "object=deployment/web/tomcat&tab=yaml&at=r560" });
    const then = await page.locator(".yaml").innerText();
    await page.locator("#moment").fill("r1700");
    await page.locator("#moment").press("Enter");
    await settled(page);
    holds((await page.locator(".yaml").innerText()) !== then, "the YAML is that of another moment");
    await page.locator("#moment").fill("22:16:05");
    await page.locator("#moment").press("Enter");
    await settled(page);
    holds((await page.locator(".note.warn").innerText()).includes("not there yet"), "it is there before it was created");
    await page.locator("#moment").fill("whenever");
    await page.locator("#moment").press("Enter");
    holds((await page.locator(".toast").innerText()).includes("a moment is"), "a wrong moment is taken");
    await page.context().close();
  });
}

test("views: printed, the page is a report: nothing to click, nothing cut", async () => {
  const page = await open({ capture: "k120-story" });
  await page.locator(".finding button").filter({ hasText: "unschedulable" }).first().click();
  await settled(page);
  await page.emulateMedia({ media: "print" });
  const printed = await page.evaluate(() => ({
    tools: [...document.querySelectorAll(".top nav, .tools, .tabs, .bar")].filter((element) => element.checkVisibility()).length,
    cut: [...document.querySelectorAll(".findings, .panel .body")].filter((element) => element.scrollHeight > element.clientHeight + 1).length,
    shown: ["h1", ".findings", ".panel h2", "#tab-body"].filter((selector) => document.querySelector(selector)?.checkVisibility()).length,
  }));
  equals(printed, { tools: 0, cut: 0, shown: 4 }, "the printed page");
  await page.context().close();
});

test("views: nothing moves for those who asked for that", async () => {
  for (const [reduced, name] of [[true, "none"], [false, "busy"]]) {
    const page = await open({ capture: "k120-story", reduced });
    await page.evaluate(() => document.querySelector(".busy").classList.add("on"));
    equals(await page.evaluate(() => getComputedStyle(document.querySelector(".busy")).animationName), name, `animation, ${reduced ? "reduced" : "not reduced"}`);
    await page.context().close();
  }
});
