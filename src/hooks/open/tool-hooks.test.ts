// Long: hooks are real programs and real servers.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { mkdtempDisposableSync, readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import { SampleContext, sampleTool } from "../../../test/samples/sample-context.ts";
import { processesOf } from "../../../test/support/processes.ts";
import { until } from "../../../test/support/until.ts";
import { OWNER, type Principal } from "../../base/principal.ts";
import { AppContext } from "../../config/app-context.ts";
import { defaultConfig } from "../../config/config.ts";
import type { AuditEntry } from "../../tool/audit.ts";
import { Policy, type PolicyRule } from "../../tool/policy.ts";
import {
  type JsonSchema,
  textResult,
  type Tool,
  ToolFault,
  type ToolResult,
} from "../../tool/tool.ts";
import { Toolbox } from "../../tool/toolbox.ts";
import type { HookEntry, HookEvent } from "../hook.ts";
import { type ToolHooks, toolHooksFor } from "./tool-hooks.ts";

const SCHEMA = {
  type: "object",
  properties: { text: { type: "string" } },
  required: ["text"],
  additionalProperties: false,
};

interface RigOptions {
  readonly matcher?: string;
  readonly rules?: readonly PolicyRule[];
  readonly env?: NodeJS.ProcessEnv;
  /** What the tool answers. */
  readonly answer?: (args: Readonly<Record<string, unknown>>) => ToolResult;
  readonly outputSchema?: JsonSchema;
}

/** A toolbox with one tool of another server, and hooks. */
class Rig implements AsyncDisposable {
  readonly folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-tool-hooks-"));
  readonly entries: AuditEntry[] = [];
  readonly runs: Record<string, unknown>[] = [];
  /** The arguments that the tool was called with. */
  readonly calls: unknown[] = [];
  readonly reports: string[] = [];
  readonly box: Toolbox;
  readonly #hooks: ToolHooks;

  constructor(
    hooks: Partial<Record<HookEvent, readonly HookEntry[]>>,
    { matcher = "", rules = [], env = process.env, answer, outputSchema }: RigOptions = {},
  ) {
    const app = new AppContext(defaultConfig(this.folder.path));
    const reported = { report: (event: string) => this.reports.push(event) };
    const settings = Object.fromEntries(
      Object.entries(hooks).map(([event, entries]) => [event, [{ matcher, hooks: entries }]]),
    );
    const record = (entry: object): void => {
      if ("event" in entry) this.runs.push({ ...entry });
      else this.entries.push(entry as AuditEntry);
    };
    this.#hooks = toolHooksFor(Object.assign(app, reported), settings, { record }, env);
    this.box = new Toolbox({
      policy: new Policy({ default: "allow", rules }),
      audit: { record },
      hooks: this.#hooks,
    });
    const call: Tool["call"] = async (args) => {
      this.calls.push(args);
      return answer?.(args) ?? textResult(`said ${String(args.text)}`);
    };
    const definition = { name: "say", inputSchema: SCHEMA, ...(outputSchema && { outputSchema }) };
    const source = { server: "notes", name: "say" };
    const resume = async (): Promise<ToolResult> => call({ text: "resumed" }, new SampleContext());
    this.box.add({ ...sampleTool("say", call), definition, source, resume });
  }

  /** A script in the rig's folder. */
  path(name: string): string {
    return join(this.folder.path, name);
  }

  async call(text: unknown = "hi", context = new SampleContext()): Promise<string> {
    return textsOf(await this.box.call("say", { text }, context));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#hooks[Symbol.asyncDispose]();
    this.folder[Symbol.dispose]();
  }
}

function textsOf({ content }: ToolResult): string {
  return content.map(({ text }) => String(text)).join("\n");
}

function says(answer: object): HookEntry {
  const text = JSON.stringify({ hookSpecificOutput: answer });
  return { command: `cat > /dev/null; printf %s '${text}'` };
}

