// Long: the whole demo.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { describe, it } from "node:test";

import { Program } from "../support/program.ts";
import { gone } from "../support/running-at.ts";

describe("trunkline demo", { timeout: 600_000 }, () => {
  it("prints a command for the terminal, stops when it is asked to, and leaves nothing", async () => {
    // Its temporary folder is in the program's home, so that what it leaves can be seen.
    const within = ["sh", "-c", 'TMPDIR="$HOME" exec "$@"', "sh"];
    await using program = new Program(["demo"], { within });
    await program.until(({ lines }) => lines.some((line) => line.includes("Stop with Ctrl-C")));
    const text = program.lines.join("\n");
    const [, chat = ""] = /^ {2}sh (\S+)$/m.exec(text) ?? [];
    assert.ok(existsSync(chat), text);
    assert.doesNotMatch(text, /login/, "this output could be a log file");
    program.child.kill("SIGINT");
    assert.equal(await program.exit, 0);
    await gone(program.home);
    const left = readdirSync(program.home).filter((name) => name.startsWith("trunkline-"));
    assert.deepEqual(left, []);
  });

  it("gives programs a link that logs a browser in and shows the session", async () => {
    await using program = new Program(["demo", "--json"]);
    await program.until(({ lines }) => lines.length > 0);
    const { link, chat } = JSON.parse(program.lines[0] ?? "") as { link: string; chat: string };
    const [, gateway = "", code = ""] =
      /^(http:.+)\/login#([^/]+)\/sessions\/[\w-]+$/.exec(link) ?? [];
    const body = JSON.stringify({ code });
    const page = { origin: gateway, "sec-fetch-site": "same-origin" };
    const headers = { "content-type": "application/json", ...page };
    const login = await fetch(`${gateway}/login`, { method: "POST", body, headers });
    assert.ok(login.ok, `${login.status} for ${link}`);
    assert.match(chat, /^sh \S+$/);
    program.child.kill("SIGTERM");
    assert.equal(await program.exit, 0);
  });

  it("leaves nothing either when nobody reads what it prints any more", async () => {
    const within = ["sh", "-c", 'TMPDIR="$HOME"; export TMPDIR; "$@" | true', "sh"];
    await using program = new Program(["demo"], { within });
    await program.exit;
    await gone(program.home);
    const left = readdirSync(program.home).filter((name) => name.startsWith("trunkline-"));
    assert.deepEqual(left, []);
  });
});
