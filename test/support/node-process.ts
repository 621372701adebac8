import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

import type { NodeAddress } from "../../src/fleet/connection/node-server.ts";

const SOURCE = new URL("../../src/", import.meta.url).href;

/** A worker in a process of its own. It echoes what it is sent, and takes no request for a slot. */
export class NodeProcess implements AsyncDisposable {
  readonly self: NodeAddress;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, self: NodeAddress) {
    this.#child = child;
    this.self = self;
  }

  /** With `pull` it takes one request from the queue that asks for no label, and does nothing with it. */
  static async start(url: string, name: string, pull = false): Promise<NodeProcess> {
    const self = { id: `1-${name}`, name };
    const script = `
      import { jetstream } from "@nats-io/jetstream";
      import { FleetConnection } from "${SOURCE}fleet/connection/connect.ts";
      import { serveNode } from "${SOURCE}fleet/connection/node-server.ts";
      import { Members } from "${SOURCE}fleet/members/members.ts";
      import { subjectsOf } from "${SOURCE}fleet/subjects.ts";
      import { Log } from "${SOURCE}base/log.ts";
      const subjects = subjectsOf("p");
      const node = ${JSON.stringify(self)};
      const connection = await FleetConnection.open({ url: "${url}", subjects, name: node.name });
      const serve = (channel) => new Promise((resolve) => channel.receive({
        message: (text) => channel.send(text), fault() {}, end: resolve,
      }));
      serveNode({ connection, node, serve, limits: {}, log: new Log("error") });
      const state = () => ({ role: "worker", version: "1.2.3", slots: 0, used: 0, labels: {}, warm: [],
        isDraining: false, sessions: 0, waiting: [] });
      const members = new Members({ connection, self: node, state, beatEvery: 50 });
      members.join();
      await connection.nats.flush();
      console.log("ready");
      if (${pull}) {
        const consumer = await jetstream(connection.nats).consumers.get(subjects.jobs, "any");
        while ((await consumer.next({ expires: 1000 })) === null);
        console.log("pulled");
      }`;
    const args = ["--input-type=module", "-e", script];
    const stdio = ["ignore", "pipe", "inherit"] as const;
    const child = spawn(process.execPath, args, { stdio: [...stdio], cwd: import.meta.dirname });
    // Both lines may come at once.
    for (let said = ""; !said.includes(pull ? "pulled" : "ready");) {
      said += String(await once(child.stdout, "data"));
    }
    return new NodeProcess(child, self);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Kills it: it has no time to say anything. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exit;
  }
}
