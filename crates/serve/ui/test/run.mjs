// Runs the page's tests: node test/run.mjs [WORD…], with KETCD and KETCD_TEST_CHROMIUM. tools/page --test does.
import { readdirSync } from "node:fs";
import { close, tests } from "./harness.mjs";

for (const name of readdirSync(import.meta.dirname).filter((name) => name.endsWith(".spec.mjs")).sort()) await import(`./${name}`);

const words = process.argv.slice(2);
const chosen = tests.filter(({ name }) => words.every((word) => name.includes(word)));
let failed = 0;
for (const { name, run } of chosen) {
  try {
    await run();
    console.log(`ok      ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n${error.stack}`);
  }
}
await close();
console.log(`${chosen.length - failed} of ${chosen.length} hold`);
process.exit(failed > 0 || chosen.length === 0 ? 1 : 0);
