import assert from "node:assert/strict";
import { hash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { describe, it } from "node:test";

import { page } from "./page.ts";

/** What a page answers with. */
function sent(
  shown: ReturnType<typeof page>,
  headers = {},
): { status: number; html: string; policy: string[] } {
  const answer = { status: 0, html: "", policy: [] as string[] };
  const response = {
    writeHead(status: number, all: Readonly<Record<string, string>>) {
      answer.status = status;
      answer.policy = (all["content-security-policy"] ?? "").split("; ");
    },
    end: (html: string) => void (answer.html = html),
  };
  shown.send(response as unknown as ServerResponse, 200, headers);
  return answer;
}

const sourceOf = (text: string): string => `'sha256-${hash("sha256", text, "base64")}'`;

describe("page()", () => {
  it("allows its own script and style, and nothing else", () => {
    const { html, policy } = sent(page("<p>x</p>", "go();"));
    const [, style = ""] = /<style>([^]*)<\/style>/.exec(html) ?? [];
    assert.match(html, /<p>x<\/p>\n<script>go\(\);<\/script>/);
    assert.ok(policy.includes("default-src 'none'"));
    assert.ok(policy.includes(`style-src ${sourceOf(style)}`));
    assert.ok(policy.includes(`script-src ${sourceOf("go();")}`));
    assert.ok(policy.includes("frame-ancestors 'none'"));
  });

  it("allows no script if it has none", () => {
    const { html, policy } = sent(page("<p>x</p>"));
    assert.doesNotMatch(html, /<script/);
    assert.ok(policy.includes("script-src 'none'"));
  });
});
