// Long: every command of reviews, a program each.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { commentsIn, readWhileKilled, ReviewHome, ReviewServer } from "./review-server.ts";
import { covers } from "../support/requirement.ts";

const NASTY = "\"; $(touch x) `touch y` ' \\ $HOME é\nsecond line";

/** In each of three files, while servers are killed; test/interop/review-killed.test.ts leaves many more. */
const COMMENTS = 4;

describe("trunkline review", { timeout: 600_000 }, () => {
  it("delivers a comment to a client that subscribed and to one that polls", async () => {
    covers("review.notify.message", "review.notify.subscribe");
    using home = new ReviewHome();
    await using subscribed = await new ReviewServer(home).begin("subscriber");
    await using polling = await new ReviewServer(home).begin("poller");
    await subscribed.ask("resources/subscribe", { uri: "lazygit://messages" });
    assert.equal(await polling.call("check_lazygit_messages"), "No new messages from lazygit");
    await home.add(NASTY);
    const updated = await subscribed.hear("notifications/resources/updated");
    assert.deepEqual(updated.params, { uri: "lazygit://messages" });
    // Nobody has asked for these, with a level or otherwise.
    for (const server of [subscribed, polling]) {
      const { params } = await server.hear("notifications/message");
      const { level, message, data } = params as Record<string, unknown> & { data: object };
      assert.deepEqual([level, message], ["info", "New message from lazygit"]);
      assert.deepEqual({ ...data, thread: "" }, { file: "main.go", line: 5, thread: "", message });
    }
    const { contents } = (await subscribed.ask("resources/read", {
      uri: "lazygit://messages",
    })) as { contents: { text: string; mimeType: string }[] };
    const expected =
      /^Message 1:\nFile: main\.go\nLine: 5\nComment: "; \$\(touch x\) `touch y` ' \\ \$HOME é\nsecond line\nTime: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n\nPlease improve this code\.$/;
    assert.match(contents[0]?.text ?? "", expected);
    assert.equal(contents[0]?.mimeType, "text/plain");
    assert.match(await polling.call("check_lazygit_messages"), expected);
    assert.equal(await polling.call("check_lazygit_messages"), "No new messages from lazygit");
  });

  it("imports what lazygit-mcp-bridge drops, and removes it only when it is stored", async () => {
    using home = new ReviewHome();
    const file = join(home.path, ".config/jesseduffield/lazygit/mcp-messages.json");
    const drop = (comment: string, time: string): void => {
      mkdirSync(join(file, ".."), { recursive: true });
      const record = { file: "main.go", comment, project_root: home.repository, time };
      writeFileSync(file, JSON.stringify(record));
    };
    drop("before it ran", "2025-07-01T10:30:00Z");
    await using server = await new ReviewServer(home).begin();
    await server.hear("notifications/message");
    const answer = await server.call("check_lazygit_messages");
    assert.match(
      answer,
      /^Message 1:\nFile: main.go\nComment: before it ran\nTime: 2025-07-01T10:30:00Z/,
    );
    server.told.length = 0;
    drop("while it ran", "2025-07-01T10:31:00Z");
    await server.hear("notifications/message");
    assert.deepEqual(commentsIn(await server.call("check_lazygit_messages")), [
      "main.go while it ran",
    ]);
  });

  it("goes back and forth between a person and an agent, until the person resolves it", async () => {
    using home = new ReviewHome();
    await home.add("Why?", "main.go", 7);
    await using server = await new ReviewServer(home).begin("claude");
    const id = /^(r\w+) /.exec(await server.call("review_claim"))?.[1] ?? "";
    const shown = async (): Promise<Record<string, unknown>> =>
      JSON.parse((await home.run(["review", "show", id, "--json"])).out) as Record<string, unknown>;
    assert.deepEqual([(await shown()).state, (await shown()).claimedBy], ["claimed", "claude"]);
    await server.call("review_reply", { id, text: "Because." });
    assert.match((await home.run(["review", "list"])).out, /answered +should +main\.go:7 +Why\?/);
    await home.run(["review", "reply", id, "--comment", "Not enough."]);
    assert.match(await server.call("review_wait", { timeoutSeconds: 20 }), /Not enough\./);
    home.write("main.go", `// why\n${readFileSync(join(home.repository, "main.go"), "utf8")}`);
    home.git("commit", "--quiet", "--all", "--message=fix");
    await server.call("review_propose", { id, commit: "HEAD", text: "Explained it." });
    assert.match(
      (await home.run(["review", "show", id])).out,
      /proposed[\s\S]*main\.go:8[\s\S]*commit \w{40}/,
    );
    assert.equal((await home.run(["review", "resolve", id])).code, 0);
    assert.match((await home.run(["review", "list"])).err, /There are no threads/);
  });

  it("reports what is wrong with a command line, and exits with 2", async () => {
    using home = new ReviewHome();
    const wrong: [string[], RegExp][] = [
      [["add", "--comment", "x"], /--file/],
      [["add", "--file", "main.go", "--line", "x", "--comment", "x"], /Cannot use '--line x'/],
      [["add", "--file", "main.go", "--line", "999", "--comment", "x"], /it has 60 lines/],
      [["add", "--file", "../../../etc/passwd", "--comment", "x"], /outside/],
    ];
    for (const [args, says] of wrong) {
      const { code, err } = await home.runInProcess(["review", ...args]);
      assert.equal(code, 2, args.join(" "));
      assert.match(err, says);
    }
    // It reads the comment from its input, which is empty.
    const empty = await home.run(["review", "add", "--file", "main.go"]);
    assert.equal(empty.code, 2);
    assert.match(empty.err, /Cannot add an empty comment/);
    const { code, err } = await home.runInProcess(["review", "show", "nothing"]);
    assert.deepEqual([code, /no such thread/.test(err)], [1, true]);
  });

  it("sets lazygit up, once, and removes it again", async () => {
    using home = new ReviewHome();
    const file = join(home.repository, ".git/lazygit.yml");
    writeFileSync(file, "# mine\ngui: {}\n");
    assert.match((await home.runInProcess(["setup", "lazygit"])).out, /^Added the commands to /);
    const text = readFileSync(file, "utf8");
    assert.match(text, /^# mine\ngui: \{\}\n/);
    assert.match((await home.runInProcess(["setup", "lazygit"])).out, /^Nothing to change/);
    assert.equal(readFileSync(file, "utf8"), text);
    assert.match(
      (await home.runInProcess(["setup", "lazygit", "--remove"])).out,
      /^Removed the commands from/,
    );
    assert.equal(readFileSync(file, "utf8"), "# mine\ngui: {}\n");
    const { code, err } = await home.runInProcess(["setup", "lazygit", "--repo", home.path]);
    assert.equal(code, 1);
    assert.match(err, /Cannot set up lazygit in '.+': it is in no git repository\. .+ give --user/);
  });

  it("does everything that its document shows, and its hook shows open comments", async () => {
    using home = new ReviewHome();
    const lines = Array.from({ length: 50 }, (_, n) => `line ${n + 1} of this file\n`).join("");
    mkdirSync(join(home.repository, "src"));
    for (const file of ["src/main.go", "a.go", "better.txt"]) home.write(file, lines);
    home.git("add", "--all");
    home.git("commit", "--quiet", "--message=two");
    await home.run(
      ["review", "add", "--file=a.go", "--line=3", "-c=So", "--suggest=-"],
      "better\n",
    );
    // The thread that the document speaks of.
    const exported = (await home.run(["review", "export"])).out.replaceAll(
      /"id": "\w+"/g,
      '"id": "r7k2mq"',
    );
    assert.equal((await home.run(["review", "import", "-"], exported)).code, 0);
    const document = readFileSync(join(import.meta.dirname, "../../docs/REVIEW.md"), "utf8");
    const blocks = [...document.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(
      ([, block = ""]) => block,
    );
    const commands = blocks.flatMap((block) => block.trim().split("\n"));
    assert.ok(commands.length >= 10);
    for (const command of commands) {
      if (command.startsWith("git diff")) home.write("a.go", lines.replace("line 7", "seventh"));
      const { code, err } = await home.shell(command);
      // Something must be done by then.
      const wanted = command.includes("--exit-code") ? 1 : 0;
      assert.equal(code, wanted, `${command}\n${err}`);
      home.git("checkout", "--quiet", ".");
    }
    const [, hook = ""] = /"command": "(.*?)"/.exec(document) ?? [];
    assert.match(
      (await home.shell(hook)).out,
      /^r\w+ +open +must +src\/main\.go:42 +Handle the error$/m,
    );
  });

  it("delivers everything once and in order, if it is acknowledged, through a server that is killed repeatedly", async () => {
    using home = new ReviewHome();
    const files = ["a", "b", "c"];
    for (const file of files) home.write(file, "one\ntwo\nthree\nfour\nfive\n");
    const writing = Promise.all(
      files.map(async (file) => {
        for (let n = 0; n < COMMENTS; n++) await home.add(`${n}`, file);
      }),
    );
    const { got, kills } = await readWhileKilled(home, writing, 600);
    await writing;
    assert.ok(kills > 0, "it was killed at least once");
    for (const file of files) {
      const own = got.filter((line) => line.startsWith(`${file} `));
      assert.deepEqual(
        own,
        Array.from({ length: COMMENTS }, (_, n) => `${file} ${n}`),
      );
    }
  });
});
