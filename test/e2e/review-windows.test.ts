import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { ServedGateway } from "../support/served-gateway.ts";
import { ReviewHome, ReviewServer } from "./review-server.ts";

const NAME = "claude";

/** A window of an assistant, however it reaches the gateway. */
interface Window {
  claim(): Promise<string>;
  close(): Promise<unknown>;
}

/** A window that speaks to the gateway in a session of its own. */
async function httpWindow(gateway: ServedGateway, repository: string): Promise<Window> {
  let session: Record<string, string> = {};
  const ask = async (method: string, params: object): Promise<Response> => {
    const response = await fetch(gateway.ready.mcp, {
      method: "POST",
      headers: {
        ...gateway.headers,
        ...session,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    assert.equal(response.status, 200);
    return response;
  };
  const clientInfo = { name: NAME, version: "1" };
  const begun = await ask("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo,
  });
  await begun.text();
  session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
  return {
    claim: async () => {
      const params = { name: "review_claim", arguments: { repository } };
      const text = await (await ask("tools/call", params)).text();
      return /"text":"([^"]*)/.exec(text)?.[1] ?? text;
    },
    close: () =>
      fetch(gateway.ready.mcp, { method: "DELETE", headers: { ...gateway.headers, ...session } }),
  };
}

/** A window that has started `trunkline mcp`, which relays to the gateway. */
async function relayedWindow(home: ReviewHome): Promise<Window> {
  const server = await new ReviewServer(home).begin(NAME);
  return {
    claim: () => server.call("review_claim"),
    close: () => server[Symbol.asyncDispose](),
  };
}

describe("windows of one program, at one gateway", { timeout: 600_000 }, () => {
  it("each have claims of their own, over HTTP and through `trunkline mcp`", async () => {
    using home = new ReviewHome();
    // The lines show who was served by the gateway, and not by itself.
    mkdirSync(join(home.path, ".config/trunkline"), { recursive: true });
    const config = join(home.path, ".config/trunkline/config.jsonc");
    writeFileSync(config, JSON.stringify({ log: { requests: true } }));
    await home.addInProcess("Why?");
    await using gateway = await ServedGateway.start([], { env: home.env });
    await using open = new AsyncDisposableStack();
    const windows = [
      await httpWindow(gateway, home.repository),
      await httpWindow(gateway, home.repository),
      await relayedWindow(home),
      await relayedWindow(home),
    ];
    for (const window of windows) open.defer(() => window.close().then(() => {}));
    while (windows.length > 0) {
      // Who closed last may still be being forgotten.
      let claims: string[];
      do claims = await Promise.all(windows.map((window) => window.claim()));
      while (!claims.some((text) => text.startsWith("r")));
      const winners = windows.filter((_, at) => claims[at]?.startsWith("r"));
      assert.equal(winners.length, 1, claims.join("\n"));
      for (const text of claims) assert.match(text, /^r|^No unclaimed thread/);
      const [winner] = winners;
      await winner?.close();
      windows.splice(windows.indexOf(winner as Window), 1);
    }
    const served = /(?:"tool":"review_claim"[^]*){10}/;
    await gateway.program.until(({ stderr }) => served.test(stderr));
  });
});
