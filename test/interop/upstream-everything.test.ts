import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { OwnedChild } from "../../src/base/process/child-process.ts";
import type { UpstreamSettings } from "../../src/upstream/settings.ts";
import { EVERYTHING, everythingIsMissing, serversLeft } from "../upstream/everything.ts";
import { AppWithUpstreams } from "../upstream/app-with-upstreams.ts";
import { type Json, RawClient, type RawClientOptions } from "../upstream/raw-client.ts";
import { freePort } from "../support/free-port.ts";
import { until } from "../support/until.ts";

const skip = await everythingIsMissing();
const timeout = 600_000;

const ANSWERS = {
  "roots/list": () => ({ roots: [{ uri: "file:///home/ann", name: "ann" }] }),
  "sampling/createMessage": ({ messages }: Json) => ({
    role: "assistant",
    content: { type: "text", text: `heard: ${messages[0].content.text}` },
    model: "parrot",
    stopReason: "endTurn",
  }),
  "elicitation/create": ({ mode }: Json) =>
    mode === "url" ? { action: "accept" } : { action: "accept", content: { name: "Ann" } },
};

const TASKS = "io.modelcontextprotocol/tasks";
const CLIENTS: RawClientOptions[] = [
  { revision: "2024-11-05", capabilities: { roots: {}, sampling: {} }, answers: ANSWERS },
  {
    revision: "2025-11-25",
    capabilities: { roots: {}, sampling: {}, elicitation: { form: {}, url: {} }, tasks: {} },
    answers: ANSWERS,
  },
  {
    revision: "2026-07-28",
    capabilities: {
      roots: {},
      sampling: {},
      elicitation: { form: {}, url: {} },
      extensions: { [TASKS]: {} },
    },
    answers: ANSWERS,
  },
];

// Side by side, since most of the time is the server's own waiting.
describe("the everything server", { skip, timeout, concurrency: 6 }, () => {
  for (const transport of ["stdio", "streamableHttp"] as const) {
    for (const options of CLIENTS) {
      describe(`on ${transport}, for a client of ${options.revision}`, { concurrency: 1 }, () => {
        features(transport, options);
      });
    }
  }
  after(async () => assert.deepEqual(await serversLeft(), []));
});

