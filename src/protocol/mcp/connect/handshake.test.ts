import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ClientPair } from "../../../../test/upstream/client-pair.ts";
import {
  LEGACY,
  MODERN,
  Refusal,
  type Script,
  SILENCE,
} from "../../../../test/upstream/scripted-server.ts";
import { ROUTED_EXTENSIONS } from "../meta.ts";
import { covers } from "../../../../test/support/requirement.ts";

const M = "io.modelcontextprotocol/";

describe("McpClient.connect()", () => {
  it("needs one exchange with a server of 2026-07-28", async () => {
    covers("mcp.modern.probe");
    await using pair = await ClientPair.connect(MODERN);
    assert.equal(pair.client.revision, "2026-07-28");
    assert.equal(pair.client.info.name, "scripted");
    const [discover] = pair.server.heard;
    assert.equal(discover?.["method"], "server/discover");
    assert.equal(discover?.["params"]._meta[`${M}protocolVersion`], "2026-07-28");
    // No caller can be asked anything; the extensions are those that are passed on.
    const extensions = ROUTED_EXTENSIONS;
    assert.deepEqual(discover?.["params"]._meta[`${M}clientCapabilities`], { extensions });
    assert.equal(pair.server.asked("initialize").length, 0);
  });

  it("falls back to initialize if the server does not know discover", async () => {
    covers("mcp.lifecycle.client-initialized");
    await using pair = await ClientPair.connect(LEGACY);
    assert.equal(pair.client.revision, "2025-11-25");
    const [initialize] = pair.server.asked("initialize");
    assert.equal(initialize?.["params"].protocolVersion, "2025-11-25");
    assert.deepEqual(initialize?.["params"].capabilities.sampling, {});
    await pair.server.until((server) => server.asked("notifications/initialized").length === 1);
  });

  it("falls back to initialize if discover is not answered", async () => {
    const script = { ...LEGACY, "server/discover": () => SILENCE };
    await using pair = await ClientPair.connect(script, { probe: 5 });
    assert.equal(pair.client.revision, "2025-11-25");
  });

  it("accepts a late answer to discover from a server that refuses initialize", async () => {
    const refused = Promise.withResolvers<void>();
    const script: Script = {
      ...MODERN,
      "server/discover": async (params, server) => {
        await refused.promise;
        return MODERN["server/discover"]?.(params, server);
      },
      initialize: () => {
        refused.resolve();
        throw new Refusal(-32601, "Method not found");
      },
    };
    await using pair = await ClientPair.connect(script, { probe: 5 });
    assert.equal(pair.client.revision, "2026-07-28");
  });

  it("falls back if the server answers discover with older revisions only", async () => {
    const script = { ...LEGACY, "server/discover": () => ({ supportedVersions: ["2025-11-25"] }) };
    await using pair = await ClientPair.connect(script);
    assert.equal(pair.client.revision, "2025-11-25");
  });

  it("asks again with a revision that the refusal names as supported", async () => {
    covers("mcp.modern.retry-version");
    let asked = 0;
    const script: Script = {
      ...MODERN,
      "server/discover": (params, server) => {
        if (++asked > 1) return MODERN["server/discover"]?.(params, server);
        throw new Refusal(-32022, "Unsupported", { supported: ["2026-07-28"] });
      },
    };
    await using pair = await ClientPair.connect(script);
    assert.equal(pair.client.revision, "2026-07-28");
    assert.equal(asked, 2);
  });

  it("does only one handshake if told which", async () => {
    await using pair = await ClientPair.connect(LEGACY, { era: "legacy" });
    assert.deepEqual(pair.server.heard.map(({ method }) => method as string).slice(0, 1), [
      "initialize",
    ]);
    await assert.rejects(ClientPair.connect(LEGACY, { era: "modern" }), /Method not found/);
  });

  it("fails if no handshake is allowed", async () => {
    const script = {
      ...LEGACY,
      "server/discover": () => {
        throw new Refusal(-32000, "answered 401", { status: 401 });
      },
    };
    await assert.rejects(ClientPair.connect(script), /answered 401/);
  });

  it("fails for an unknown revision", async () => {
    covers("mcp.lifecycle.client-version");
    const script = { ...LEGACY, initialize: () => ({ protocolVersion: "1999-01-01" }) };
    await assert.rejects(
      ClientPair.connect(script),
      /speaks revision "1999-01-01"; known here: 2026/,
    );
  });
});
