// Names, reasons and messages that would like to be markup, script or a prototype are shown as they are written.
import { equals, HOSTILE, holds, open, settled, test } from "./harness.mjs";

const TABS = ["Timeline", "YAML", "Diff", "Events", "Related"];

for (const from of ["served", "file"]) {
  test(`hostile: data stays text, ${from}`, async () => {
    const page = await open({ capture: HOSTILE, from, hash: "quiet=true&group=none&title=%3Cscript%3Ewindow.owned%3D4%3C%2Fscript%3E" });
    let shown = await page.locator("#page").innerText();
    const rows = await page.locator("[role=treeitem][aria-level='2']").count();
    holds(rows > 3, `${rows} rows`);
    for (let number = 1; number <= rows; number += 1) {
      const row = page.locator(`#row-${number} .name`);
      await row.click();
      for (const tab of TABS) {
        await page.getByRole("tab", { name: tab, exact: true }).click();
        await settled(page);
        shown += await page.locator("#page").innerText();
      }
    }
    await page.locator("button", { hasText: "What changed" }).click();
    await settled(page);
    shown += await page.locator("#page").innerText();
    const found = await page.evaluate(() => ({
      owned: String(window.owned),
      polluted: String({}.polluted),
      foreign: document.querySelectorAll("#page :is(img, iframe, object, embed, link, base, script, style, [onmouseover], [onerror], [href], [src])").length,
      unseen: /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(document.querySelector("#page").innerText),
    }));
    equals(found, { owned: "undefined", polluted: "undefined", foreign: 0, unseen: false }, "the document");
    holds(shown.includes("<script>") && shown.includes("\\u{202e}"), "what is written is not shown");
    equals(page.problems, [], "problems");
    await page.context().close();
  });
}
