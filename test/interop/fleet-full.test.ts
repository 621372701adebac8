import assert from "node:assert/strict";
import { cpSync, mkdtempDisposableSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { DRAINED } from "../../src/cli/worker/worker.ts";
import { type AcpSocket, promptOf } from "../support/acp-socket.ts";
import { FleetRig } from "../support/fleet-rig.ts";
import { noNats } from "../support/nats-server.ts";
import { until } from "../support/until.ts";

const ROOT = join(import.meta.dirname, "../..");

/** The program of these sources, as another version of it. */
class OtherVersion implements Disposable {
  readonly #folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-version-"));
  readonly built = join(this.#folder.path, "src/cli/main.ts");

  constructor(version: string) {
    const at = (name: string): string => join(this.#folder.path, name);
    cpSync(join(ROOT, "src"), at("src"), { recursive: true });
    symlinkSync(join(ROOT, "node_modules"), at("node_modules"));
    const own = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as object;
    writeFileSync(at("package.json"), JSON.stringify({ ...own, version }));
  }

  [Symbol.dispose](): void {
    this.#folder.remove();
  }
}

const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  version: string;
};
const [major = 0, minor = 0] = version.split(".").map(Number);

/** What clients that wait are told, the last first. */
const places = ({ messages }: AcpSocket): string[] =>
  messages.filter(({ method }) => method === "_session/queued").map(({ params }) => params.message);

describe("a fleet at its limits", { skip: noNats, timeout: 900_000 }, () => {
  it("lets sessions wait for a slot, also over the end of the worker that had them all", async () => {
    await using rig = await FleetRig.start({ fleet: { waiting: 1 } });
    await rig.worker("w1", "--slots", "1");
    const gateway = await rig.gateway("g1");
    using client = await rig.client(gateway);
    using second = await rig.client(gateway);
    using third = await rig.client(gateway);
    const place = { cwd: rig.folder, mcpServers: [] };
    const { sessionId } = await client.ask("session/new", place);
    await client.ask("session/prompt", promptOf(sessionId, "say kept"));
    const opening = second.ask("session/new", place);
    const [words] = await second.until((it) => (places(it).length > 0 ? places(it) : undefined));
    assert.match(words ?? "", /the only slot of 1 worker is taken/);
    // One more than may wait.
    const { error } = await third.answer("session/new", place);
    assert.equal(error?.code, -32028);
    assert.match(
      JSON.stringify(error),
      /the only slot of 1 worker is taken, and .* Try again later, or add/,
    );
    await rig.kill("w1");
    await rig.worker("w2", "--slots", "2");
    const { sessionId: other } = await opening;
    await second.ask("session/prompt", promptOf(other, "say waited"));
    assert.match(second.text, /waited/);
    await client.ask("session/prompt", promptOf(sessionId, "say too"));
    assert.match(client.text, /kept[^]*too/);
  });

  it("works with a version before and after its own, and refuses others in words", async () => {
    await using rig = await FleetRig.start();
    using next = new OtherVersion(`${major}.${minor + 1}.0`);
    using far = new OtherVersion(`${major}.${minor + 2}.0`);
    const gateway = await rig.gateway("g1");
    using client = await rig.client(gateway);
    const place = { cwd: rig.folder, mcpServers: [] };
    await rig.workerOf({ built: far.built }, "far");
    await assert.rejects(client.ask("session/new", place), (error: Error) => {
      const said = `run version ${major}.${minor + 2}.0, and this gateway ${version}; they may differ by one minor`;
      return error.message.includes(said);
    });
    await rig.workerOf({ built: next.built }, "next");
    const { sessionId } = await client.ask("session/new", place);
    await client.ask("session/prompt", promptOf(sessionId, "say newer."));
    // An upgrade that is taken back: this version continues what a newer one has written, and the other way.
    await rig.worker("same");
    await rig.kill("next");
    await client.ask("session/prompt", promptOf(sessionId, "say older."));
    await rig.workerOf({ built: next.built }, "next");
    await rig.kill("same");
    await client.ask("session/prompt", promptOf(sessionId, "say again."));
    using loading = await rig.client(gateway);
    await loading.ask("session/load", { ...place, sessionId });
    // Each as a prompt, and as the answer.
    const heard = loading.text.match(/newer\.|older\.|again\./g);
    assert.deepEqual(heard?.join(""), "newer.newer.older.older.again.again.");
    await rig.kill("next");
    const { error } = await client.answer("session/prompt", promptOf(sessionId, "say never"));
    assert.match(JSON.stringify(error), /may differ by one minor|Cannot open the session/);
  });

  it("drains a worker under load, and its clients go on elsewhere", async () => {
    await using rig = await FleetRig.start();
    const first = await rig.worker("w1", "--slots", "40");
    const [one, two] = [await rig.gateway("g1"), await rig.gateway("g2")];
    const place = { cwd: rig.folder, mcpServers: [] };
    using client = await rig.client(one);
    const sessions: string[] = [];
    for (let at = 0; at < 12; at++) {
      const { sessionId } = await client.ask("session/new", place);
      sessions.push(sessionId as string);
      client.send("session/prompt", promptOf(sessionId, "forever"));
    }
    await client.until(({ text }) => (text.split("5 ").length > 12 ? true : undefined));
    await rig.worker("w2", "--slots", "40");
    await using drain = rig.command(["worker", "drain"], "w1");
    await drain.until(({ lines }) => lines.some((line) => line.includes("takes no new sessions")));
    for (const sessionId of sessions) {
      client.socket.send(
        JSON.stringify({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } }),
      );
    }
    assert.equal(await first.exit, DRAINED, first.stderr);
    assert.equal(await drain.exit, 0, drain.stderr);
    for (const sessionId of sessions) {
      await client.ask("session/prompt", promptOf(sessionId, `say ${sessionId}-moved`));
      assert.ok(client.text.includes(`${sessionId}-moved`));
    }
    await rig.kill("g1");
    // Moving is no reason to begin a turn again, or to call it lost.
    using loading = await rig.client(two);
    for (const sessionId of sessions) await loading.ask("session/load", { ...place, sessionId });
    assert.equal(loading.text.match(/forever/g)?.length, sessions.length);
  });

  it("says that NATS is dead, and goes on with what was accepted when it is back", async () => {
    await using rig = await FleetRig.start();
    await rig.worker("w1");
    const gateway = await rig.gateway("g1");
    using client = await rig.client(gateway);
    const place = { cwd: rig.folder, mcpServers: [] };
    const { sessionId } = await client.ask("session/new", place);
    await client.ask("session/prompt", promptOf(sessionId, "say before"));
    const ask = async (path: string): Promise<readonly [number, string]> => {
      const response = await fetch(new URL(path, gateway.ready.acp.replace("ws", "http")));
      return [response.status, await response.text()];
    };
    await rig.nats.kill();
    await until(async () => /the connection to NATS is lost/.test((await ask("/readyz"))[1]));
    assert.equal((await ask("/healthz"))[0], 200);
    const refused = await client.answer("session/new", place);
    assert.match(
      JSON.stringify(refused.error),
      /Cannot open the session: the connection to NATS is lost\. Try again when/,
    );
    // A node that starts now says why it cannot.
    await using late = rig.command(["worker", "--name", "late"]);
    assert.equal(await late.exit, 1);
    assert.match(late.stderr, /Cannot connect to NATS at 127\.0\.0\.1:\d+: .*Check the address/);
    await rig.nats.restart();
    await until(async () => (await ask("/readyz"))[0] === 200);
    await client.ask("session/prompt", promptOf(sessionId, "say after"));
    assert.match(client.text, /before[^]*after/);
    await rig.worker("w2");
    await rig.kill("w1");
    await client.ask("session/prompt", promptOf(sessionId, "say elsewhere"));
    assert.match(client.text, /elsewhere/);
  });
});