function features(transport: "stdio" | "streamableHttp", options: RawClientOptions): void {
  let app: AppWithUpstreams;
  let client: RawClient;
  let server: Awaited<ReturnType<typeof serverOn>>;
  const { revision } = options;
  const hasElicitation = revision > "2024-11-05";

  before(async () => {
    server = await serverOn(transport);
    app = await new AppWithUpstreams().configure({ everything: server.settings });
    client = await RawClient.connect(app.door, options);
    // It announces its optional tools one by one, and reads the roots a little later.
    await until(() => app.toolNames.length === 19);
  });

  after(async () => {
    await client[Symbol.asyncDispose]();
    await app[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  const textOf = async (name: string, args: Json = {}): Promise<string> => {
    const { result, error } = await client.callTool(name, args);
    assert.equal(error, undefined);
    return (result.content as Json[]).map(({ text }) => text).join("\n");
  };

  // First, since it asks for them by itself too, and that in the middle of any call.
  it("can ask the client for its roots", async () => {
    assert.match(await textOf("get-roots-list"), /file:\/\/\/home\/ann/);
  });

  it("lists its tools as it describes them", async () => {
    const { result } = await client.request("tools/list");
    const echo = (result.tools as Json[]).find(({ name }) => name === "echo");
    assert.equal(result.tools.length, 19);
    assert.equal(echo?.["inputSchema"].$schema, "http://json-schema.org/draft-07/schema#");
    assert.equal(echo?.["title"], hasElicitation ? "Echo Tool" : undefined);
  });

  it("answers plain calls unchanged", async () => {
    assert.equal(await textOf("echo", { message: "hé" }), "Echo: hé");
    assert.match(await textOf("get-sum", { a: 2, b: 3 }), /\b5\b/);
    const annotated = await client.callTool("get-annotated-message", {
      messageType: "error",
      includeImage: true,
    });
    const [text, image] = annotated["result"].content as Json[];
    assert.deepEqual(text?.["annotations"], { priority: 1, audience: ["user", "assistant"] });
    assert.equal(image?.["type"], "image");
    const embedded = await client.callTool("get-resource-reference", { resourceId: 3 });
    assert.equal(embedded["result"].content[1].resource.uri, "demo://resource/dynamic/text/3");
    const picture = await client.callTool("get-tiny-image");
    assert.equal(picture["result"].content[1].mimeType, "image/png");
  });

  it("answers with content that the client's revision knows", async () => {
    const links = await client.callTool("get-resource-links", { count: 2 });
    const kinds = (links["result"].content as Json[]).map(({ type }) => type as string);
    const link = hasElicitation ? "resource_link" : "text";
    assert.deepEqual(kinds, ["text", link, link]);
    const weather = await client.callTool("get-structured-content", { location: "Chicago" });
    const { structuredContent, content } = weather["result"] as Json;
    assert.equal(typeof JSON.parse(content[0].text).temperature, "number");
    assert.equal(typeof structuredContent?.temperature, hasElicitation ? "number" : "undefined");
  });

  it("refuses arguments that the tool's schema does not allow", async () => {
    const { result } = await client.callTool("get-sum", { a: "two", b: 3 });
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /'a' must be number/);
  });

  if (transport === "stdio") {
    it("is started with the usual variables only", async () => {
      process.env["TRUNKLINE_TEST_SECRET"] = "hidden";
      const env = JSON.parse(await textOf("get-env")) as Json;
      assert.equal(env["PATH"], process.env["PATH"]);
      assert.equal(env["TRUNKLINE_TEST_SECRET"], undefined);
    });
  }

  it("sends its progress, under the client's token", async () => {
    const args = { duration: 0.3, steps: 3 };
    const _meta = { progressToken: "mine" };
    const { result } = await client.callTool("trigger-long-running-operation", args, { _meta });
    assert.match(result.content[0].text, /completed/);
    const told = client.told("notifications/progress").map(({ params }) => params as Json);
    assert.deepEqual(
      told.map(({ progressToken, progress, total }) => [progressToken, progress, total]),
      [1, 2, 3].map((step) => ["mine", step, 3]),
    );
  });

  it("is notified when a call is cancelled", async () => {
    const name = "trigger-long-running-operation";
    const id = client.send("tools/call", { name, arguments: { duration: 600, steps: 600 } });
    await until(() => app.upstreams.status()[0]?.callsInFlight === 1);
    client.notify("notifications/cancelled", { requestId: id, reason: "changed my mind" });
    await until(() => app.upstreams.status()[0]?.callsInFlight === 0);
    assert.equal(await textOf("echo", { message: "still here" }), "Echo: still here");
  });

  it("can ask the client's model", async () => {
    const heard = "heard: Resource trigger-sampling-request context: hello";
    assert.ok((await textOf("trigger-sampling-request", { prompt: "hello" })).includes(heard));
    const asTask = await textOf("trigger-sampling-request-async", { prompt: "hello" });
    assert.match(asTask, /\[COMPLETED\][\s\S]*heard: /);
  });

  it("can ask the client's user, or is told that it cannot", async () => {
    const { result, error } = await client.callTool("trigger-elicitation-request");
    if (hasElicitation) {
      assert.match(result.content[1].text, /Name: Ann/);
      assert.match(await textOf("trigger-elicitation-request-async"), /\[COMPLETED\]/);
      assert.equal(Object.keys(client.asked.at(-1)?.["params"]).includes("task"), false);
    } else {
      assert.equal(error, undefined);
      assert.equal(result.isError, true);
      assert.match(result.content[0].text, /does not support elicitation\/create/);
    }
  });

  it("can send the client's user to a page", async () => {
    if (!hasElicitation) return;
    const url = "https://example.com/consent";
    const args = { url, message: "Please look", elicitationId: "e1" };
    assert.match(await textOf("trigger-url-elicitation", args), /accept/i);
    const { params } = client.asked.at(-1) ?? {};
    assert.deepEqual([params.mode, params.url, params.message], ["url", url, "Please look"]);
    assert.equal("elicitationId" in params, !client.isModern);
  });

  it("can refuse until the user has seen a page", async () => {
    const args = { url: "https://example.com", errorPath: true };
    const asked = client.asked.length;
    const { result, error } = await client.callTool("trigger-url-elicitation", args);
    if (client.isModern) {
      // This revision has no such error: the page is shown, and the call made again.
      assert.equal(client.asked[asked]?.["params"].mode, "url");
      assert.equal(error, undefined);
      assert.notEqual(result.isError, true);
    } else {
      assert.equal(error.code, -32042);
      assert.equal(error.data.elicitations[0].mode, "url");
    }
  });

  it("can work on a task for a while, and ask meanwhile", async () => {
    const name = "simulate-research-query";
    const args = { topic: "tides", ambiguous: hasElicitation };
    const result = await runTask(client, name, args);
    assert.match(result["content"][0].text, /# Research Report: tides/);
    if (hasElicitation) assert.equal(client.asked.at(-1)?.["method"], "elicitation/create");
  });

  it("has resources that can be listed and read", async () => {
    const { result: listed } = await client.request("resources/list");
    const { result: templates } = await client.request("resources/templates/list");
    assert.equal(listed.resources.length >= 7, true);
    assert.equal(templates.resourceTemplates.length, 2);
    const { uri } = listed.resources[0] as { uri: string };
    const { result: read } = await client.request("resources/read", { uri });
    assert.equal(read.contents[0].mimeType, "text/markdown");
    const dynamic = await client.request("resources/read", {
      uri: "demo://resource/dynamic/blob/7",
    });
    assert.ok(Buffer.from(dynamic["result"].contents[0].blob as string, "base64").length > 0);
  });

  it("can add resources, and announces it", async () => {
    const listening = client.isModern
      ? client.send("subscriptions/listen", { notifications: { resourcesListChanged: true } })
      : undefined;
    const told = "notifications/resources/list_changed";
    const before = client.told(told).length;
    const uri = `demo://resource/session/${revision}.gz`;
    const args = {
      name: `${revision}.gz`,
      data: "data:text/plain,hello",
      outputType: "resourceLink",
    };
    const { result } = await client.callTool("gzip-file-as-resource", args);
    assert.ok(JSON.stringify(result).includes(uri));
    await client.until((each) => each.told(told).length > before);
    const { result: listed } = await client.request("resources/list");
    assert.ok((listed.resources as Json[]).some((resource) => resource["uri"] === uri));
    const { result: read } = await client.request("resources/read", { uri });
    assert.equal(read.contents[0].mimeType, "application/gzip");
    if (listening !== undefined) {
      client.notify("notifications/cancelled", { requestId: listening });
    }
  });

  it("reports changes of watched resources, while they are watched", async () => {
    const uri = "demo://resource/static/document/architecture.md";
    const listen = { notifications: { resourceSubscriptions: [uri] } };
    const id = client.isModern
      ? client.send("subscriptions/listen", listen)
      : client.send("resources/subscribe", { uri });
    if (!client.isModern) assert.deepEqual((await client.answerTo(id))["result"], {});
    // Ours to the server is sent after the client has its answer.
    await sleep(100);
    await client.callTool("toggle-subscriber-updates");
    await client.until((each) => each.told("notifications/resources/updated").length > 0);
    const { params } = client.told("notifications/resources/updated")[0] ?? {};
    assert.equal(params.uri, uri);
    await client.callTool("toggle-subscriber-updates");
    if (client.isModern) client.notify("notifications/cancelled", { requestId: id });
    else await client.request("resources/unsubscribe", { uri });
  });

  it("refuses unknown names", async () => {
    const uri = "nobody://knows";
    const { error } = await client.request("resources/read", { uri });
    assert.equal(error.code, client.isModern ? -32602 : -32002);
    assert.equal(error.data.uri, uri);
    const unknown = await client.request("prompts/get", { name: "no-such-prompt" });
    assert.equal(unknown["error"].code, -32602);
  });

  it("has prompts, and completes their arguments", async () => {
    const { result: listed } = await client.request("prompts/list");
    const names = (listed.prompts as Json[]).map(({ name }) => name as string);
    assert.deepEqual(names, [
      "simple-prompt",
      "args-prompt",
      "completable-prompt",
      "resource-prompt",
    ]);
    const { result } = await client.request("prompts/get", {
      name: "args-prompt",
      arguments: { city: "Bergen" },
    });
    assert.match(result.messages[0].content.text, /Bergen/);
    const { result: completed } = await client.request("completion/complete", {
      ref: { type: "ref/prompt", name: "completable-prompt" },
      argument: { name: "name", value: "" },
      context: { arguments: { department: "Engineering" } },
    });
    assert.deepEqual(completed.completion.values, ["Alice", "Bob", "Charlie"]);
    const { result: ofTemplate } = await client.request("completion/complete", {
      ref: { type: "ref/resource", uri: "demo://resource/dynamic/text/{resourceId}" },
      argument: { name: "resourceId", value: "1" },
    });
    assert.deepEqual(ofTemplate.completion.values, ["1"]);
  });

  it("sends its log messages to the caller", async () => {
    // Its levels are random. A client of 2026-07-28 says with each request what it wants to hear.
    if (!client.isModern) await client.request("logging/setLevel", { level: "debug" });
    const slow = {
      name: "trigger-long-running-operation",
      arguments: { duration: 600, steps: 600 },
    };
    const requestId = client.send("tools/call", slow);
    await until(() => app.upstreams.status()[0]?.callsInFlight === 1);
    await client.callTool("toggle-simulated-logging");
    const isFromIt = ({ params }: Json): boolean => String(params.data).includes("message");
    await client.until((each) => each.told("notifications/message").some(isFromIt));
    client.notify("notifications/cancelled", { requestId });
    await client.callTool("toggle-simulated-logging");
  });
}

/** Calls a tool that goes on as a task, in the way of the client's revision, to its result. */
async function runTask(client: RawClient, name: string, args: Json): Promise<Json> {
  if (client.options.revision === "2024-11-05") {
    return (await client.callTool(name, args))["result"] as Json;
  }
  if (!client.isModern) {
    const begun = await client.callTool(name, args, { task: { ttl: 60_000 } });
    const { taskId } = begun["result"].task as { taskId: string };
    return (await client.request("tasks/result", { taskId }))["result"] as Json;
  }
  const begun = await client.callTool(name, args);
  assert.equal(begun["result"].resultType, "task");
  const { taskId } = begun["result"] as { taskId: string };
  for (;;) {
    const { result: task } = await client.request("tasks/get", { taskId });
    if (task.status === "completed") return task.result as Json;
    assert.ok(["working", "input_required"].includes(task.status as string), task.status as string);
    if (task.status === "input_required") {
      const inputResponses = client.answerTask(task.inputRequests as Json);
      await client.request("tasks/update", { taskId, inputResponses });
    }
    await sleep(50);
  }
}

/** The server on a transport, and how it is configured. */
async function serverOn(
  transport: "stdio" | "streamableHttp",
): Promise<{ settings: UpstreamSettings } & AsyncDisposable> {
  if (transport === "stdio") {
    return { settings: EVERYTHING, [Symbol.asyncDispose]: async () => {} };
  }
  for (;;) {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/mcp`;
    const child = await OwnedChild.start({
      command: EVERYTHING.command,
      args: [...EVERYTHING.args, transport],
      env: { ...process.env, PORT: String(port) },
      stderr: () => {},
    });
    child.stdout.resume();
    // Until it listens the port is anybody's; it ends when somebody was faster, and says that it
    // listens all the same.
    const gone = new AbortController();
    void child.exit.then(() => gone.abort());
    if (await answers(url, gone.signal)) {
      return { settings: { url }, [Symbol.asyncDispose]: () => child.end() };
    }
  }
}

/** Waits until the server refuses, in its way, whoever has no session. False when it is gone. */
async function answers(url: string, gone: AbortSignal): Promise<boolean> {
  while (!gone.aborted) {
    const response = await fetch(url, { signal: gone }).catch(() => {});
    if (response?.status === 400) return true;
    await sleep(20);
  }
  return false;
}
