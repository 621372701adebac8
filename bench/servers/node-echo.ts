// Echoes messages over a Unix socket (`PATH`) or over NATS (`nats://…`), as a worker serves a gateway.
import { createServer } from "node:net";

import { FleetConnection } from "../../src/fleet/connection/connect.ts";
import { NodeServer } from "../../src/fleet/connection/node-server.ts";
import { Subjects } from "../../src/fleet/subjects.ts";
import { Log } from "../../src/base/log.ts";
import type { Channel } from "../../src/wire/channel.ts";
import { serveGreeted } from "../../src/wire/channel/greeting.ts";

const where = process.argv[2] ?? "";
const log = new Log("error");

function serve(channel: Channel<string>): Promise<void> {
  return new Promise((resolve) => {
    channel.receive({
      message: (text) => channel.send(text),
      fault: () => {},
      end: () => resolve(),
    });
  });
}

if (where.startsWith("nats:")) {
  const name = "worker";
  const connection = await FleetConnection.open({ url: where, subjects: new Subjects("b"), name });
  const options = { connection, node: { id: "1-echo", name }, limits: {}, log, serve };
  const server = new NodeServer(options);
  process.on("exit", () => server[Symbol.dispose]());
  await connection.nats.flush();
} else {
  const server = createServer((socket) => {
    void serveGreeted(socket, { limits: {}, log, welcome: () => ({}), serve });
  });
  await new Promise<void>((resolve) => server.listen(where, resolve));
}
console.log("ready");
