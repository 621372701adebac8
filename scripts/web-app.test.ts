import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { gzipSync } from "node:zlib";

import { stop } from "esbuild";
import { webApp } from "./web-app.ts";

const ROOT = join(import.meta.dirname, "..");
/** What a phone has to load. */
const MOST_BYTES = 60_000;

describe("webApp()", () => {
  after(() => stop());

  it("makes a page whose scripts are small, and that loads nothing but its own files", async () => {
    const { build } = await webApp(ROOT);
    const scripts = [...build.chunks].filter(([name]) => name.endsWith(".js"));
    const size = scripts.reduce((sum, [, content]) => sum + gzipSync(content).length, 0);
    assert.ok(size > 10_000 && size <= MOST_BYTES, `${size} bytes gzipped`);
    const { text } = build.launcher;
    const links = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = ""]) => link);
    const files = links.filter((link) => link !== "data:,");
    assert.equal(files.length, 2);
    for (const link of files) {
      assert.match(link, /^\/assets\/main-[A-Z0-9]{8}\.(?:js|css)$/);
      assert.ok(build.chunks.has(link.slice("/assets/".length)), link);
    }
    // The Content Security Policy allows neither.
    assert.doesNotMatch(text, /<style|style=|<script(?! type="module" src=)|\son\w+=/);
  });
});
