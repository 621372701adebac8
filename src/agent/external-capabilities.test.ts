import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SessionError } from "../session/session-error.ts";
import { explainLogin, ExternalCapabilities } from "./external-capabilities.ts";

const TEXT = { type: "text", text: "Look" };
const RESOURCE = { type: "resource", resource: { uri: "file:///a", text: "content" } };
const BLOB = { type: "resource", resource: { uri: "file:///b", blob: "AA==" } };
const IMAGE = { type: "image", data: "AA==", mimeType: "image/png" };
const AUDIO = { type: "audio", data: "AA==", mimeType: "audio/wav" };

const METHODS = ["load", "resume", "close", "additionalDirectories"] as const;

describe("ExternalCapabilities", () => {
  it("keep content that the agent supports", () => {
    const promptCapabilities = { image: true, audio: true, embeddedContext: true };
    const offer = new ExternalCapabilities("able", { promptCapabilities });
    const prompt = [TEXT, RESOURCE, BLOB, IMAGE, AUDIO];
    assert.deepEqual(offer.adaptPrompt(prompt), prompt);
  });

  it("turn other content into text and links", () => {
    const offer = new ExternalCapabilities("plain", {});
    assert.deepEqual(offer.adaptPrompt([TEXT, RESOURCE, BLOB]), [
      TEXT,
      { type: "text", text: '<context uri="file:///a">\ncontent\n</context>' },
      { type: "resource_link", uri: "file:///b", name: "file:///b" },
    ]);
    assert.throws(() => offer.adaptPrompt([IMAGE]), /Agent 'plain' does not support images/);
    assert.throws(() => offer.adaptPrompt([AUDIO]), /Agent 'plain' does not support audio/);
  });

  it("include only MCP servers of a supported type", () => {
    const offer = new ExternalCapabilities("some", { mcpCapabilities: { http: true } });
    const taken = [undefined, "http", "sse"].map((type) => {
      return offer.supportsServer({ name: "x", ...(type === undefined ? {} : { type }) });
    });
    assert.deepEqual(taken, [true, true, false]);
  });

  it("allow loading, resuming, closing and additional folders only if the agent supports them", () => {
    const none = new ExternalCapabilities("none", { sessionCapabilities: { resume: null } });
    for (const what of METHODS) assert.equal(none.can(what), false, what);
    const sessionCapabilities = { resume: {}, close: {}, additionalDirectories: {} };
    const all = new ExternalCapabilities("all", { loadSession: true, sessionCapabilities });
    for (const what of METHODS) assert.equal(all.can(what), true, what);
  });

  it("allow `/pause` while the agent works only if it says that it takes it", () => {
    const pauses = (trunkline: unknown) =>
      new ExternalCapabilities("some", { _meta: { trunkline } }).canPause;
    assert.deepEqual([pauses({ pause: true }), pauses({}), pauses(null)], [true, false, false]);
  });
});

const AGENT = { name: "codex", commandLine: "codex-acp" };

describe("explainLogin()", () => {
  it("lists the ways to log in to an agent, and the commands for them", () => {
    const error = new SessionError("auth-required", "Authentication required", {});
    const explained = explainLogin(error, AGENT, [
      { id: "chat-gpt", name: "ChatGPT" },
      { id: "here", name: "Terminal", type: "terminal", args: ["--login"] },
    ]);
    assert.ok(explained instanceof SessionError);
    assert.equal(explained.problem, "auth-required");
    assert.match(explained.message, /^Agent 'codex' wants you to log in\. It offers: ChatGPT,/);
    assert.match(explained.message, /Terminal \(run: codex-acp --login\)\./);
  });

  it("leaves other errors unchanged", () => {
    const error = new Error("no");
    assert.equal(explainLogin(error, AGENT, []), error);
  });
});
