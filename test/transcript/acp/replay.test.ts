import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";

import type { SessionUpdate, Turn } from "../../../src/session/agent.ts";
import { SessionError } from "../../../src/session/session-error.ts";
import { covers } from "../../support/requirement.ts";
import { AcpApp, type Message } from "../../support/acp-app.ts";
import { chunk, promptText } from "../../support/scripted-agent.ts";

const FILE = join(import.meta.dirname, "1/acp-message-specification.jsonl");
const MAIN = "/path/to/project/src/main.js";

interface Step {
  readonly send?: object;
  /** What comes next; it may have members that the document does not show. */
  readonly expect?: Message;
}

const STEPS = readFileSync(FILE, "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as Step);

/** What the document's agent does. */
async function script(turn: Turn): Promise<void> {
  if (promptText(turn) === "Hello") return turn.update(chunk("Hi there!"));
  if (promptText(turn) === "Never end") {
    await turn.update(chunk("Working"));
    return new Promise(() => {});
  }
  const [said, call, done, plan] = updates();
  const { params } = STEPS.find(({ expect }) => expect?.params?.options)?.expect ?? {};
  await turn.update(said);
  await turn.update(call);
  const { toolCall, options } = params;
  const outcome = await turn.requestPermission({ toolCall, options });
  assert.deepEqual(outcome, { outcome: "selected", optionId: "once", kind: "allow_once" });
  await turn.update(done);
  await turn.update(plan);
  const { fs } = turn.client;
  const read = await fs?.readTextFile?.(MAIN, { line: 1, limit: 1000 });
  assert.equal(read, "console.log('Hello World');\n");
  await fs?.writeTextFile?.(MAIN, "console.log('Updated content');\n");
  await assert.rejects(async () => fs?.readTextFile?.("/nonexistent"), (error: unknown) => {
    return error instanceof SessionError && error.problem === "file-not-found";
  });
}

/** The updates of the first turn, as the document has them. */
function updates(): [SessionUpdate, SessionUpdate, SessionUpdate, SessionUpdate] {
  const all = STEPS.map(({ expect }) => expect?.params?.update as SessionUpdate | undefined);
  const of = (kind: string) => all.find((one) => one?.sessionUpdate === kind) ?? chunk("");
  return [of("agent_message_chunk"), of("tool_call"), of("tool_call_update"), of("plan")];
}

function isTitle(update: Message | undefined): boolean {
  return update?.sessionUpdate === "session_info_update" && update._meta === undefined;
}

it("the ACP message specification replays, in its order", { timeout: 600_000 }, async () => {
  covers("acp.initialize.request", "acp.new.request", "acp.load.request", "acp.prompt.request", "acp.write-file.answer");
  covers("acp.set-mode.request", "acp.set-model.request", "acp.cancel.session", "acp.load.session");
  covers("acp.read-file.request", "acp.read-file.answer", "acp.read-file.error", "acp.write-file.request");
  covers("acp.permission.request", "acp.permission.answer", "acp.flow.file-not-found", "acp.set-model.answer");
  await using app = await AcpApp.open({ script, sessionLimits: { cancelGrace: 1 } });
  const client = app.connect();
  let session = "";
  let seen = 0;
  const named = <T>(value: T): T =>
    JSON.parse(
      JSON.stringify(value)
        .replaceAll("$session", session)
        // The document's example is another agent.
        .replaceAll('"name":"opencode"', '"name":"trunkline"'),
    ) as T;
  // The document does not know the titles of sessions.
  const told = (): Message[] => client.messages.filter(({ params }) => !isTitle(params?.update));
  for (const { send, expect } of STEPS) {
    if (send !== undefined) client.send(named(send));
    if (expect === undefined) continue;
    await client.find(() => told().length > seen);
    const message = told()[seen++] ?? {};
    if (session === "" && expect.result?.sessionId) session = message.result.sessionId as string;
    assert.partialDeepStrictEqual(message, named(expect));
  }
  client.send({ jsonrpc: "2.0", id: 99, method: "session/list", params: {} });
  await client.answerTo(99);
  assert.equal(told().length, seen + 1, "something was said that is not in the document");
});
