import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../../test/support/requirement.ts";
import { META } from "../meta.ts";
import { clientOfRequest, describesClient, nameOf } from "./connection.ts";

const described = (more: object = {}, version: unknown = "2026-07-28"): object => ({
  _meta: { [META.protocolVersion]: version, [META.clientCapabilities]: {}, ...more },
});

describe("clientOfRequest()", () => {
  it("returns the client that the request describes", () => {
    const capabilities = { roots: {} };
    const client = clientOfRequest(
      described({
        [META.clientCapabilities]: capabilities,
        [META.clientInfo]: { name: "ada", version: "1" },
        [META.logLevel]: "warning",
      }),
    );
    assert.equal(client.codec.revision, "2026-07-28");
    assert.equal(client.capabilities, capabilities);
    assert.equal(client.name, "ada");
    assert.equal(client.logLevel, "warning");
  });

  it("refuses a request that lacks a required member, and names it", () => {
    covers("mcp.modern.required-meta");
    const lacking: [unknown, RegExp][] = [
      [undefined, /protocolVersion.*must be a string/],
      [{ _meta: [] }, /protocolVersion/],
      [described({}, 20260728), /protocolVersion/],
      [described({ [META.clientCapabilities]: undefined }), /clientCapabilities.*an object/],
      [described({ [META.clientCapabilities]: [] }), /clientCapabilities/],
      [described({ [META.logLevel]: "loud" }), /logLevel.*one of: debug/],
    ];
    for (const [params, message] of lacking) {
      assert.throws(() => clientOfRequest(params), { code: -32602, message });
    }
  });

  it("refuses an unsupported revision, and lists the supported ones", () => {
    covers("mcp.modern.unsupported-version");
    for (const version of ["2030-01-01", "2025-11-25", ""]) {
      assert.throws(
        () => clientOfRequest(described({}, version)),
        (error: { code: number; data: { supported: string[]; requested: string } }) => {
          assert.equal(error.code, -32022);
          assert.equal(error.data.requested, version);
          assert.ok(error.data.supported.includes("2026-07-28"));
          return true;
        },
      );
    }
  });
});

it("describesClient() checks only the version, so that other mistakes are refused later", () => {
  assert.ok(describesClient({ _meta: { [META.protocolVersion]: 5 } }));
  for (const params of [undefined, [], {}, { _meta: { [META.clientCapabilities]: {} } }]) {
    assert.ok(!describesClient(params));
  }
});

it('nameOf() returns "unknown" for a client without a name', () => {
  assert.equal(nameOf({ name: "ada" }), "ada");
  for (const info of [undefined, "ada", { name: 5 }, {}]) assert.equal(nameOf(info), "unknown");
});
