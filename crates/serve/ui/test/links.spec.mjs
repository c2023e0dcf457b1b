// Every state is a link that opens the same view: anew, after going back, and in the report as in the served page.
import { equals, filter, fragment, holds, open, seen, settled, test } from "./harness.mjs";

/** A view as a reader comes to it. */
const look = async (page) => {
  await filter(page, "ubuntu kind:Pod");
  await page.locator("[role=treeitem][aria-level='2'] .name").first().click();
  await settled(page);
  await page.getByRole("tab", { name: "YAML" }).click();
  await page.keyboard.press("Escape");
  await page.goBack();
  await settled(page);
  await page.keyboard.press("[");
  await page.keyboard.press("+");
  await page.keyboard.press("+");
  await page.keyboard.press("z");
  await page.keyboard.press("n");
  await settled(page);
};

for (const from of ["served", "file"]) {
  test(`links: opened anew, ${from}`, async () => {
    const page = await open({ capture: "k120-story", from, hash: "title=A%20title" });
    await look(page);
    const [link, before] = [await fragment(page), await seen(page)];
    holds(link.includes("object=") && link.includes("title=A%20title") && link.includes("from=") && !link.includes("token"), link);
    const again = await open({ capture: "k120-story", from, hash: link });
    equals(await seen(again), before, "the view of a link opened anew");
    await page.reload();
    await settled(page);
    equals(await seen(page), before, "the view after a reload");
    equals([page.problems, again.problems], [[], []], "problems");
    await page.context().close();
    await again.context().close();
  });
}

test("links: of the served page in the report", async () => {
  const page = await open({ capture: "k120-story", from: "served" });
  await look(page);
  const report = await open({ capture: "k120-story", from: "file", hash: await fragment(page) });
  const [a, b] = [await seen(page), await seen(report)];
  for (const each of [a, b]) delete each.title;
  // A report counts the rows that it has.
  for (const each of [a, b]) delete each.counts;
  equals(b, a, "the view in the report");
  await page.context().close();
  await report.context().close();
});

test("links: that cannot be read are the view as at first", async () => {
  const page = await open({ capture: "k120-story", hash: "at=never&from=x&to=y&tab=%E0%A4%A&group=all&object=pod/no/such&in=%25%25&zone=moon" });
  holds((await page.locator(".panel").innerText()).length > 0, "no panel");
  equals(page.problems.filter((problem) => !problem.includes("404")), [], "problems");
  await page.context().close();
});

test("links: back goes back", async () => {
  const page = await open({ capture: "k120-story" });
  const first = await seen(page);
  await page.locator(".finding button").first().click();
  await settled(page);
  holds((await seen(page)).object, "no object");
  await page.goBack();
  await settled(page);
  equals(await seen(page), first, "the view after going back");
  await page.context().close();
});
