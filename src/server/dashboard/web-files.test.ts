import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { loadWebFiles } from "./web-files.ts";

/** A built application, and a server for it. */
async function withFiles(test: (url: string) => Promise<void>, isBuilt = true): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-web-"));
  writeFileSync(join(folder, "index.html"), "<!doctype html><title>Trunkline</title>");
  writeFileSync(join(folder, "main-0A1B2C3D.js"), "export {};");
  writeFileSync(join(folder, "notes.txt"), "not for anybody");
  const files = await loadWebFiles(isBuilt ? folder : join(folder, "none"));
  // An upgrade replaces the folder while the server runs.
  rmSync(folder, { recursive: true });
  const server = createServer((request, response) => {
    const { url = "" } = request;
    files.send(url, request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await test(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  }
}

describe("the files of the dashboard", () => {
  it("serves the page with a strict policy, and again only where it has changed", () =>
    withFiles(async (url) => {
      const page = await fetch(url);
      assert.equal(await page.text(), "<!doctype html><title>Trunkline</title>");
      const policy = page.headers.get("content-security-policy") ?? "";
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
      assert.match(policy, /frame-ancestors 'none'/);
      assert.equal(page.headers.get("cache-control"), "no-cache");
      assert.equal(page.headers.get("referrer-policy"), "no-referrer");
      const tag = page.headers.get("etag") ?? "";
      const again = await fetch(url, { headers: { "if-none-match": tag } });
      assert.equal(again.status, 304);
    }));

  it("lets a browser keep a file forever whose name has its hash", () =>
    withFiles(async (url) => {
      const script = await fetch(`${url}/assets/main-0A1B2C3D.js`);
      assert.equal(script.headers.get("content-type"), "text/javascript; charset=utf-8");
      assert.match(script.headers.get("cache-control") ?? "", /immutable/);
      assert.equal(script.headers.get("content-encoding"), "gzip");
      assert.equal(await script.text(), "export {};");
      assert.equal(script.headers.get("x-content-type-options"), "nosniff");
    }));

  it("serves nothing else", () =>
    withFiles(async (url) => {
      for (const name of ["notes.txt", "index.html", "none.js", "..%2Fpackage.json", "../x.js"]) {
        assert.equal((await fetch(`${url}/assets/${name}`)).status, 404, name);
      }
    }));

  it("says what to do where no page was built", () =>
    withFiles(async (url) => {
      const answer = await fetch(url);
      assert.equal(answer.status, 404);
      assert.match(await answer.text(), /not built: npm run build/);
    }, false));
});
