import assert from "node:assert/strict";
import { it } from "node:test";

import { SessionError } from "../session/session-error.ts";
import { explainLogin } from "./external-login.ts";

const AGENT = { name: "codex", commandLine: "codex-acp" };

it("says which ways there are to log in to an agent, and what to run for them", () => {
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

it("leaves other failures as they are", () => {
  const error = new Error("no");
  assert.equal(explainLogin(error, AGENT, []), error);
});
