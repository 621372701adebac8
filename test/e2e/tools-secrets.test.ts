import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { keyName } from "../../src/agent/models/models.ts";
import { openKeys } from "../../src/identity/open/open-secret-store.ts";
import { Program } from "../support/program.ts";

const SERVER = join(import.meta.dirname, "../support/notes-server.mjs");

/** A home without a keychain. */
class Home implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "trunkline-secrets-"));
  readonly data = join(this.path, "data");

  constructor(config: object) {
    this.write("config.jsonc", JSON.stringify(config));
  }

  write(name: string, content: string): void {
    writeFileSync(join(this.path, name), content);
  }

  get env(): Record<string, string> {
    return { HOME: this.path, TRUNKLINE_TOKEN_STORE: "file", WORK_TOKEN: "t0ken" };
  }

  async run(
    args: readonly string[],
    input = "",
  ): Promise<{ code: unknown; out: string; err: string }> {
    const where = ["--config", join(this.path, "config.jsonc"), "--data", this.data];
    await using program = new Program([...args, ...where], { env: this.env });
    program.child.stdin.end(input);
    const code = await program.exit;
    return { code, out: program.lines.join("\n"), err: program.stderr };
  }

  call(tool: string, args: object = {}): ReturnType<Home["run"]> {
    return this.run(["tool", "call", tool, "--args", JSON.stringify(args)]);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

describe("servers that need secrets", { timeout: 600_000 }, () => {
  it("get those that were stored, whatever else their entries say", async () => {
    const args = [SERVER, "", "--key=${input:NOTES_KEY}"];
    const env = { NOTES_KEY: "${keychain:NOTES_KEY}" };
    const notes = { command: process.execPath, args, env, gallery: true };
    const slow = { command: process.execPath, args: [SERVER], timeout: 1 };
    using home = new Home({ mcpServers: { notes, slow } });
    const missing = await home.run(["tool", "list"]);
    assert.match(missing.err, /'notes' .*`trunkline model key set NOTES_KEY`/);
    assert.match(missing.out, /\nslow:\n {2}read_note /);

    const stored = await home.run(["model", "key", "set", "NOTES_KEY"], "hush-hush");
    assert.deepEqual([stored.code, stored.err.includes("hush")], [0, false], stored.err);
    const { out, err } = await home.run(["tool", "list"]);
    assert.match(out, /\nnotes:\n {2}read_note .*\nslow:\n {2}slow_read_note /s);
    // The key of another program is of no use here, and costs nothing but this line.
    assert.match(err, /'mcpServers\.notes\.gallery' is ignored: it is not a known key/);
    const how = await home.call("read_note", { name: "how" });
    assert.equal(how.out, "hush-hush --key=hush-hush", how.err);
    const never = await home.call("slow_read_note", { name: "never" });
    assert.equal(never.code, 1);
    assert.match(never.err, /1000 ms/);
    const { status } = spawnSync("grep", ["-rqs", "hush-hush", home.path]);
    assert.equal(status, 1, "no file holds it in clear");
  });

  it("may be APIs, called with a stored secret or the token of an identity", async () => {
    const seen: unknown[] = [];
    await using api = createServer(({ url, headers }, response) => {
      seen.push([url, headers["x-key"], headers.authorization]);
      response.setHeader("content-type", "application/json").end("{}");
    }).listen(0, "127.0.0.1");
    await once(api, "listening");
    const host = `127.0.0.1:${(api.address() as AddressInfo).port}`;
    const auth = { key: "${keychain:PETS_KEY}", forge: "${identity:work}" };
    const tokenSource = { kind: "environment", variable: "WORK_TOKEN" };
    const work = { provider: "other", host, user: "ada", email: "ada@b.test", tokenSource };
    using home = new Home({
      mcpServers: { pets: { openapi: "./pets.json", url: `http://${host}`, auth } },
      identities: { work },
    });
    const operation = (operationId: string, scheme: string) => ({
      get: { operationId, security: [{ [scheme]: [] }], responses: {} },
    });
    const securitySchemes = {
      key: { type: "apiKey", in: "header", name: "x-key" },
      forge: { type: "http", scheme: "bearer" },
    };
    const paths = { "/pets": operation("pets", "key"), "/me": operation("me", "forge") };
    const info = { title: "Pets", version: "1" };
    const document = { openapi: "3.1.0", info, paths, components: { securitySchemes } };
    home.write("pets.json", JSON.stringify(document));
    await (await openKeys(home.data, home.env)()).set(keyName("PETS_KEY"), "hush-hush");
    for (const tool of ["pets", "me"]) {
      const { code, err } = await home.call(tool);
      assert.equal(code, 0, err);
    }
    assert.deepEqual(seen, [
      ["/pets", "hush-hush", undefined],
      ["/me", undefined, "Bearer t0ken"],
    ]);
  });
});
