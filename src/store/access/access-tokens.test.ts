import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { AccessTokens } from "./access-tokens.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { until } from "../../../test/support/until.ts";

const TOOLS = { scopes: ["tools"] } as const;
const MODULE = JSON.stringify(new URL("access-tokens.ts", import.meta.url).href);

describe("AccessTokens", { timeout: 30_000 }, () => {
  it("recognises a token, and stores nothing that could be used as one", async () => {
    await using folder = await SampleFolder.create();
    await using tokens = new AccessTokens(folder.path);
    const { token, kept } = await tokens.create("laptop", TOOLS);
    assert.match(token, /^tlk_[\w-]{43}$/);
    assert.equal(tokens.use(token)?.id, kept.id);
    assert.equal(tokens.use(`${token}x`), undefined);
    assert.equal(tokens.use(kept.sha256), undefined);
    const text = await readFile(tokens.path, "utf8");
    assert.ok(!text.includes(token.slice(4)), text);
    assert.equal((await stat(tokens.path)).mode & 0o777, 0o600);
    assert.equal((await stat(folder.path)).mode & 0o777, 0o700);
    assert.deepEqual(await readdir(folder.path), ["access-tokens.json", "access-tokens.json.lock"]);
  });

  it("refuses a token that has expired, or whose expiry cannot be read", async () => {
    await using folder = await SampleFolder.create();
    let now = Date.parse("2030-01-01T00:00:00Z");
    await using tokens = new AccessTokens(folder.path, { now: () => now });
    const { token, kept } = await tokens.create("short", TOOLS, new Date(now + 1000));
    assert.equal(tokens.use(token)?.name, "short");
    now += 1000;
    assert.equal(tokens.use(token), undefined);
    assert.equal(tokens.isLive(kept.id), false);
    assert.equal(tokens.list().length, 1);
    const wrong = { tokens: [{ ...kept, expires: "soon" }] };
    await writeFile(tokens.path, JSON.stringify(wrong));
    assert.equal(tokens.use(token), undefined);
  });

  it("removes a token by its name, its id or its text, never by its hash", async () => {
    await using folder = await SampleFolder.create();
    await using tokens = new AccessTokens(folder.path);
    const a = await tokens.create("a", TOOLS);
    const b = await tokens.create("b", TOOLS);
    const c = await tokens.create("c", TOOLS);
    await assert.rejects(tokens.revoke(a.kept.sha256), { code: "not-found" });
    await tokens.revoke("a");
    await tokens.revoke(b.kept.id);
    await tokens.revoke(c.token);
    assert.deepEqual(tokens.list(), []);
    for (const { token } of [a, b, c]) assert.equal(tokens.use(token), undefined);
  });

  it("ends a token with the one that made it, and with the one that made that", async () => {
    await using folder = await SampleFolder.create();
    let now = Date.parse("2030-01-01T00:00:00Z");
    await using tokens = new AccessTokens(folder.path, { now: () => now });
    const make = (name: string, maker?: string, expires?: Date) =>
      tokens.create(name, TOOLS, expires, maker);
    const family = async () => {
      const parent = await make("parent", undefined, new Date(now + 1_000));
      const child = await make("child", parent.kept.id);
      const grandchild = await make("grandchild", child.kept.id, new Date(now + 500));
      return [parent, child, grandchild];
    };
    const other = await make("other");
    const areIn = (made: readonly { token: string; kept: { id: string } }[]) =>
      made.map(({ token, kept }) => tokens.use(token) !== undefined && tokens.isLive(kept.id));
    const first = await family();
    assert.deepEqual(areIn(first), [true, true, true]);
    await assert.rejects(make("late", first[1]?.kept.id, new Date(now + 1_001)), /ends on 2030/);
    await tokens.revoke("parent");
    assert.deepEqual(areIn(first), [false, false, false]);
    assert.deepEqual(tokens.list(), [other.kept]);
    // Another node of a fleet may revoke one before it knows what that has made.
    const second = await family();
    await tokens.replace((all) => all.filter(({ name }) => name !== "parent"));
    assert.deepEqual(areIn([...second, other]), [false, false, false, true]);
    await tokens.replace(() => []);
    const third = await family();
    now += 1_000;
    assert.deepEqual(areIn(third), [false, false, false]);
    const [loop] = third.map(({ kept }) => kept);
    await tokens.replace(() => (loop === undefined ? [] : [{ ...loop, maker: loop.id }]));
    assert.equal(tokens.isLive(loop?.id ?? ""), false);
  });

  it("makes none with a token that may less, or that lets nobody in", async () => {
    await using folder = await SampleFolder.create();
    await using tokens = new AccessTokens(folder.path);
    const makers = [
      { scopes: ["tools"], limits: { folders: ["/work"] } },
      { scopes: ["tools"], limits: { observe: true } },
      { scopes: ["tools"], limits: { budget: { cost: 1 } } },
      { scopes: ["tools"], profile: "reading" },
    ] as const;
    for (const [at, grant] of makers.entries()) {
      const { kept } = await tokens.create(`limited${at}`, grant);
      await assert.rejects(tokens.create("x", TOOLS, undefined, kept.id), /is limited/);
    }
    const admin = { scopes: ["admin"], limits: { tools: ["a"] } } as const;
    await assert.rejects(tokens.create("x", admin), /Cannot limit .* 'admin'/);
    const { kept } = await tokens.create("plain", TOOLS);
    const more = { scopes: ["tools", "programs"] } as const;
    await assert.rejects(tokens.create("x", more, undefined, kept.id), /lacks .* 'programs'/);
    await tokens.revoke("plain");
    await assert.rejects(tokens.create("x", TOOLS, undefined, kept.id), /not valid any more/);
  });

  it("does not print a secret that was given in the wrong place", async () => {
    await using folder = await SampleFolder.create();
    await using tokens = new AccessTokens(folder.path);
    const { token } = await tokens.create("a", TOOLS);
    for (const attempt of [() => tokens.revoke(`${token}x`), () => tokens.create(token, TOOLS)]) {
      const error = await attempt().then(
        () => assert.fail("it was accepted"),
        (caught: Error) => caught,
      );
      assert.ok(!error.message.includes(token), error.message);
    }
  });

  it("refuses names that are taken, or could be mistaken for something else", async () => {
    await using folder = await SampleFolder.create();
    await using tokens = new AccessTokens(folder.path);
    await tokens.create("a", TOOLS);
    await assert.rejects(tokens.create("a", TOOLS), /There is a token 'a' already.*token revoke a/);
    for (const name of ["", "a b", "-x", "0123abcd", "tlk_x", "x".repeat(65), "a@b", "é"]) {
      await assert.rejects(tokens.create(name, TOOLS), { code: "usage" }, name);
    }
    assert.equal((await tokens.create(undefined, TOOLS)).kept.name, "token-1");
    assert.equal((await tokens.create(undefined, TOOLS)).kept.name, "token-2");
  });

  it("uses what another process has written, at once", async () => {
    await using folder = await SampleFolder.create();
    await using running = new AccessTokens(folder.path);
    await using other = new AccessTokens(folder.path);
    const { token, kept } = await other.create("a", TOOLS);
    assert.equal(running.use(token)?.name, "a");
    await other.revoke("a");
    assert.equal(running.use(token), undefined);
    assert.equal(running.isLive(kept.id), false);
    const again = await other.create("a", TOOLS);
    assert.equal(running.use(token), undefined);
    assert.equal(running.use(again.token)?.name, "a");
    await rm(running.path);
    assert.equal(running.use(again.token), undefined);
  });

  it("loses no concurrent write of several processes", async () => {
    await using folder = await SampleFolder.create();
    const script = `
      const { AccessTokens } = await import(${MODULE});
      const tokens = new AccessTokens(${JSON.stringify(folder.path)});
      for (let n = 0; n < 10; n++) await tokens.create(process.argv[1] + n, { scopes: ["tools"] });
      await tokens.revoke(process.argv[1] + "0");`;
    const run = (name: string) =>
      promisify(execFile)(process.execPath, ["--input-type=module", "-e", script, name]);
    await Promise.all(["a", "b", "c"].map(run));
    const names = new AccessTokens(folder.path).list().map(({ name }) => name);
    const expected = ["a", "b", "c"].flatMap((name) =>
      Array.from({ length: 9 }, (_, n) => `${name}${n + 1}`),
    );
    assert.deepEqual(names.toSorted(), expected);
    assert.deepEqual(await readdir(folder.path), ["access-tokens.json", "access-tokens.json.lock"]);
  });

  it("stores the rights of a token, and gives older tokens the rights they had", async () => {
    await using folder = await SampleFolder.create();
    await using tokens = new AccessTokens(folder.path);
    const limits = { agents: ["a"], folders: ["/srv"] };
    const { token } = await tokens.create("a", { scopes: ["sessions"], limits });
    assert.deepEqual(tokens.use(token)?.scopes, ["sessions"]);
    assert.deepEqual(tokens.use(token)?.limits, limits);
    const file = JSON.parse(await readFile(tokens.path, "utf8")) as { tokens: object[] };
    const { scopes: _, limits: __, ...old } = file.tokens[0] as Record<string, unknown>;
    await writeFile(tokens.path, JSON.stringify({ tokens: [old] }));
    const all = ["tools", "sessions", "programs", "review", "dashboard"];
    assert.deepEqual(tokens.use(token)?.scopes, all);
    for (const wrong of [
      { scopes: ["root"] },
      { scopes: "tools" },
      { limits: { hosts: [] } },
      { limits: { tools: "x" } },
    ]) {
      await writeFile(tokens.path, JSON.stringify({ tokens: [{ ...old, ...wrong }] }));
      assert.throws(() => tokens.use(token), { code: "config" }, JSON.stringify(wrong));
    }
    await writeFile(tokens.path, `{"tokens":[]}`);
  });

  it("writes when a token was used, later and in one batch", async () => {
    await using folder = await SampleFolder.create();
    const tokens = new AccessTokens(folder.path);
    const { token } = await tokens.create("a", TOOLS);
    const gone = await tokens.create("gone", TOOLS);
    const { mtimeNs } = await stat(tokens.path, { bigint: true });
    for (let n = 0; n < 100; n++) tokens.use(token);
    tokens.use(gone.token);
    assert.equal((await stat(tokens.path, { bigint: true })).mtimeNs, mtimeNs);
    await new AccessTokens(folder.path).revoke("gone");
    await tokens[Symbol.asyncDispose]();
    const [kept, ...others] = new AccessTokens(folder.path).list();
    assert.ok(Date.parse(kept?.lastUsed ?? "") >= Date.parse(kept?.created ?? ""));
    // What was revoked meanwhile does not come back.
    assert.deepEqual(others, []);
  });

  it("writes it by itself after a while", async () => {
    await using folder = await SampleFolder.create();
    await using tokens = new AccessTokens(folder.path, { noteAfter: 1 });
    const { token } = await tokens.create("a", TOOLS);
    tokens.use(token);
    const isNoted = () => tokens.list()[0]?.lastUsed !== undefined;
    await until(isNoted);
  });

  it("gives no access while its file cannot be read", async () => {
    await using folder = await SampleFolder.create();
    await using tokens = new AccessTokens(folder.path);
    const { token } = await tokens.create("a", TOOLS);
    const good = await readFile(tokens.path, "utf8");
    for (const text of ["", "{", "null", "[]", `{"tokens":{}}`, `{"tokens":[{"id":"x"}]}`]) {
      await writeFile(tokens.path, text);
      for (let times = 0; times < 2; times++) {
        assert.throws(() => tokens.use(token), { code: "config" }, text);
      }
      await assert.rejects(tokens.create("b", TOOLS), { code: "config" });
      assert.equal(await readFile(tokens.path, "utf8"), text);
    }
    await writeFile(tokens.path, good);
    assert.equal(tokens.use(token)?.name, "a");
    await rm(tokens.path);
    await mkdir(tokens.path);
    assert.throws(() => tokens.use(token), { code: "config" });
    await rm(tokens.path, { recursive: true });
  });

  it("names the file that it cannot write", async () => {
    await using folder = await SampleFolder.create();
    await writeFile(folder.path, "");
    const tokens = new AccessTokens(folder.path);
    await assert.rejects(tokens.create("a", TOOLS), /Cannot write '.*access-tokens\.json'/);
  });
});
