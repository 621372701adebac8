import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { join } from "node:path";

import { Packages } from "../support/packages.ts";
import { AppWithUpstreams } from "../upstream/app-with-upstreams.ts";
import { type Json, RawClient } from "../upstream/raw-client.ts";

const FOLDER = "test/interop/ext-apps";
const packages = new Packages(FOLDER);
const SERVER = join(import.meta.dirname, "ext-apps", "server.mjs");

/** What a host uses of the official library. */
interface AppBridge {
  getToolUiResourceUri(tool: Json): string | undefined;
  isToolVisibilityAppOnly(tool: Json): boolean;
}

describe("two servers of MCP Apps with the same page address", { timeout: 120_000 }, () => {
  before(() => packages.install());

  for (const revision of ["2025-11-25", "2026-07-28"] as const) {
    it(`each show their own page to a host of ${revision}`, async () => {
      const bridge = await packages.import<AppBridge>(
        "@modelcontextprotocol/ext-apps/dist/src/app-bridge.js",
      );
      await using app = new AppWithUpstreams();
      const server = (name: string) => ({ command: process.execPath, args: [SERVER, name] });
      await app.configure({ one: server("one"), two: server("two") });
      await app.offer.resources.list();
      const ui = { mimeTypes: ["text/html;profile=mcp-app"] };
      await using host = await RawClient.connect(app.door, {
        revision,
        capabilities: { extensions: { "io.modelcontextprotocol/ui": ui } },
      });
      const { result: listed } = await host.request("tools/list");
      const tools = listed.tools as Json[];
      const names = tools.map(({ name }) => name as string);
      assert.deepEqual(names, [
        "show-cart",
        "update-quantity",
        "two_show-cart",
        "two_update-quantity",
      ]);
      for (const [tool, name] of [
        ["show-cart", "one"],
        ["two_show-cart", "two"],
      ]) {
        const described = tools.find((each) => each["name"] === tool) ?? {};
        const uri = bridge.getToolUiResourceUri(described);
        assert.match(uri ?? "", /^ui:\/\//);
        const { result: page } = await host.request("resources/read", { uri });
        const [content] = page.contents as Json[];
        assert.equal(content?.["text"], `<h1>${name}</h1>`);
        assert.equal(content?.["uri"], uri);
        const csp = content?.["_meta"].ui.csp as Json;
        assert.deepEqual(csp, { connectDomains: [`https://${name}.example.com`] });
        const { result } = await host.callTool(tool ?? "");
        assert.equal(result.content[0].text, `${name}: cart`);
      }
      // The page calls what no model is shown.
      assert.equal(tools.filter((tool) => bridge.isToolVisibilityAppOnly(tool)).length, 2);
      const { result } = await host.callTool("two_update-quantity", { quantity: 3 });
      assert.equal(result.content[0].text, "two: 3");
      await using plain = await RawClient.connect(app.door, { revision });
      const { result: forModel } = await plain.request("tools/list");
      assert.deepEqual(
        forModel.tools.map(({ name }: Json) => name as string),
        ["show-cart", "two_show-cart"],
      );
    });
  }
});