/** An HTTP server that answers hooks. */
async function listen(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?a=1`;
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const PERSON: Principal = { ...OWNER, id: "token-ann", name: "ann" };

describe("a hook of the gateway", () => {
  it("is told of the call in Claude Code's shape, by the name that assistants know", async () => {
    await using place = new Rig({});
    const told = place.path("told");
    await using again = new Rig(
      {
        PreToolUse: [{ command: `cat >> ${told}` }],
        PostToolUse: [{ command: `cat >> ${told}` }],
      },
      { matcher: "mcp__notes__.*" },
    );
    assert.equal(await again.call(), "said hi");
    const [before, after] = readFileSync(told, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const { tool_use_id: id, session_id: session, cwd, ...known } = before ?? {};
    assert.deepEqual(known, {
      hook_event_name: "PreToolUse",
      permission_mode: "default",
      tool_name: "mcp__notes__say",
      tool_input: { text: "hi" },
    });
    assert.deepEqual([typeof id, session, typeof cwd], ["string", "mcp tester", "string"]);
    assert.equal(after?.tool_use_id, id);
    assert.deepEqual(after?.tool_response, {
      content: [{ type: "text", text: "said hi" }],
      isError: false,
    });
    assert.deepEqual(
      again.runs.map(({ hook, source, outcome, tool }) => [hook, source, outcome, tool]),
      [
        ["PreToolUse", "gateway", "ok", "mcp__notes__say"],
        ["PostToolUse", "gateway", "ok", "mcp__notes__say"],
      ],
    );
    await using other = new Rig({ PreToolUse: [{ command: "exit 2" }] }, { matcher: "mcp__a__.*" });
    assert.equal(await other.call(), "said hi", "another server's hooks are not for this tool");
  });

  it("refuses a call before it is made, with its reason, on record", async () => {
    await using rig = new Rig({ PreToolUse: [{ command: "echo not on Fridays >&2; exit 2" }] });
    assert.equal(await rig.call(), "A hook of the gateway does not allow it: not on Fridays");
    assert.deepEqual(rig.calls, []);
    assert.deepEqual(
      rig.entries.map(({ outcome, reason }) => [outcome, reason]),
      [["refused", "A hook of the gateway does not allow it: not on Fridays"]],
    );
  });

  it("allows nothing: its `allow` lifts no policy, and it is not asked about what is denied", async () => {
    const rules: PolicyRule[] = [{ tool: "say", decision: "deny" }];
    await using rig = new Rig({ PreToolUse: [says({ permissionDecision: "allow" })] }, { rules });
    assert.match(await rig.call(), /The policy does not let tester call 'say'/);
    assert.deepEqual(rig.runs, []);
    await using asked = new Rig(
      { PreToolUse: [says({ permissionDecision: "allow" })] },
      { rules: [{ tool: "say", decision: "ask" }] },
    );
    assert.match(await asked.call(), /needs a person's consent/);
  });

  it("changes a call, which passes schema and policy again; the record has both", async () => {
    await using rig = new Rig({ PreToolUse: [says({ updatedInput: { text: "ho" } })] });
    assert.equal(await rig.call(), "said ho");
    const [{ arguments: sent, given } = {}] = rig.entries;
    assert.deepEqual([sent, given], [{ text: "ho" }, { text: "hi" }]);
    for (const wrong of [{ text: 1 }, { other: "x" }]) {
      await using unfit = new Rig({ PreToolUse: [says({ updatedInput: wrong })] });
      assert.match(await unfit.call(), /Invalid arguments for 'say'/);
      assert.deepEqual(unfit.calls, []);
    }
    const rules: PolicyRule[] = [{ tool: "say", arguments: { text: "ho" }, decision: "deny" }];
    await using denied = new Rig(
      { PreToolUse: [says({ updatedInput: { text: "ho" } })] },
      { rules },
    );
    assert.match(await denied.call(), /The policy does not let tester call 'say'/);
    assert.deepEqual(denied.calls, []);
  });

  it("has a person asked, once, who sees the changed call", async () => {
    const ask = { permissionDecision: "ask", permissionDecisionReason: "is it right" };
    const hooks = { PreToolUse: [says({ ...ask, updatedInput: { text: "ho" } })] };
    await using rig = new Rig(hooks, { rules: [{ tool: "say", decision: "ask" }] });
    const yes = new SampleContext({ answer: () => ({ action: "accept" }) });
    assert.equal(await rig.call("hi", yes), "said ho");
    assert.equal(yes.asked.length, 1);
    assert.match(
      String(yes.asked[0]?.params?.message),
      /call 'say'\? A hook wants you to decide: is it right\. Its arguments: \{"text":"ho"\}/,
    );
    const no = new SampleContext({ answer: () => ({ action: "decline" }) });
    assert.match(await rig.call("hi", no), /was not allowed by the person/);
    assert.match(await rig.call(), /needs a person's consent, and this client cannot ask/);
    assert.equal(rig.calls.length, 1);
  });

  it("changes or withholds a result; what is no result is refused", async () => {
    for (const [output, seen] of [
      ["bare text", "bare text"],
      [[{ type: "text", text: "content" }], "content"],
      [{ content: [{ type: "text", text: "whole" }] }, "whole"],
    ] as const) {
      await using rig = new Rig({ PostToolUse: [says({ updatedToolOutput: output })] });
      assert.equal(await rig.call(), seen);
    }
    await using older = new Rig({ PostToolUse: [says({ updatedMCPToolOutput: "older" })] });
    assert.equal(await older.call(), "older");
    for (const junk of [1, { content: "x" }, [{ text: "no type" }], [null]]) {
      await using rig = new Rig({ PostToolUse: [says({ updatedToolOutput: junk })] });
      const seen = await rig.call();
      assert.match(seen, /withholds its result: its 'updatedToolOutput' is neither text nor/);
      assert.doesNotMatch(seen, /said hi/);
    }
    await using rig = new Rig({ PostToolUse: [{ command: "echo too private >&2; exit 2" }] });
    assert.match(await rig.call(), /a hook of the gateway withholds its result: too private$/);
  });

  it("sees errors of other servers, too, which otherwise stay what they are", async () => {
    const fault = new ToolFault(-32001, "bad key ghp_0123456789abcdefghij0123", { at: "x" });
    const answer = (): never => {
      throw fault;
    };
    await using open = new Rig({ PostToolUse: [{ command: "true" }] }, { answer });
    await assert.rejects(() => open.call(), fault);
    await using rig = new Rig({ PostToolUse: [{ type: "mask" }] }, { answer });
    assert.equal(await rig.call(), 'bad key •••\n{"at":"x"}');
  });

  it("sees the result of a task that was begun before a restart", async () => {
    await using rig = new Rig({ PostToolUse: [{ command: "echo private >&2; exit 2" }] });
    const task = { tool: "say", server: "notes", taskId: "t1" };
    const result = await rig.box.resume(task, new SampleContext());
    assert.match(textsOf(result), /withholds its result: private$/);
    assert.deepEqual(rig.calls, [{ text: "resumed" }]);
  });

  it("stays closed when it fails, however it does, unless that is wished", async () => {
    const failures: [HookEntry, RegExp][] = [
      [{ command: "sleep 60", timeout: 0.2 }, /it took longer than 0\.2 s/],
      [{ command: "yes" }, /it wrote too much/],
      [{ command: "kill -9 $$" }, /it was ended by SIGKILL/],
      [{ command: "echo '{nonsense'" }, /it wrote no valid JSON/],
      [{ command: `echo '{"decision":"perhaps"}'` }, /it decided "perhaps", which is not known/],
      [{ command: "exit 3" }, /it ended with exit code 3/],
      [{ command: "/nowhere/at/all" }, /it could not be started/],
      [says({ updatedInput: "text" }), /its 'updatedInput' is no object/],
      [
        { type: "http", url: "http://127.0.0.1:9/", allowPrivate: true },
        /Cannot reach 127\.0\.0\.1:9/,
      ],
    ];
    for (const [entry, why] of failures) {
      await using rig = new Rig({ PreToolUse: [entry] });
      assert.match(await rig.call(), why);
      assert.deepEqual(rig.calls, [], why.source);
      await using open = new Rig({ PreToolUse: [{ ...entry, onFailure: "continue" }] });
      assert.equal(await open.call(), "said hi", why.source);
      assert.deepEqual(open.reports, ["hook.says"], why.source);
    }
  });

  it("that cannot be read refuses every call, since it may be a guard", async () => {
    for (const entry of [
      { type: "prompt" },
      { type: "size" },
      { type: "http", url: "ftp://example.com" },
      { type: "http", url: "https://u:p@example.com" },
      { command: "true", async: true } as HookEntry,
    ]) {
      await using rig = new Rig({ PreToolUse: [entry] }, { matcher: "mcp__another__tool" });
      assert.match(
        await rig.call(),
        /^No call is made: The gateway's hook for PreToolUse does not run/,
      );
    }
    await using rig = new Rig({ PostToolUse: [{ command: "true" }] }, { matcher: "(?=x)" });
    assert.match(await rig.call(), /^No call is made/);
  });

  it("ends with all that it started when the call is cancelled", async () => {
    const mark = "trunkline-hook-that-hangs";
    await using rig = new Rig({ PreToolUse: [{ command: `sleep 61 & sleep 60 # ${mark}` }] });
    const context = new SampleContext();
    const call = rig.call("hi", context);
    await until(() => processesOf(mark).length > 0);
    context.abort.abort(new Error("never mind"));
    assert.equal(await call, "'say' was cancelled");
    await until(() => processesOf(mark).length === 0);
    assert.deepEqual(rig.calls, []);
  });

  it("runs once for a call that another engine has run it for", async () => {
    await using place = new Rig({});
    const counted = place.path("counted");
    const command = `echo ran >> ${counted}`;
    await using hooked = new Rig({ PreToolUse: [{ command }], PostToolUse: [{ command }] });
    const context = Object.assign(new SampleContext(), {
      hooksRan: new Set([`PreToolUse ${command}`]),
    });
    await hooked.call("hi", context);
    assert.equal(readFileSync(counted, "utf8"), "ran\n");
    assert.ok(context.hooksRan.has(`PostToolUse ${command}`));
  });

  it("over HTTP gets the same JSON, with a secret in a header, and answers the same", async () => {
    const seen: [string | undefined, Record<string, unknown>][] = [];
    await using server = await listen((request, response) => {
      void text(request).then((body) => {
        seen.push([request.headers.authorization, JSON.parse(body) as {}]);
        response.end(JSON.stringify({ decision: "block", reason: "said over HTTP" }));
      });
    });
    const headers = { authorization: "Bearer ${HOOK_TOKEN}" };
    const entry = { type: "http", url: server.url, headers, allowPrivate: true };
    await using rig = new Rig(
      { PreToolUse: [entry] },
      { env: { ...process.env, HOOK_TOKEN: "hook-secret-1234" } },
    );
    assert.match(await rig.call(), /does not allow it: said over HTTP/);
    const [[authorization, told] = []] = seen;
    assert.equal(authorization, "Bearer hook-secret-1234");
    assert.equal(told?.tool_name, "mcp__notes__say");
    assert.doesNotMatch(JSON.stringify([rig.runs, rig.entries]), /hook-secret-1234/);
    await using without = new Rig({ PreToolUse: [entry] }, { env: {} });
    assert.match(await without.call(), /the variable HOOK_TOKEN is not set/);
    assert.equal(seen.length, 1);
  });

  it("over HTTP does not reach private addresses by default, nor follow a redirect", async () => {
    let hits = 0;
    await using target = await listen((_, response) => {
      hits++;
      response.end("{}");
    });
    await using private_ = new Rig({ PreToolUse: [{ type: "http", url: target.url }] });
    assert.match(await private_.call(), /is an address of this machine or of a private network/);
    await using redirect = await listen((_, response) => {
      response.writeHead(307, { location: target.url }).end();
    });
    await using rig = new Rig({
      PreToolUse: [{ type: "http", url: redirect.url, allowPrivate: true }],
    });
    assert.match(await rig.call(), /it answered with status 307/);
    assert.equal(hits, 0);
  });

  it("over HTTP that hangs, floods or answers something else is a failure", async () => {
    const answers: [(response: ServerResponse) => void, RegExp, timeout?: number][] = [
      [() => {}, /did not answer within 0\.3 s/, 0.3],
      [(response) => void response.write("{"), /did not answer within 0\.3 s/, 0.3],
      [(response) => response.end("<html>Log in</html>"), /it wrote no valid JSON/],
      [(response) => response.end("[]"), /it wrote JSON that is no object/],
      [(response) => response.writeHead(500).end(), /it answered with status 500/],
      [(response) => response.end(" ".repeat(2 * 1024 * 1024)), /it answered too much/],
    ];
    for (const [answer, why, timeout = 600] of answers) {
      await using server = await listen((_, response) => answer(response));
      const entry = { type: "http", url: server.url, allowPrivate: true, timeout };
      await using rig = new Rig({ PreToolUse: [entry] });
      assert.match(await rig.call(), why);
      assert.deepEqual(rig.calls, []);
    }
    await using empty = await listen((_, response) => response.end());
    const entry = { type: "http", url: empty.url, allowPrivate: true };
    await using rig = new Rig({ PreToolUse: [entry] });
    assert.equal(await rig.call(), "said hi");
  });
});

