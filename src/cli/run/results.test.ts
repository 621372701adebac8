import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

describe("run show --url", () => {
  it("says in words that the answer of a server is none", async () => {
    await using line = await SampleCommandLine.create();
    const row = { id: "a", branch: "main", revision: "", stage: "ready", updated: 0 };
    const good = { row, files: [{ path: "a", added: 1, removed: 0 }], log: [] };
    let answer = "";
    const server = createServer((_, response) => response.end(answer)).listen(0, "127.0.0.1");
    try {
      await once(server, "listening");
      const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/acp`;
      line.env.TRUNKLINE_TOKEN = "x";
      const show = (what = "show") => line.run("run", what, "0b9e4c1d", "--url", url);
      answer = JSON.stringify(good);
      const shown = await show();
      assert.match(shown.out, /ready/, shown.err);
      for (const wrong of [
        "<html>",
        "null",
        JSON.stringify({ row }),
        JSON.stringify({ ...good, row: { ...row, updated: "never" } }),
        JSON.stringify({ ...good, row: { ...row, title: {} } }),
        JSON.stringify({ ...good, files: [null] }),
        JSON.stringify({ ...good, log: [{ at: 1e300, says: "x" }] }),
      ]) {
        answer = wrong;
        for (const what of ["show", "log", "patch"]) {
          const { code, err } = await show(what);
          assert.equal(code, 1, wrong);
          assert.match(err, /Cannot read the run from .*its answer is none/, `${wrong}: ${err}`);
        }
      }
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
