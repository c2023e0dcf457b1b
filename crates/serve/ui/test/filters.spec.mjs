// What rows are found by, in the served page and in a report alike: what does not match is gone and counted.
import { equals, filter, holds, open, settled, test } from "./harness.mjs";

const FILTERS = [
  "ubuntu", "kind:Pod,Node", "namespace:web kind:Pod", "label:app=tomcat kind:Pod", 'label:"app in (tomcat,db),app!=db" kind:Pod', "image:tomcat", "by:kubectl-label", "revision:513", "reason:FailedScheduling", "reason:NodePorts",
  'message:"free ports"', "node:node2 kind:Pod", "kind:Pod by:kube-scheduler",
];

const found = async (page) => ({
  names: (await page.locator("[role=treeitem][aria-level='2'], [role=treeitem][aria-level='3'], [role=treeitem][aria-level='4'], [role=treeitem][aria-level='5']").evaluateAll((rows) => rows.map((row) => `${row.querySelector(".kind")?.textContent} ${row.querySelector(".text")?.textContent}`))).sort(),
  matching: (await page.locator("#counts").innerText()).split(" · ")[0],
});

test("filters: find the same in a report as in the served page", async () => {
  const pages = [];
  for (const from of ["served", "file"]) pages.push(await open({ capture: "k120-story", from, hash: "quiet=true&group=none", height: 3000 }));
  for (const text of FILTERS) {
    const results = [];
    for (const page of pages) {
      await filter(page, text);
      const counts = await page.locator("#counts").innerText();
      holds(counts.includes("hidden by the filter"), `${text}: ${counts}`);
      results.push(await found(page));
    }
    holds(results[0].names.length > 0, `${text} finds nothing`);
    equals(results[1], results[0], text);
  }
  for (const page of pages) {
    equals(page.problems, [], "problems");
    await page.context().close();
  }
});

test("filters: a selector that cannot be read is said in words", async () => {
  for (const from of ["served", "file"]) {
    const page = await open({ capture: "k120-story", from });
    await page.locator("#filter").fill("label:a=b=c");
    await page.locator("#filter").press("Enter");
    await page.locator(".note.bad[role=alert]").waitFor();
    holds((await page.locator(".note.bad[role=alert]").innerText()).includes("label"), from);
    await page.context().close();
  }
});

test("filters: deleted objects are shown, marked, and left out where asked", async () => {
  const page = await open({ capture: "k120-story", hash: "kind=ConfigMap&q=scratch" });
  holds((await page.locator(".row.gone").count()) > 0, "no deleted object");
  await page.keyboard.press("x");
  await settled(page);
  equals(await page.locator(".row.gone").count(), 0, "deleted objects after x");
  await page.context().close();
});