describe("a ready-made hook", () => {
  const SECRETS = {
    key: "ghp_0123456789abcdefghij0123456789abcdef",
    mail: "ann.b@mail.example.org",
    card: "4111 1111 1111 1111",
    iban: "DE89 3704 0044 0532 0130 00",
    telephone: "+49 (30) 901820-0",
  };
  const HARMLESS = "order 4111111111111112, DE00 1234 5678 9012 3456 78, 2026-11-18, v1.2.3, 12345";

  it("masks secrets and personal data in texts, in JSON in them, and in what is structured", async () => {
    const answer = (): ToolResult => ({
      content: [
        { type: "text", text: `${Object.values(SECRETS).join("; ")} ${HARMLESS}` },
        { type: "text", text: JSON.stringify({ ...SECRETS, number: 4_111_111_111_111_111 }) },
        { type: "image", data: "Z2hwXzAxMjM0NTY3ODlhYmNkZWZnaGlqMDEyMw==", mimeType: "image/png" },
      ],
      structuredContent: { ...SECRETS, password: "short", harmless: HARMLESS, count: 12_345 },
      _meta: { "notes/by": SECRETS.mail },
    });
    await using rig = new Rig({ PostToolUse: [{ type: "mask" }] }, { answer });
    const result = await rig.box.call("say", { text: "hi" }, new SampleContext());
    const all = JSON.stringify(result);
    for (const secret of [...Object.values(SECRETS), "4111111111111111", "short"]) {
      assert.ok(!all.includes(secret), secret);
    }
    const [text, json, image] = result.content;
    assert.ok(String(text?.text).endsWith(HARMLESS));
    assert.equal((JSON.parse(String(json?.text)) as { number: unknown }).number, "•••");
    assert.equal(image?.data, "Z2hwXzAxMjM0NTY3ODlhYmNkZWZnaGlqMDEyMw==");
    const { harmless, count } = result.structuredContent as Record<string, unknown>;
    assert.deepEqual([harmless, count], [HARMLESS, 12_345]);
    await using some = new Rig({ PostToolUse: [{ type: "mask", what: ["personal"] }] }, { answer });
    const seen = await some.call();
    assert.ok(seen.includes(SECRETS.key) && !seen.includes(SECRETS.mail));
  });

  it("leaves what has no secret as it was, and withholds what no longer fits its schema", async () => {
    const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    const structured = (n: number) => (): ToolResult => ({
      content: [{ type: "text", text: "  spaced  " }],
      structuredContent: { n },
    });
    const hooks = { PostToolUse: [{ type: "mask" }] };
    await using plain = new Rig(hooks, { answer: structured(7), outputSchema });
    assert.equal(await plain.call(), "  spaced  ");
    const card = 4_111_111_111_111_111;
    await using rig = new Rig(hooks, { answer: structured(card), outputSchema });
    const seen = await rig.call();
    assert.match(seen, /does not fit the tool's output schema: 'n' must be number/);
    assert.doesNotMatch(seen, /4111/);
  });

  it("masks arguments before they leave, which the record has both ways", async () => {
    await using rig = new Rig({ PreToolUse: [{ type: "mask" }] });
    assert.equal(await rig.call(`key ${SECRETS.key}`), "said key •••");
    assert.deepEqual(rig.calls, [{ text: "key •••" }]);
  });

  it("limits sizes and rates, by person", async () => {
    await using size = new Rig({ PreToolUse: [{ type: "size", most: 30 }] });
    assert.equal(await size.call("x".repeat(10)), `said ${"x".repeat(10)}`);
    assert.match(
      await size.call("x".repeat(30)),
      /Its arguments have 41 bytes, at most 30 are let/,
    );
    await using large = new Rig({ PostToolUse: [{ type: "size", most: 200 }] });
    assert.match(await large.call("x".repeat(300)), /The result has \d+ bytes, at most 200/);
    await using rate = new Rig({ PreToolUse: [{ type: "rate", calls: 1, seconds: 3600 }] });
    const as = (principal: Principal, client: string) =>
      new SampleContext({ caller: { principal, client } });
    assert.equal(await rate.call("a", as(PERSON, "c1")), "said a");
    assert.match(await rate.call("b", as(PERSON, "c2")), /at most 1 calls in 3600 s: wait \d+ s/);
    assert.equal(await rate.call("c", as(OWNER, "c3")), "said c");
  });
});
