// Four sizes, dark and light: nothing is cut, axe finds nothing, and it looks as it did. KETCD_BLESS=1 keeps pictures that differ.
import { mkdirSync, readFileSync, writeFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { filter, holds, open, settled, sound, test } from "./harness.mjs";

const SIZES = [[360, 740], [820, 1180], [1440, 900], [3840, 2160]];
const PICTURES = join(import.meta.dirname, "pictures");
/** How wide kept pictures are: fonts differ between machines, and small pictures hardly show it. */
const KEPT_WIDTH = 360;
/** How much of the range of a colour may differ on average. */
const TOLERANCE = 0.02;

/** Makes a screenshot small, and compares it with the one that was kept: the mean difference of colours, from 0 to 1. */
const compared = (page, shot, kept) =>
  page.evaluate(
    async ({ shot, kept, width }) => {
      const pixels = async (base64) => {
        const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
        const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }), { resizeWidth: width, resizeQuality: "high" });
        const canvas = new OffscreenCanvas(image.width, image.height);
        const context = canvas.getContext("2d");
        context.drawImage(image, 0, 0);
        return { canvas, data: context.getImageData(0, 0, image.width, image.height).data };
      };
      const now = await pixels(shot);
      const blob = await now.canvas.convertToBlob({ type: "image/png" });
      const small = btoa(Array.from(new Uint8Array(await blob.arrayBuffer()), (byte) => String.fromCharCode(byte)).join(""));
      if (!kept) return { small, difference: 1 };
      const before = await pixels(kept);
      if (before.data.length !== now.data.length) return { small, difference: 1 };
      let sum = 0;
      for (let index = 0; index < now.data.length; index += 1) sum += Math.abs(now.data[index] - before.data[index]);
      return { small, difference: sum / now.data.length / 255 };
    },
    { shot, kept, width: KEPT_WIDTH },
  );

const pictured = async (page, name) => {
  const path = join(PICTURES, `${name}.png`);
  const kept = existsSync(path) ? readFileSync(path).toString("base64") : null;
  const shot = (await page.screenshot({ animations: "disabled", caret: "hide" })).toString("base64");
  const { small, difference } = await compared(page, shot, kept);
  if (difference <= TOLERANCE) return;
  if (process.env.KETCD_BLESS) {
    mkdirSync(PICTURES, { recursive: true });
    writeFileSync(path, Buffer.from(small, "base64"));
    return;
  }
  holds(false, `${name} looks different (${difference.toFixed(3)}); tools/page --bless KETCD keeps the new picture`);
};

for (const [width, height] of SIZES) {
  for (const dark of [false, true]) {
    test(`sizes: ${width} × ${height}, ${dark ? "dark" : "light"}`, async () => {
      const page = await open({ capture: "k120-story", width, height, dark });
      const name = `${width}-${dark ? "dark" : "light"}`;
      await sound(page, "rows");
      await pictured(page, `rows-${name}`);
      await page.locator(".finding button").filter({ hasText: "unschedulable" }).first().click();
      await settled(page);
      await sound(page, "a finding");
      await pictured(page, `decision-${name}`);
      await page.getByRole("tab", { name: "YAML" }).click();
      await settled(page);
      await sound(page, "YAML");
      await pictured(page, `yaml-${name}`);
      await page.context().close();
    });
  }
}

test("sizes: a large list stays small in the document", async () => {
  const page = await open({ capture: "k120-story", hash: "quiet=true&group=none" });
  await filter(page, "");
  const drawn = await page.locator("[role=treeitem]").count();
  holds(drawn > 10 && drawn < 120, `${drawn} rows are drawn`);
  await page.context().close();
});
