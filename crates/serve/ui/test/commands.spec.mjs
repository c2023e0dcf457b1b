// The command next to each view prints what `ketcd --link` prints of the view's link, and a report names the same commands as a server.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { equals, folderOf, fragment, holds, open, settled, test } from "./harness.mjs";

const CAPTURE = "k120-story";
const POD = "object=pod/lab/ubuntu";
/** Each view, and where its command stands: the last one on the page. */
const VIEWS = [
  "from=2026-11-20T22:16:00Z&to=2026-11-20T22:17:00Z",
  "kind=Pod&namespace=web&from=2026-11-20T22:16:00Z&to=2026-11-20T22:17:00Z",
  "view=changed&a=r600&b=r800",
  "view=changed&a=r600&b=r800&namespace=web",
  "view=changed&a=2026-11-20T22:16:00Z&b=2026-11-20T22:17:00.5Z",
  `${POD}&at=r900`, `${POD}&tab=yaml&at=r900`, `${POD}&tab=diff&a=r368&b=r370&at=r900`, `${POD}&tab=events&at=r900`, `${POD}&tab=related&at=r900`, `${POD}&tab=decision&at=r900`,
  "object=node/node2&tab=node&at=r900",
  `${POD}&at=2026-11-20T22:18:00Z`, `${POD}&tab=yaml&at=2026-11-20T22:18:00Z`, `${POD}&tab=decision&at=2026-11-20T22:18:00Z`,
];

/** What is printed; an exit code of 1 says that there are differences. */
const ran = async (words) => {
  const options = { cwd: folderOf(CAPTURE), maxBuffer: 64 << 20 };
  const ended = await promisify(execFile)(words[0], words.slice(1), options).catch((error) => (error.code === 1 ? error : Promise.reject(error)));
  return ended.stdout;
};
const shell = (command) => ran(["sh", "-c", command.replace(/^ketcd /, '"$0" '), process.env.KETCD]);
const commandOf = async (page) => (await page.locator(".command code").last().innerText()).trim();

for (const hash of VIEWS) {
  test(`commands: ${hash}`, async () => {
    const page = await open({ capture: CAPTURE, hash });
    const command = await commandOf(page);
    const [said, linked] = [await shell(command), await ran([process.env.KETCD, "-f", "snapshot.db.zst", "--link", `${new URL(page.url()).origin}/ui/#${await fragment(page)}`])];
    holds(said.length > 0, `${command} prints nothing`);
    equals(linked, said, `${command}, and the link`);
    const report = await open({ capture: CAPTURE, from: "file", hash });
    equals(await commandOf(report), command, "the command in a report");
    await page.context().close();
    await report.context().close();
  });
}

test("commands: of the findings", async () => {
  for (const from of ["served", "file"]) {
    const page = await open({ capture: CAPTURE, from, hash: "at=r1350" });
    await page.locator(".findings h2 .button").click();
    await page.locator(".toast").waitFor();
    const command = await page.evaluate(() => navigator.clipboard.readText().catch(() => document.querySelector(".findings h2 .button").title.replace("As text: ", "")));
    holds(command.endsWith(" triage --rev 1350"), `${from}: ${command}`);
    await page.context().close();
  }
});

test("commands: a link of a large cluster opens the group of its object", async () => {
  // Rows come without opening groups up to a number: a smaller one makes the cluster large.
  const prepared = (context) => context.route(/\/ui\/api\/rows\?/, (route) => route.continue({ url: route.request().url().replace("limit=500", "limit=10") }));
  for (const hash of ["object=pod/lab/ubuntu", "object=pod/lab/ubuntu&from=2026-11-20T22:20:00Z&to=2026-11-20T22:21:00Z"]) {
    const page = await open({ capture: CAPTURE, hash, prepared });
    await page.locator("[role=treeitem][aria-selected=true]").waitFor();
    await settled(page);
    const row = page.locator("[role=treeitem][aria-selected=true]");
    equals(await row.locator(".text").innerText(), "ubuntu", hash);
    const isSeen = await row.evaluate((element) => { const [row, box] = [element.getBoundingClientRect(), document.querySelector("#rows").getBoundingClientRect()]; return row.top >= box.top && row.bottom <= box.bottom; });
    holds(isSeen, `${hash}: its row is out of sight`);
    // So few rows have something in the minute that no group is closed.
    if (!hash.includes("from=")) holds((await fragment(page)).includes("in=ns:lab"), await fragment(page));
    await page.context().close();
  }
});
