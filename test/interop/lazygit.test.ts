import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { ReviewHome, ReviewServer } from "../e2e/review-server.ts";
import { unpackDebianPackages } from "./quic-go/debian-packages.ts";

const ROOT = join(import.meta.dirname, "../..");
const FOLDER = join(ROOT, ".cache/lazygit");
const LAZYGIT = join(FOLDER, "usr/bin/lazygit");

/** A release of Debian that has one; only the program is taken of it. */
const RELEASE = "forky";

async function whatIsMissing(): Promise<string | undefined> {
  try {
    execFileSync("tmux", ["-V"]);
  } catch {
    return "tmux is missing: apt-get install tmux";
  }
  if (existsSync(LAZYGIT)) return undefined;
  try {
    await unpackDebianPackages(RELEASE, ["lazygit"], FOLDER);
    return undefined;
  } catch (error) {
    return `lazygit is missing: ${(error as Error).message}`;
  }
}

/** A terminal with lazygit in it, in a repository. */
class Lazygit implements AsyncDisposable {
  readonly #socket = `trunkline-${process.pid}-${Math.random().toString(36).slice(2)}`;

  constructor(home: ReviewHome) {
    const config = join(home.path, "lazygit");
    mkdirSync(config);
    writeFileSync(
      join(config, "config.yml"),
      "disableStartupPopups: true\nupdate: {method: never}\ngit: {autoFetch: false}\n" +
        "gui: {useHunkModeInStagingView: false}\n",
    );
    const env = { ...home.env, CONFIG_DIR: config, TERM: "tmux-256color" };
    const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const size = ["-x", "160", "-y", "45", "-c", home.repository];
    this.#tmux("new-session", "-d", "-s", "lg", ...size, "env", "-i", ...variables, LAZYGIT);
  }

  press(...keys: string[]): void {
    this.#tmux("send-keys", "-t", "lg", ...keys);
  }

  type(text: string): void {
    this.#tmux("send-keys", "-t", "lg", "-l", "--", text);
  }

  /** Waits until the screen shows something. */
  async shows(what: RegExp): Promise<string> {
    const giveUpAt = Date.now() + 20_000;
    for (;;) {
      const screen = this.#tmux("capture-pane", "-p", "-t", "lg");
      if (what.test(screen)) return screen;
      if (Date.now() > giveUpAt) throw new Error(`lazygit does not show ${what}:\n${screen}`);
      await delay(50);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#tmux("kill-server");
  }

  #tmux(...args: string[]): string {
    return execFileSync("tmux", ["-L", this.#socket, "-f", "/dev/null", ...args], {
      encoding: "utf8",
    });
  }
}

const missing = await whatIsMissing();

describe(
  "lazygit",
  { timeout: 120_000, ...(missing === undefined ? {} : { skip: missing }) },
  () => {
    it("delivers what is typed there to a client that subscribed and to one that polls", async () => {
      using home = new ReviewHome();
      home.write("main.go", "line 1\nline 2\nline 3\n");
      home.git("commit", "--quiet", "--all", "--message=two");
      home.write("main.go", "line 1\nline two is new\nline 3\n");
      assert.equal((await home.run(["setup", "lazygit"])).code, 0);
      await using subscribed = await new ReviewServer(home).begin("subscriber");
      await using polling = await new ReviewServer(home).begin("poller");
      await subscribed.ask("resources/subscribe", { uri: "lazygit://messages" });

      await using lazygit = new Lazygit(home);
      await lazygit.shows(/main\.go/);
      lazygit.press("2");
      lazygit.press("Y");
      await lazygit.shows(/-2 - line 2\s[\s\S]*2 \+ line two is new/);
      lazygit.press("Down", "Down", "Enter");
      await lazygit.shows(/Severity/);
      lazygit.press("Enter");
      await lazygit.shows(/Comment/);
      const words = "\"; $(touch x) `touch y` ' $HOME é | & done";
      lazygit.type(words);
      lazygit.press("Enter");
      await lazygit.shows(/Opened r\w+ on main\.go:2/);

      await subscribed.hear("notifications/resources/updated");
      const uri = { uri: "lazygit://messages" };
      const read = (await subscribed.ask("resources/read", uri)) as {
        contents: { text: string }[];
      };
      const said = `Message 1:\nFile: main.go\nLine: 2\nComment: ${words}\n`;
      const text = read.contents[0]?.text ?? "";
      assert.ok(text.startsWith(said), text);
      assert.ok((await polling.call("check_lazygit_messages")).startsWith(said));
      assert.deepEqual(readdirSync(home.repository).toSorted(), [".git", "main.go"]);

      // And the person closes it there.
      lazygit.press("Escape");
      await lazygit.shows(/^(?![\s\S]*Opened r)/);
      lazygit.press("C-y");
      await lazygit.shows(/open main\.go:2/);
      lazygit.press("Enter");
      await lazygit.shows(/What to do with it/);
      lazygit.press("Down");
      lazygit.press("Enter");
      await lazygit.shows(/is resolved/);
    });

    it("comments on a line of a commit, and replies", async () => {
      using home = new ReviewHome();
      home.write("main.go", "line 1\nline 2 of the commit\nline 3\n");
      home.git("commit", "--quiet", "--all", "--message=two");
      home.write("main.go", "later\nline 1\nline 2 of the commit\nline 3\n");
      home.git("commit", "--quiet", "--all", "--message=three");
      assert.equal((await home.run(["setup", "lazygit"])).code, 0);
      await using lazygit = new Lazygit(home);
      await lazygit.shows(/three/);
      lazygit.press("4");
      lazygit.press("Down");
      lazygit.press("Enter");
      await lazygit.shows(/M main\.go|M.*main\.go/);
      lazygit.press("Y");
      await lazygit.shows(/2 \+ line 2 of the commit/);
      lazygit.type("/");
      lazygit.type("of the commit");
      lazygit.press("Enter");
      await lazygit.shows(/2 \+ line 2 of the commit/);
      lazygit.press("Enter");
      await lazygit.shows(/Severity/);
      lazygit.press("Enter");
      await lazygit.shows(/Comment/);
      lazygit.type("On the commit");
      lazygit.press("Enter");
      await lazygit.shows(/Opened r\w+ on main\.go:2/);
      const listed = await home.run(["review", "list"]);
      assert.match(listed.out, /main\.go:3 +On the commit/, "it is followed to the work tree");
      lazygit.press("Escape");
      await lazygit.shows(/^(?![\s\S]*Opened r)/);
      lazygit.press("C-g");
      await lazygit.shows(/open main\.go:3/);
      lazygit.press("Enter");
      await lazygit.shows(/Reply/);
      lazygit.type("And $(more)");
      lazygit.press("Enter");
      await lazygit.shows(/r\w+ is open/);
      const { out } = await home.run(["review", "list", "--json"]);
      const [{ id }] = (JSON.parse(out) as { threads: [{ id: string }] }).threads;
      assert.match((await home.run(["review", "show", id])).out, /replied, .*\n {2}And \$\(more\)/);
    });
  },
);
