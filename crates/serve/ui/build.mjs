// Builds the page: src/ to page.js, page.css, LICENSES.txt, and made-of.txt, which says of what. node build.mjs FOLDER
// Nothing in what is built depends on the folder, the machine or the time.
import { createHash } from "node:crypto";
import { build } from "esbuild";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

/** What the page may weigh, compressed. */
const MAX_GZIPPED_BYTES = 120 * 1024;

const folder = process.argv[2];
if (!folder) {
  console.error("usage: node build.mjs FOLDER");
  process.exit(2);
}
const here = import.meta.dirname;
const { dependencies } = JSON.parse(await readFile(`${here}/package.json`, "utf8"));
const licences = [];
for (const [name, version] of Object.entries(dependencies)) {
  const { license } = JSON.parse(await readFile(`${here}/node_modules/${name}/package.json`, "utf8"));
  const text = await readFile(`${here}/node_modules/${name}/LICENSE`, "utf8");
  licences.push({ name, version, license, text });
}
await mkdir(folder, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { page: "src/main.tsx" },
  outdir: folder,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022", "chrome117", "firefox115", "safari16.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "ascii",
  legalComments: "inline",
  banner: { js: `/*! ${licences.map(({ name, version, license }) => `${name} ${version} (${license})`).join(", ")}: see LICENSES.txt */` },
  logLevel: "warning",
});
await writeFile(`${folder}/LICENSES.txt`, `The page contains these libraries.\n\n${licences.map(({ name, version, text }) => `${name} ${version}\n\n${text.trim()}\n`).join("\n\n")}`);
const digest = async (path) => createHash("sha256").update(await readFile(path)).digest("hex");
const sources = (await readdir(`${here}/src`, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).map(({ parentPath, name }) => `${parentPath}/${name}`.slice(here.length + 1));
const lines = [];
for (const path of [...sources, "build.mjs", "package.json", "package-lock.json", "tsconfig.json"].sort()) lines.push(`${path} ${await digest(`${here}/${path}`)}\n`);
for (const name of ["LICENSES.txt", "page.css", "page.js"]) lines.push(`dist/${name} ${await digest(`${folder}/${name}`)}\n`);
await writeFile(`${folder}/made-of.txt`, lines.join(""));
let total = 0;
for (const name of ["page.css", "page.js"]) {
  const bytes = gzipSync(await readFile(`${folder}/${name}`), { level: 9 }).length;
  total += bytes;
  console.log(`${name}: ${bytes} bytes compressed`);
}
console.log(`together: ${total} of ${MAX_GZIPPED_BYTES}`);
if (total > MAX_GZIPPED_BYTES) process.exit(1);
