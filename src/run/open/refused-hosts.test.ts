import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Log } from "../../base/log.ts";
import type { SessionUpdate } from "../../session/agent.ts";
import { refusedHosts } from "./confined-agent.ts";

function open() {
  const hosts = refusedHosts(new Log("error"), "workspace");
  const updates: SessionUpdate[] = [];
  const texts = () => updates.map(({ content }) => (content as { text: string }).text);
  return { hosts, texts, tell: () => hosts.tellTo((update) => void updates.push(update)) };
}

describe("refusedHosts()", () => {
  it("reports each host to the session once, with the reason", () => {
    const { hosts, texts, tell } = open();
    tell();
    for (const host of ["a.example", "b.example", "a.example"]) {
      hosts.refused(host, `'${host}' is not among the hosts that \`x\` allows`);
    }
    assert.deepEqual(texts(), [
      "A connection was refused: 'a.example' is not among the hosts that `x` allows.\n",
      "A connection was refused: 'b.example' is not among the hosts that `x` allows.\n",
    ]);
  });

  it("reports refusals from before there was a session", () => {
    const { hosts, texts, tell } = open();
    hosts.refused("a.example", "why");
    assert.deepEqual(texts(), []);
    tell();
    assert.equal(texts().length, 1);
  });

  it("limits how many hosts a program can make it report", () => {
    const { hosts, texts, tell } = open();
    tell();
    for (let at = 0; at < 1_000; at++) hosts.refused(`${at}.example`, "x".repeat(10_000));
    assert.ok(texts().join("").length < 10_000);
  });
});
