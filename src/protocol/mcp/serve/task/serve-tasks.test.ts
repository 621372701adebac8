import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { fixtureOffer } from "../../../../../test/conformance/fixture/offer.ts";
import { RecordingSink } from "../../../../../test/support/recording-sink.ts";
import { type Json, RawClient } from "../../../../../test/upstream/raw-client.ts";
import { Peer } from "../../../../rpc/peer.ts";
import { memoryPair } from "../../../../wire/channel/memory.ts";
import { Connection } from "../connection.ts";
import { McpDoor, tellOfTasks } from "../door.ts";
import { TASKS_CAPABILITY } from "../../meta.ts";
import { covers } from "../../../../../test/support/requirement.ts";

const STATUS = "notifications/tasks/status";

/** A client of 2025-11-25 that is told of its tasks, and keeps what it is told. */
class ToldClient extends RecordingSink implements AsyncDisposable {
  readonly #connection = new Connection();
  readonly #peer: Peer<Connection>;
  readonly #wire;

  constructor(door: McpDoor) {
    super();
    const [near, far] = memoryPair({ closeGrace: 100 });
    this.#wire = far;
    this.#peer = new Peer(near, this.#connection, door.optionsFor(this.#connection));
    this.#connection.agree("2025-11-25", { elicitation: {} }, { name: "told" });
    this.#connection.onEnd(tellOfTasks(door, this.#connection, this.#peer));
    far.receive(this);
  }

  get all(): Json[] {
    return this.messages.map((text) => JSON.parse(text) as Json);
  }

  get told(): Json[] {
    return this.all.filter(({ method }) => method === STATUS).map(({ params }) => params as Json);
  }

  get statuses(): string[] {
    return this.told.map(({ status }) => status as string);
  }

  write(message: Json): void {
    void this.#wire.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  async request(method: string, params: Json): Promise<Json> {
    const id = crypto.randomUUID();
    this.write({ id, method, params });
    return this.first((message) => message["id"] === id);
  }

  async first(is: (message: Json) => boolean): Promise<Json> {
    await this.until(({ all }) => all.some(is));
    return this.all.find(is) as Json;
  }

  async begin(name: string, args: Json = {}): Promise<string> {
    const { result } = await this.request("tools/call", { name, arguments: args, task: {} });
    return result.task.taskId as string;
  }

  leave(): void {
    this.#connection[Symbol.dispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.leave();
    await this.#peer.close();
  }
}

function fixtureDoor(): McpDoor {
  return new McpDoor({ offer: fixtureOffer() });
}

describe("tellOfTasks()", { timeout: 600_000 }, () => {
  it("reports every status of a task, as tasks/get would", async () => {
    covers("mcp.tasks.status-told");
    await using client = new ToldClient(fixtureDoor());
    const taskId = await client.begin("confirm_delete", { filename: "f" });
    await client.until(({ statuses }) => statuses.length === 1);
    const { result: got } = await client.request("tasks/get", { taskId });
    assert.deepEqual(client.told, [got]);
    client.write({ id: "result", method: "tasks/result", params: { taskId } });
    const question = await client.first(({ method }) => method === "elicitation/create");
    client.write({ id: question["id"], result: { action: "accept", content: { confirm: true } } });
    await client.first(({ id }) => id === "result");
    assert.deepEqual(client.statuses, ["input_required", "working", "completed"]);
    assert.deepEqual(Object.keys(client.told[2] ?? {}).toSorted(), Object.keys(got).toSorted());
  });

  it("reports after the answer that announced the task, however soon the task ends", async () => {
    await using client = new ToldClient(fixtureDoor());
    await client.begin("slow_compute", { seconds: 0 });
    await client.until(({ statuses }) => statuses.includes("completed"));
    assert.deepEqual(
      client.all.map(({ method }) => method as unknown),
      [undefined, STATUS],
    );
  });

  it("reports that a task failed, with the protocol's error if there is one", async () => {
    await using client = new ToldClient(fixtureDoor());
    await client.begin("protocol_error_job");
    await client.until(({ told }) => told.length === 1);
    assert.equal(client.told[0]?.["status"], "failed");
    assert.equal(client.told[0]?.["statusMessage"], "Internal failure");
  });

  it("reports a cancelled task before it answers the cancellation", async () => {
    await using client = new ToldClient(fixtureDoor());
    const taskId = await client.begin("slow_compute", { seconds: 60 });
    const answer = await client.request("tasks/cancel", { taskId });
    assert.deepEqual(client.told, [answer["result"]]);
    assert.deepEqual(client.statuses, ["cancelled"]);
  });

  it("reports to nobody else, and to nobody who has disconnected", async () => {
    const door = fixtureDoor();
    await using client = new ToldClient(door);
    await using other = new ToldClient(door);
    const taskId = await client.begin("slow_compute", { seconds: 60 });
    const left = await client.begin("slow_compute", { seconds: 60 });
    await client.request("tasks/cancel", { taskId });
    client.leave();
    await client.request("tasks/cancel", { taskId: left });
    assert.deepEqual(
      client.told.map((task) => task["taskId"] as string),
      [taskId],
    );
    assert.deepEqual(other.messages, []);
  });
});

describe("subscriptions/listen for tasks", { timeout: 600_000 }, () => {
  const revision = "2026-07-28";
  const capabilities = { elicitation: {}, ...TASKS_CAPABILITY };

  it("reports the named tasks, with everything that tasks/get returns", async () => {
    covers("mcp.tasks-extension.listen");
    await using client = await RawClient.connect(fixtureDoor(), { revision, capabilities });
    const { taskId } = (await client.callTool("confirm_delete", { filename: "f" }))["result"];
    const notifications = { taskIds: [taskId, "nobody's"] };
    const listening = client.send("subscriptions/listen", { notifications });
    await client.until(({ messages }) => messages.length >= 2);
    const [acknowledged] = client.told("notifications/subscriptions/acknowledged");
    assert.deepEqual(acknowledged?.["params"].notifications, { taskIds: [taskId] });
    const inputResponses = { confirm: { action: "accept", content: { confirm: true } } };
    await client.request("tasks/update", { taskId, inputResponses });
    const told = () => client.told("notifications/tasks").map(({ params }) => params as Json);
    await client.until(() => told().some(({ status }) => status === "completed"));
    const { result } = await client.request("tasks/get", { taskId });
    const { _meta, ...last } = told().at(-1) ?? {};
    assert.equal(_meta?.["io.modelcontextprotocol/subscriptionId"], listening);
    assert.deepEqual({ ...last, _meta: result._meta, resultType: "complete" }, result);
  });

  it("is refused to a client without support for tasks", async () => {
    await using client = await RawClient.connect(fixtureDoor(), { revision });
    const notifications = { taskIds: ["any"] };
    const { error } = await client.request("subscriptions/listen", { notifications });
    assert.equal(error.code, -32021);
    assert.deepEqual(error.data.requiredCapabilities, TASKS_CAPABILITY);
  });
});
