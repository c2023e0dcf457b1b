// Every view of three clusters: opens without a problem, axe finds nothing, and it says what it is for.
import { CAPTURES, filter, holds, open, settled, sound, test } from "./harness.mjs";

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

test("views: a finding is jumped to, with its causes", async () => {
  const page = await open({ capture: "k120-story" });
  await page.locator(".finding button").filter({ hasText: "unschedulable" }).first().click();
  await settled(page);
  holds((await page.locator(".finding.picked .cause").count()) > 0, "no cause");
  holds((await page.locator(".panel h2").innerText()).includes("tomcat"), "another object");
  holds((await page.locator(".panel .body").innerText()).includes("NodePorts"), "its decision does not name the plugin");
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
