import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { findSecret } from "./secrets.ts";

const find = (text: string, before?: string): string | undefined =>
  findSecret(Buffer.from(text), before === undefined ? undefined : Buffer.from(before));
/** Put together here, so that no scanner reports this file. */
const of = (...parts: string[]): string => parts.join("");

describe("findSecret()", () => {
  it("recognises secrets by their patterns", () => {
    const samples = {
      "a private key": of("-----BEGIN OPENSSH ", "PRIVATE KEY-----\nAAAA"),
      "an AWS access key": of("AKIA", "A".repeat(16)),
      "a GitHub token": of("ghp_", "a".repeat(36)),
      "a GitLab token": of("glpat-", "a".repeat(20)),
      "an npm token": of("npm_", "a".repeat(36)),
      "an Anthropic key": of("sk-ant-", "a".repeat(32)),
      "an OpenAI key": of("sk-proj-", "a".repeat(40)),
      "a Slack token": of("xoxb-", "1".repeat(20)),
      "a Google key": of("AIza", "a".repeat(35)),
      "a token of Trunkline": of("tlk_", "a".repeat(20)),
    };
    for (const [name, sample] of Object.entries(samples)) {
      assert.equal(find(`x = "${sample}"`), name);
    }
    for (const text of [
      "sk-short",
      "-----BEGIN CERTIFICATE-----",
      "ghp_",
      "AKIALOWERcase1234567",
    ]) {
      assert.equal(find(text), undefined, text);
    }
  });

  it("finds a new secret beside one that was there before", () => {
    const [old, other] = ["a", "b"].map((letter) => of("ghp_", letter.repeat(36)));
    assert.equal(find(`${old}\nmore`, `${old}`), undefined);
    assert.equal(find(`${old} ${other}`, `${old}`), "a GitHub token");
  });
});
