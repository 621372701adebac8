import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { bearer, type Ended, GuardedHome, INITIALIZE } from "../support/guarded-gateway.ts";
import { Program } from "../support/program.ts";

interface Entry {
  readonly command: string;
  readonly args: readonly string[];
  readonly url: string;
  readonly headers: { readonly Authorization: string };
}

/** A home with Cursor in it. */
class SetupHome extends GuardedHome {
  get env(): Record<string, string> {
    return {
      HOME: this.path,
      PATH: "/usr/bin:/bin",
      TRUNKLINE_DATA: this.data,
      TRUNKLINE_CONFIG: join(this.path, "config.jsonc"),
    };
  }

  override async run(...args: string[]): Promise<Ended> {
    await using program = new Program(args, { env: this.env });
    program.child.stdin.end();
    const code = await program.exit;
    return { code, out: program.lines.join("\n"), err: program.stderr };
  }

  get entry(): Entry {
    const text = readFileSync(join(this.path, ".cursor/mcp.json"), "utf8");
    return (JSON.parse(text) as { mcpServers: { trunkline: Entry } }).mcpServers.trunkline;
  }
}

describe("trunkline setup", { timeout: 600_000 }, () => {
  it("writes a command that starts Trunkline without a PATH, with the same data folder", async () => {
    using home = new SetupHome();
    assert.equal((await home.run("setup", "cursor")).code, 0);
    const { command, args } = home.entry;
    assert.deepEqual(args.slice(-2), ["--data", home.data]);
    const child = spawn(command, args, { env: { HOME: home.path }, cwd: "/" });
    const answer = once(child.stdout, "data");
    child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
    assert.match(String((await answer)[0]), /"serverInfo":\{"name":"trunkline"/);
    child.stdin.end();
    assert.deepEqual(await once(child, "exit"), [0, null]);
  });

  it("writes the address of the running gateway and a token that --remove revokes", async () => {
    using home = new SetupHome();
    await using gateway = await home.serve();
    const { code, err } = await home.run("setup", "cursor", "--http");
    assert.equal(code, 0, err);
    const { url, headers } = home.entry;
    assert.equal(url, gateway.ready.mcp);
    const owner = readFileSync(gateway.ready.tokenFile, "utf8");
    const token = headers.Authorization.slice("Bearer ".length);
    assert.notEqual(token, owner);
    assert.equal((await gateway.post(INITIALIZE, bearer(token))).status, 200);
    assert.equal((await gateway.get("/metrics", bearer(token))).status, 403);
    const again = await Promise.all(
      ["cursor", "cursor", "cursor"].map((name) => home.run("setup", name, "--http")),
    );
    assert.deepEqual(
      new Set(again.map(({ out }) => out.split(":")[0])),
      new Set(["Nothing to change"]),
    );
    assert.equal((await home.run("setup", "cursor", "--remove")).code, 0);
    assert.equal((await gateway.post(INITIALIZE, bearer(token))).status, 401);
  });

  const isThere = spawnSync("script", ["--version"]).error === undefined;
  const skip = isThere ? false : "`script` of util-linux is missing: install it for a terminal";
  it("asks at a terminal which programs to set up", { skip }, async () => {
    using home = new SetupHome();
    for (const folder of [".cursor", ".codex"]) mkdirSync(join(home.path, folder));
    const words = [process.execPath, join(import.meta.dirname, "../../dist/trunkline.js"), "setup"];
    const terminal = spawn("script", ["-qec", words.join(" "), "/dev/null"], { env: home.env });
    let shown = "";
    terminal.stdout.setEncoding("utf8").on("data", (text: string) => {
      if (!shown.includes("Set up which?") && (shown + text).includes("Set up which?")) {
        terminal.stdin.write("cursor\n");
      }
      shown += text;
    });
    await once(terminal, "close");
    assert.match(shown, /Set up which\? cursor, codex, or all \(Enter: none\)/);
    assert.match(shown, /Wrote 'mcpServers\.trunkline' in .*mcp\.json\./);
    assert.equal(home.entry.args.includes("mcp"), true);
  });
});
