import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import { SampleRepository } from "../../../test/samples/sample-repository.ts";
import { RecordingSink } from "../../../test/support/recording-sink.ts";
import { AppContext } from "../../config/app-context.ts";
import { LazySessions } from "./lazy-sessions.ts";

const AGENT = join(import.meta.dirname, "../../../test/support/acp-agent.mjs");
const INITIALIZE = JSON.stringify({
  ...{ jsonrpc: "2.0", id: "first", method: "initialize" },
  params: { protocolVersion: 1 },
});

interface Answer {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly result?: { readonly sessionId?: unknown };
  readonly error?: { readonly data: { readonly details: string } };
}

function answerTo(messages: readonly string[], id: number): Answer | undefined {
  const all = messages.map((text) => JSON.parse(text) as Answer);
  return all.find((message) => message.id === id && message.method === undefined);
}

async function appIn(home: SampleHome): Promise<AppContext> {
  const { config } = await home.load();
  return new AppContext({ ...config, log: { level: "error", verbose: false, requests: false } });
}

describe("LazySessions", { timeout: 60_000 }, () => {
  it("opens nothing until a session is requested", async () => {
    await using home = await SampleHome.create();
    const app = await appIn(home);
    {
      await using sessions = new LazySessions(app);
      assert.equal(await sessions.opened(), undefined);
    }
    assert.equal(existsSync(app.config.data), false);
  });

  it("opens the sessions once for concurrent requests", async () => {
    await using home = await SampleHome.create();
    await using sessions = new LazySessions(await appIn(home));
    const [one, other] = await Promise.all([sessions.open(), sessions.open()]);
    assert.equal(one, other);
    assert.equal((await sessions.opened())?.sessions, one);
  });

  it("serves other processes for clients that its own door would let in, and no others", async () => {
    await using home = await SampleHome.create();
    const agents = { other: { command: process.execPath, args: [AGENT] } };
    await home.write(home.userFile, JSON.stringify({ agent: "other", agents }));
    using repository = new SampleRepository();
    repository.run("config", "remote.origin.url", "https://git.example/acme/app.git");
    await using sessions = new LazySessions(await appIn(home));
    const { holder } = await sessions.get();
    const limits = { repositories: ["https://git.example/acme/*"] };
    const { reach } = sessions.sharing.holders;
    await using tools = await reach(holder, { id: "token:1", scopes: ["tools"] });
    const refused = new RecordingSink();
    tools.receive(refused);
    await tools.send(INITIALIZE);
    await refused.until(({ ends }) => ends.length > 0);
    assert.deepEqual(refused.messages, []);
    await using limited = await reach(holder, { id: "token:2", scopes: ["sessions"], limits });
    const served = new RecordingSink();
    limited.receive(served);
    await limited.send(INITIALIZE);
    for (const [id, cwd] of [repository.path, home.path].entries()) {
      const params = { cwd, mcpServers: [] };
      await limited.send(JSON.stringify({ jsonrpc: "2.0", id, method: "session/new", params }));
    }
    await served.until(({ messages }) => [0, 1].every((id) => answerTo(messages, id)));
    assert.equal(typeof answerTo(served.messages, 0)?.result?.sessionId, "string");
    assert.match(answerTo(served.messages, 1)?.error?.data.details ?? "", /in no repository/);
  });

  it("retries after a failure to open them", async () => {
    await using home = await SampleHome.create();
    const app = await appIn(home);
    await using sessions = new LazySessions(app);
    // A file where the data folder should be.
    await mkdir(dirname(app.config.data), { recursive: true });
    await writeFile(app.config.data, "");
    await assert.rejects(sessions.open());
    await rm(app.config.data);
    assert.ok(await sessions.open());
  });
});
