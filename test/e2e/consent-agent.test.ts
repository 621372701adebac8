import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { AgentEditor, NO_SANDBOX, UNCONFINED } from "../agent/agent-editor.ts";
import { FakeLlm, type Scripted } from "../agent/fake-llm.ts";
import type { Json } from "../support/acp-app.ts";
import { ToolsHome } from "../support/tools-home.ts";
import { covers } from "../support/requirement.ts";

const DONE: Scripted = { content: "Done." };

const call = (name: string, args: object = {}): Scripted => ({
  toolCalls: [{ name, arguments: args }],
});

const permissions = (editor: AgentEditor): Json[] =>
  editor.asked
    .filter(({ method }) => method === "session/request_permission")
    .map(({ params }) => params);

const READS = { annotations: { readOnlyHint: true } };
const SERVERS = {
  other: [{ name: "peek", title: "Look", ...READS }],
  trusted: [
    { name: "glance", ...READS },
    { name: "secret", ...READS },
  ],
};

describe("the built-in agent's permission requests", { timeout: 600_000 }, () => {
  let home: ToolsHome;
  let llm: FakeLlm;
  let editor: AgentEditor;
  before(async () => {
    home = new ToolsHome(SERVERS);
    llm = await FakeLlm.start([]);
    const mcpServers = home.serversFor(SERVERS);
    const rules = [
      { tool: "secret", decision: "deny" },
      { tool: "*", server: "trusted", decision: "allow" },
    ];
    const rate = { limit: 1_000, windowMs: 60_000 };
    const limits = { messages: { "session/prompt": { rate } } };
    editor = await AgentEditor.open({
      llm,
      config: { mcpServers, limits, policy: { tools: { rules } } },
    });
  });
  after(async () => {
    await editor[Symbol.asyncDispose]();
    await llm[Symbol.asyncDispose]();
    home[Symbol.dispose]();
  });

  it("show the whole command, with nothing hidden, and labels that say what always covers", async () => {
    const command = `echo ${"harmless ".repeat(5_000)}\u202e; touch evil # \x1b[8m?token=$(evil)`;
    llm.play([call("run_command", { command }), DONE]);
    const id = await editor.another();
    editor.decide = () => "reject_once";
    await editor.say(id, "go");
    const [{ toolCall, options }] = permissions(editor) as [Json];
    const shown = command.replace("\u202e", "\\u202e").replace("\x1b", "\\u001b");
    assert.equal(toolCall.title, `${NO_SANDBOX}${shown}`);
    assert.equal(toolCall.rawInput.command, shown);
    assert.ok(toolCall.content.at(-1).content.text.includes(shown));
    const always = options.find(({ kind }: Json) => kind === "allow_always");
    assert.equal(always.name, `Always allow in ${editor.cwd}: exactly this command${UNCONFINED}`);
    assert.equal(existsSync(join(editor.cwd, "evil")), false);
  });

  it("show the whole change; one that cannot be shown whole is not made", async () => {
    const lines = Array.from({ length: 5_000 }, (_, index) => `line ${index}\u202e`);
    const large = lines.join("\n");
    // Of what is hidden each character takes seven when it is shown.
    const huge = "\u202e".repeat(160_000);
    llm.play([
      call("write_file", { path: "large", content: large }),
      call("write_file", { path: "huge", content: huge }),
      DONE,
    ]);
    const { calls, updates } = await editor.say(await editor.another(), "go");
    assert.deepEqual(calls, ["edit Write large: completed", "edit Write huge: failed"]);
    const asked = permissions(editor);
    assert.equal(asked.length, 1);
    const [diff] = asked[0]?.toolCall.content ?? [];
    assert.equal(diff.newText, large.replaceAll("\u202e", "\\u202e"));
    assert.equal(editor.read("large"), large);
    assert.equal(existsSync(join(editor.cwd, "huge")), false);
    const failed = updates.find(({ status }) => status === "failed");
    const [{ content: says }] = failed.content;
    assert.match(says.text, /Cannot ask for permission: .*can be shown.*smaller steps/);
  });

  it("are made for each call of another server's read-only tool, also in the mode Ask", async () => {
    covers("mcp.tools.untrusted");
    const peek = call("peek", { path: "/etc/passwd" });
    llm.play([
      { ...peek, when: ({ messages }) => messages.at(-1)?.role === "user" },
      { ...DONE, when: ({ messages }) => messages.at(-1)?.role !== "user" },
    ]);
    const sessionId = await editor.another();
    await editor.ask("session/set_mode", { sessionId, modeId: "ask" });
    editor.decide = () => "reject_once";
    assert.deepEqual((await editor.say(sessionId, "go")).calls, ["read other: Look: failed"]);
    assert.deepEqual(home.called("other"), []);
    const [{ toolCall, options }] = permissions(editor) as [Json];
    assert.equal(toolCall.title, "Call 'peek' of 'other' (Look)");
    assert.match(toolCall.content[0].content.text, /"path": "\/etc\/passwd"/);
    const always = options.find(({ kind }: Json) => kind === "allow_always");
    assert.match(always.name, /every call of 'peek' of 'other', whatever its arguments$/);
    editor.decide = () => "allow_once";
    await editor.say(sessionId, "go");
    assert.equal(permissions(editor).length, 2);
    assert.deepEqual(home.called("other"), ["peek"]);
    // The person believes the tool, as it is now.
    const config = join(editor.folder, "config.jsonc");
    const approve = ["tool", "approve", "other/peek", "--config", config, "--data", editor.data];
    const { code, err } = await home.runBare(...approve);
    assert.equal(code, 0, err);
    // It hears of that in a moment.
    for (let before = 0; before !== permissions(editor).length;) {
      before = permissions(editor).length;
      await editor.say(sessionId, "go");
    }
    assert.ok(home.called("other").length > permissions(editor).length - 1);
  });

  it("are not made for what a policy rule allows, and denied tools are not offered", async () => {
    llm.play([call("glance"), DONE]);
    await editor.say(await editor.another(), "go");
    assert.deepEqual(permissions(editor), []);
    assert.deepEqual(home.called("trusted"), ["glance"]);
    assert.ok(llm.tools.includes("glance") && !llm.tools.includes("secret"), llm.tools.join());
  });

  it("do not keep an editor that cancels a request from sending the next prompt after the answer", async () => {
    const command = "sleep 600";
    llm.play([
      { ...call("run_command", { command }), when: ({ messages }) => isLast(messages, "long") },
      { content: "Next.", when: ({ messages }) => isLast(messages, "next") },
    ]);
    const sessionId = await editor.another();
    for (let time = 0; time < 4; time++) {
      const before = editor.messages.length;
      const id = editor.prompt(sessionId, "long");
      await editor.find((it) => {
        return editor.messages.indexOf(it) >= before && it.params?.update?.status === "in_progress";
      });
      editor.program.write({
        jsonrpc: "2.0",
        method: "$/cancel_request",
        params: { requestId: id },
      });
      await assert.rejects(editor.answerTo(id), { code: -32800 });
      assert.equal((await editor.say(sessionId, "next")).stopReason, "end_turn");
    }
  });
});

