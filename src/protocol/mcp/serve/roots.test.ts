import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { foldersOf, SessionRoots } from "./roots.ts";
import { covers } from "../../../../test/support/requirement.ts";

const answer = (...folders: string[]): object => ({
  roots: folders.map((folder) => ({ uri: `file://${folder}` })),
});

describe("foldersOf()", () => {
  it("returns the folders of this machine, and leaves out everything else", () => {
    covers("mcp.roots.file-only");
    const roots = [
      { uri: "file:///srv/a%20b", name: "a" },
      { uri: "https://example.org/" },
      { uri: "file://another-host/srv" },
      { uri: "file:///srv/%2Fetc" },
      { uri: 7 },
      null,
      "file:///srv",
      { uri: "file://localhost/srv/c" },
    ];
    assert.deepEqual(foldersOf({ roots }), ["/srv/a b", "/srv/c"]);
    assert.deepEqual(foldersOf({ roots: [] }), []);
    for (const wrong of [undefined, null, 7, [], {}, { roots: {} }]) {
      assert.equal(foldersOf(wrong), undefined);
    }
  });

  it("reads only a limited number", () => {
    const many = Array.from({ length: 10_000 }, (_, n) => `/srv/${n}`);
    assert.equal(foldersOf(answer(...many))?.length, 100);
  });
});

describe("SessionRoots", () => {
  it("asks once for all calls, until the client announces a change", async () => {
    covers("mcp.roots.list", "mcp.roots.changed");
    const roots = new SessionRoots();
    let asked = 0;
    const ask = async (): Promise<object> => answer(`/srv/${++asked}`);
    const first = await Promise.all([roots.get(ask), roots.get(ask)]);
    assert.deepEqual(first, [["/srv/1"], ["/srv/1"]]);
    assert.deepEqual(await roots.get(ask), ["/srv/1"]);
    roots.changed();
    assert.deepEqual(await roots.get(ask), ["/srv/2"]);
    assert.equal(asked, 2);
  });

  it("ignores an answer that a change has overtaken", async () => {
    const roots = new SessionRoots();
    const { promise: slow, resolve } = Promise.withResolvers<object>();
    const answers = [slow, Promise.resolve(answer("/srv/new"))];
    const got = roots.get(async () => answers.shift());
    await turn();
    roots.changed();
    resolve(answer("/srv/old"));
    assert.deepEqual(await got, ["/srv/new"]);
  });

  it("continues without roots if the client fails to answer, and does not ask again for a while", async () => {
    const roots = new SessionRoots();
    let asked = 0;
    const fail = async (): Promise<never> => {
      asked++;
      throw new Error("No answer");
    };
    assert.equal(await roots.get(fail), undefined);
    assert.equal(await roots.get(fail), undefined);
    assert.equal(asked, 1);
    roots.changed();
    assert.deepEqual(await roots.get(async () => answer("/srv")), ["/srv"]);
  });

  it("stops asking a client that announces a change with every answer", async () => {
    const roots = new SessionRoots();
    let asked = 0;
    const got = await roots.get(async () => {
      roots.changed();
      return answer(`/srv/${++asked}`);
    });
    assert.deepEqual(got, ["/srv/3"]);
  });
});
