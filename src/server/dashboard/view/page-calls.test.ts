import { abortSignalOf } from "../../../base/abort.ts";
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";

import { sampleTool } from "../../../../test/samples/sample-context.ts";
import { SampleFolder } from "../../../../test/samples/sample-folder.ts";
import type { Json } from "../../../../test/support/acp-app.ts";
import { Log } from "../../../base/log.ts";
import { OWNER, type Principal } from "../../../base/principal.ts";
import { AuditLog } from "../../../store/audit/audit-log.ts";
import { Policy } from "../../../tool/policy.ts";
import { textResult, type ToolContext } from "../../../tool/tool.ts";
import { Toolbox } from "../../../tool/toolbox.ts";
import type { ToolCallLine } from "../api.ts";
import { router } from "../router.ts";
import { pageCalls } from "./page-calls.ts";

type Line = Json;

/** The routes on a server of their own, with a toolbox of three tools. */
class Rig implements AsyncDisposable {
  readonly seen: unknown[] = [];
  readonly stopped = Promise.withResolvers<unknown>();
  principal: Principal = OWNER;
  readonly #ends: AsyncDisposableStack;
  readonly #url: string;

  private constructor(url: string, ends: AsyncDisposableStack) {
    this.#url = url;
    this.#ends = ends;
  }

  static async start(): Promise<Rig> {
    await using ends = new AsyncDisposableStack();
    const folder = ends.use(await SampleFolder.create());
    const audit = ends.use(new AuditLog(folder.path));
    const policy = new Policy({ default: "allow", rules: [{ tool: "asked", decision: "ask" }] });
    const toolbox = new Toolbox({ audit, policy });
    const calls = ends.use(
      pageCalls({ data: folder.path, toolbox: () => toolbox, profileFor: () => undefined }),
    );
    const handle = router(calls.routes, new Log("error", () => {}));
    const server = createServer((request, response) =>
      handle(request.url ?? "", request, response, rig.principal),
    ).listen(0, "127.0.0.1");
    await once(server, "listening");
    ends.defer(async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    });
    const { port } = server.address() as AddressInfo;
    const rig = new Rig(`http://127.0.0.1:${port}`, ends.move());
    const work = (args: unknown, context: ToolContext) => {
      context.progress(1, 2, "half");
      rig.seen.push(args);
      return textResult(`did it for ${context.caller.name}`);
    };
    toolbox.add(sampleTool("work", work));
    toolbox.add(sampleTool("asked", work));
    toolbox.add(
      sampleTool("slow", async (_, context) => {
        const signal = abortSignalOf(context.signal);
        context.progress(1);
        await once(signal, "abort");
        rig.stopped.resolve(signal.reason);
        throw signal.reason;
      }),
    );
    return rig;
  }

  post(path: string, body: object, signal?: AbortSignal): Promise<Response> {
    return fetch(this.#url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
  }

  /** Calls a tool; `onLine` may answer what is asked meanwhile. */
  async call(
    tool: string,
    args: unknown,
    onLine: (line: Line, call: string) => Promise<void> = async () => {},
  ): Promise<Line> {
    const response = await this.post(`/api/tools/${tool}/call`, { arguments: args });
    assert.equal(response.status, 200);
    const lines: ToolCallLine[] = [];
    let rest = "";
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + chunk).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) {
        const line = JSON.parse(part) as ToolCallLine;
        lines.push(line);
        await onLine(line, (lines[0] as Line)["call"]);
      }
    }
    return Object.assign({}, ...lines);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#ends.disposeAsync();
  }
}

describe("calls of tools from the page", { timeout: 60_000 }, () => {
  it("go through the toolbox as their principal, with progress, the result and the audit's entry", async () => {
    await using rig = await Rig.start();
    rig.principal = { id: "token 1", name: "ann", scopes: ["dashboard", "tools"] };
    const all = await rig.call("work", { a: 1 });
    assert.deepEqual(rig.seen, [{ a: 1 }]);
    assert.deepEqual(all["progress"], { done: 1, total: 2, message: "half" });
    assert.equal(all["result"].content[0].text, "did it for ann");
    const { tool, caller, door, outcome, session, entry } = all["audit"];
    assert.deepEqual([tool, caller, door, outcome], ["work", "ann", "dashboard", "ok"]);
    assert.equal(session, all["call"]);
    assert.deepEqual(entry.arguments, { a: 1 });
    assert.equal(entry.principal, "token 1");
  });

  it("say in words that there is no such tool, and that arguments are no object", async () => {
    await using rig = await Rig.start();
    assert.match((await rig.call("none", {}))["error"], /Unknown tool: none/);
    const { status } = await rig.post("/api/tools/work/call", { arguments: [1] });
    assert.equal(status, 400);
    assert.deepEqual(rig.seen, []);
  });

  it("ask the person where the policy says so, and nobody else can answer", async () => {
    await using rig = await Rig.start();
    const answers: number[] = [];
    const answer =
      (action: string) =>
      async (line: Line, call: string): Promise<void> => {
        if (line["question"] === undefined) return;
        assert.match(line["question"].message, /Allow "dashboard" to call 'asked'/);
        const body = { question: line["question"].key, answer: { action } };
        const send = async (): Promise<void> => {
          answers.push((await rig.post(`/api/calls/${call}/answer`, body)).status);
        };
        rig.principal = { id: "token 2", scopes: ["dashboard", "tools", "admin"] };
        await send();
        rig.principal = OWNER;
        await send();
      };
    const declined = await rig.call("asked", {}, answer("decline"));
    assert.equal(declined["result"].isError, true);
    assert.equal(declined["audit"].outcome, "refused");
    assert.deepEqual(rig.seen, []);
    const accepted = await rig.call("asked", {}, answer("accept"));
    assert.equal(accepted["audit"].outcome, "ok");
    assert.deepEqual(answers, [404, 200, 404, 200]);
  });

  it("are cancelled when the page closes the request", async () => {
    await using rig = await Rig.start();
    const stop = new AbortController();
    const response = await rig.post("/api/tools/slow/call", {}, stop.signal);
    await response.body!.getReader().read();
    stop.abort();
    assert.match(String(await rig.stopped.promise), /does not wait/);
  });

  it("are refused to tokens that only look, lack the scope, or are limited to others or to folders", async () => {
    await using rig = await Rig.start();
    const token = { id: "token 3", scopes: ["dashboard", "tools"] } as const;
    rig.principal = { ...token, limits: { observe: true } };
    for (const path of ["/api/tools/work/call", "/api/calls/x/answer"]) {
      const refused = await rig.post(path, {});
      assert.equal(refused.status, 403);
      assert.match(((await refused.json()) as Line)["error"], /only observes/);
    }
    const others: readonly Principal[] = [
      { ...token, scopes: ["dashboard"] },
      { ...token, limits: { tools: ["other"] } },
      { ...token, limits: { folders: ["/srv"] } },
    ];
    const said = [/needs the scope 'tools'/, /may not use the tool 'work'/, /belongs to no folder/];
    for (const [at, principal] of others.entries()) {
      rig.principal = principal;
      const { result, audit } = await rig.call("work", {});
      assert.equal(result.isError, true);
      assert.match(result.content[0].text, said[at]!);
      assert.equal(audit.outcome, "refused");
    }
    assert.deepEqual(rig.seen, []);
  });
});
