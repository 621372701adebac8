import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

import { systemProgram } from "../../../src/sandbox/remedy.ts";
import { gone } from "../../support/running-at.ts";
import { Tmux, withoutTmux } from "../../support/tmux.ts";
import { until } from "../../support/until.ts";
import { chromiumPath, DashboardBrowser, NO_CHROMIUM } from "../../browser/dashboard-browser.ts";

const ROOT = join(import.meta.dirname, "../../..");
const npm = dirname(execFileSync("which", ["npm"], { encoding: "utf8" }));

/** `npm start` in a terminal, as somebody new types it; their temporary files are in their home. */
function start(
  home: string,
  env: Readonly<Record<string, string>> = {},
  within: readonly string[] = [],
): Tmux {
  const PATH = [home, npm, process.env["PATH"]].join(":");
  return new Tmux({
    command: [...within, "npm", "start", "--", "--port", "0"],
    cwd: ROOT,
    env: { PATH, HOME: home, TMPDIR: home, ...env },
    columns: 500,
  });
}

const demosIn = (home: string): string[] =>
  readdirSync(home).filter((name) => name.startsWith("trunkline-demo-"));

/** A place where bubblewrap is nowhere to be found. */
const bwrap = systemProgram("bwrap");
const hidden = `mount --bind /dev/null ${bwrap} && exec "$@"`;
const withoutSandbox =
  bwrap === undefined
    ? []
    : ["unshare", "--mount", "--propagation", "private", "sh", "-c", hidden, "sh"];
const [unshare = "true", ...words] = withoutSandbox;
const noPlace =
  spawnSync(unshare, [...words, "true"]).status === 0
    ? false
    : "bubblewrap cannot be hidden here: run it as root, or where it is not installed";

const noBrowser = chromiumPath() === undefined ? NO_CHROMIUM : false;