/** A program on one of the ports that models usually listen on, if one is free. */
async function squatter(seen: string[]): Promise<(Server & AsyncDisposable) | undefined> {
  for (const port of [1234, 11434, 8080]) {
    const server = createServer((request, response) => {
      seen.push(request.url ?? "");
      response.end(JSON.stringify({ data: [{ id: "squatter" }] }));
    });
    try {
      await once(server.listen(port, "127.0.0.1"), "listening");
      return server;
    } catch {
      // Somebody has it.
    }
  }
  return undefined;
}

describe("a program on the port of a local model server", { timeout: 600_000 }, () => {
  it("is offered, and receives no message", async (context) => {
    const seen: string[] = [];
    await using server = await squatter(seen);
    if (server === undefined) {
      context.skip("the ports 1234, 11434 and 8080 are all taken: free one of them");
      return;
    }
    await using editor = new AgentEditor({ config: { models: { local: true } } });
    const { sessionId } = await editor.begin();
    const { text } = await editor.say(String(sessionId), "A secret.");
    assert.match(text, /without a language model/);
    assert.match(text, /\/squatter`.*used only when you choose it/);
    assert.deepEqual([...new Set(seen)], ["/v1/models"]);
  });
});

describe("an editor", { timeout: 600_000 }, () => {
  it("that fails to return a file is not bypassed", async () => {
    const edit = { path: "a.txt", old_string: "saved", new_string: "lost" };
    await using llm = await FakeLlm.start([
      call("read_file", { path: "a.txt" }),
      call("edit_file", edit),
      DONE,
    ]);
    const capabilities = { fs: { readTextFile: true, writeTextFile: true } };
    await using editor = await AgentEditor.open({
      llm,
      files: { "a.txt": "saved\n" },
      capabilities,
    });
    editor.buffers.set(join(editor.cwd, "a.txt"), "unsaved\n");
    editor.fail = ({ method }) => {
      return method === "fs/read_text_file" ? { code: -32603, message: "Busy" } : undefined;
    };
    const { calls } = await editor.say(editor.id, "go");
    assert.deepEqual(calls, ["read Read a.txt: failed", "edit Edit a.txt: failed"]);
    assert.match(
      llm.seen(2),
      /Cannot read 'a\.txt': the editor did not say what it holds \(Busy\)/,
    );
    assert.equal(editor.buffers.get(join(editor.cwd, "a.txt")), "unsaved\n");
  });
});

function isLast(messages: readonly Readonly<Record<string, unknown>>[], word: string): boolean {
  const last = messages.findLast(({ role }) => role === "user");
  return JSON.stringify(last?.content).includes(word);
}
