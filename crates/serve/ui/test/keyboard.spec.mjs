// The page by keyboard alone.
import { equals, fragment, holds, open, settled, sound, test } from "./harness.mjs";

const press = async (page, ...keys) => {
  for (const key of keys) await page.keyboard.press(key);
  await settled(page);
};

test("keyboard: to a finding, through changes and tabs, and out", async () => {
  const page = await open({ capture: "k120-story" });
  await press(page, "f");
  holds((await page.locator(".panel h2").count()) === 1, "f does not open a finding");
  await press(page, "1", "[");
  const first = await page.locator(".panel > header .steps").innerText();
  await press(page, "]");
  holds((await page.locator(".panel > header .steps").innerText()) !== first, "] does not step");
  await press(page, "2");
  holds((await page.locator(".yaml .code").count()) > 5, "2 is not YAML");
  await press(page, "3", "4", "5");
  equals(await page.locator("[role=tab][aria-selected=true]").innerText(), "Related", "5");
  await press(page, "Escape");
  equals(await page.locator(".panel").count(), 0, "Escape");
  await page.context().close();
});

test("keyboard: through rows and groups", async () => {
  const page = await open({ capture: "k120-story" });
  await press(page, "/");
  await page.keyboard.type("kind:Pod");
  await press(page, "Enter");
  await page.locator("#filter").blur();
  await press(page, "j", "j", "Enter");
  holds((await page.locator(".panel h2").innerText()).startsWith("Pod "), "Enter does not open a row");
  const active = await page.locator("#rows").getAttribute("aria-activedescendant");
  equals(await page.locator(`#${active}`).getAttribute("role"), "treeitem", "the active row");
  await press(page, "Home", "ArrowLeft");
  equals(await page.locator("#row-0").getAttribute("aria-expanded"), "false", "ArrowLeft shuts a group");
  await press(page, "ArrowRight");
  equals(await page.locator("#row-0").getAttribute("aria-expanded"), "true", "ArrowRight opens it");
  await page.context().close();
});

test("keyboard: time, grouping, what changed, keys", async () => {
  const page = await open({ capture: "k120-story" });
  await press(page, "+", "h", "l", "-", "+", "g", "x", "q", ",", ";", "z", "d");
  const link = await fragment(page);
  for (const word of ["from=", "group=owner", "deleted=false", "quiet=true", "zone=local", "view=changed", "at="]) holds(link.includes(word), `${word} in ${link}`);
  await press(page, "d", "0", ".");
  holds(!(await fragment(page)).includes("from="), "0 is not the whole window");
  await page.keyboard.press("?");
  await page.locator("dialog[open]").waitFor();
  await sound(page, "keys");
  await page.keyboard.press("Escape");
  equals(await page.locator("dialog[open]").count(), 0, "Escape closes the list");
  await page.context().close();
});

test("keyboard: everything that can be clicked is reached by Tab", async () => {
  const page = await open({ capture: "k120-story", hash: "q=ubuntu" });
  await press(page, "j", "j", "Enter", "1");
  const wanted = await page.evaluate(() => [...document.querySelectorAll("button:not([disabled]):not([tabindex='-1']), input, select, summary, [tabindex='0']")].filter((element) => element.checkVisibility() && !element.closest("dialog")).length);
  const reached = new Set();
  await page.evaluate(() => document.activeElement?.blur());
  for (let turn = 0; turn < wanted + 5; turn += 1) {
    await page.keyboard.press("Tab");
    reached.add(await page.evaluate(() => { const element = document.activeElement; element.dataset.reached ??= String(Math.random()); return element.dataset.reached; }));
  }
  holds(reached.size >= wanted, `${reached.size} of ${wanted} are reached`);
  await page.context().close();
});