describe("npm start for somebody new", { timeout: 300_000, skip: withoutTmux() ?? false }, () => {
  it(
    "ends in the browser, at a session that asks, answers a comment, and leaves a branch",
    {
      skip: noBrowser,
    },
    async () => {
      await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-new-"));
      const home = folder.path;
      // It stands for the person's browser, which Chromium becomes below.
      const opened = join(home, "opened");
      writeFileSync(
        join(home, "xdg-open"),
        `#!/bin/sh\necho "$1" >'${opened}.part'\nmv '${opened}.part' '${opened}'\n`,
      );
      chmodSync(join(home, "xdg-open"), 0o755);
      await using browser = await DashboardBrowser.launch();
      await using terminal = start(home, { DISPLAY: ":0" });
      await terminal.shows(/A demo works in your browser/);
      await until(() => existsSync(opened));
      await using watched = await browser.open();
      const { page } = watched;
      await page.goto(readFileSync(opened, "utf8").trim());
      const asked = page.getByRole("region", { name: "Waiting for you" });
      await asked.getByText("sh test.sh").first().waitFor();
      await page.keyboard.press("y");
      await page.getByText("I wait for it").waitFor();
      await page.getByText("ok: greets the world").first().waitFor({ state: "attached" });
      await page.keyboard.press("2");
      const diff = page.getByRole("region", { name: "Diff of greet.sh" });
      await diff.getByText("${1:-world}").waitFor();
      await diff.getByRole("button", { name: "Comment on new line 3" }).click();
      await page.getByRole("textbox", { name: "Comment" }).fill("What does this do?");
      await page.getByRole("button", { name: "Comment", exact: true }).click();
      await diff.getByText("I explained the line in the script").waitFor();
      await asked.getByText("git commit").first().waitFor();
      await page.keyboard.press("y");
      await page.keyboard.press("1");
      await page.getByText("Done. The work is on the branch").waitFor();
      const [, branch = ""] =
        /app @ (trunkline\/\S+)/.exec(await page.locator(".session-head").innerText()) ?? [];
      const app = join(home, demosIn(home)[0] ?? "", "app");
      const git = (...args: string[]): string =>
        execFileSync("git", ["-C", app, ...args], { encoding: "utf8" });
      assert.match(git("show", `${branch}:greet.sh`), /# Without a name.*\n.*:-world/);
      assert.equal(git("status", "--porcelain"), "", "the checkout is as it was");
      watched.expectClean();
      terminal.press("C-c");
      await terminal.ended();
      await gone(home);
      assert.deepEqual(demosIn(home), []);
    },
  );

  it("offers the same in chat where no browser can be opened, and opens nothing in CI", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-new-"));
    const home = folder.path;
    {
      await using terminal = start(home, { CI: "true", DISPLAY: ":0" });
      await terminal.shows(/Stop with Ctrl-C/);
      terminal.press("C-c");
      await terminal.ended();
      assert.doesNotMatch(terminal.scrollback, /demo|browser/);
    }
    await using other = await mkdtempDisposable(join(tmpdir(), "trunkline-new-"));
    await using terminal = start(other.path);
    const shown = await terminal.shows(/no browser can be opened here/, /leaves nothing/);
    const [, chat = ""] = /^ {2}(sh .+)$/m.exec(shown) ?? [];
    assert.ok(chat.length < 80, chat);
    // A terminal that cannot move its cursor gets lines, with the question below what has led to it.
    const plain = (line: string): Tmux =>
      new Tmux({
        ...{ command: ["sh", "-c", line], cwd: ROOT, columns: 200, rows: 60 },
        env: { HOME: other.path, TERM: "dumb" },
      });
    for (const what of [
      /\? sh test\.sh[^]*1 or y\)/,
      /- sh test\.sh[^]*Plain mode[^]*\? sh test\.sh[^]*1 or y\)/,
    ]) {
      await using first = plain(chat);
      await first.shows(what);
      first.press("C-d");
      await first.ended();
    }
    await using second = new Tmux({
      command: ["sh", "-c", chat],
      cwd: ROOT,
      env: { HOME: other.path },
      columns: 200,
    });
    await second.shows(/Press a key to answer/);
    second.press("Tab");
    await second.shows(/Tab goes back/);
    second.press("y");
    await second.shows(/Wait for review comments/);
    second.press("C-d");
    await second.ended();
    const comment = chat.replace(/chat$/, "comment");
    assert.ok(second.scrollback.replaceAll(/\s/g, "").includes(comment.replaceAll(" ", "")));
    await using third = plain(`${comment} Why?; ${chat}`);
    await third.shows(/\? git commit[^]*1 or y\)/);
    third.enter("y");
    await third.shows(/✓ git commit/, /The work is on the branch `trunkline\/\S+`/);
    third.press("C-d");
    await third.ended();
    terminal.press("C-c");
    await terminal.ended();
    await gone(other.path);
    assert.deepEqual(demosIn(other.path), []);
  });

  it("offers to put `trunkline` into PATH, once, and commands are short then", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-new-"));
    const home = folder.path;
    const local = join(home, ".local/bin");
    const env = { PATH: [local, npm, "/usr/bin", "/bin"].join(":") };
    const answer = async (...keys: string[]): Promise<void> => {
      await using terminal = start(home, env);
      await terminal.shows(/instead of its path\?/, /\[y\/N\]/);
      terminal.press(...keys, "Enter");
      await until(() => existsSync(join(home, ".local/state/trunkline/path-offered")));
      if (keys.includes("y")) await terminal.shows(/Done: try `trunkline help`/);
      terminal.press("C-c");
      await terminal.ended();
    };
    await answer("n");
    assert.ok(!existsSync(join(local, "trunkline")));
    {
      await using terminal = start(home, env);
      await terminal.shows(/use the link/);
      assert.doesNotMatch(terminal.screen, /\[y\/N\]/);
      terminal.press("C-c");
      await terminal.ended();
    }
    rmSync(join(home, ".local"), { recursive: true });
    await answer("y");
    assert.equal(readlinkSync(join(local, "trunkline")), join(ROOT, "scripts/trunkline"));
    await using terminal = start(home, env);
    await terminal.shows(/^ {2}trunkline setup claude-code --http$/m);
    terminal.press("C-c");
    await terminal.ended();
    await gone(home);
  });

  it("works where there is no sandbox, and says what that means", { skip: noPlace }, async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-new-"));
    const home = folder.path;
    await using terminal = start(home, {}, withoutSandbox);
    const [, chat = ""] = /^ {2}(sh .+)$/m.exec(await terminal.shows(/leaves nothing/)) ?? [];
    await using second = new Tmux({ command: ["sh", "-c", chat], cwd: ROOT, env: { HOME: home } });
    await second.shows(/Without a sandbox: it can read and change all/, /Press a key to answer/);
    second.press("Tab");
    await second.shows(/Tab goes back/);
    second.press("y");
    await second.shows(/✓ sh test\.sh/, /Wait for review comments/);
    second.press("C-d");
    await second.ended();
    terminal.press("C-c");
    await terminal.ended();
    await gone(home);
    assert.deepEqual(demosIn(home), []);
  });

  it("begins as well when a person types npx and the packed file", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-new-"));
    const home = folder.path;
    // npm-exec(1) sets it.
    const env = { HOME: home, TMPDIR: home, TRUNKLINE_SERVE_PORT: "0", npm_command: "exec" };
    const command = [process.execPath, join(ROOT, "dist/trunkline.js")];
    await using terminal = new Tmux({ command, cwd: home, env, columns: 500 });
    await terminal.shows(
      /Trunkline .* is running/,
      /no browser can be opened here/,
      /leaves nothing/,
    );
    terminal.press("C-c");
    assert.equal(await terminal.ended(), 0);
    await gone(home);
    assert.deepEqual(demosIn(home), []);
  });
});
