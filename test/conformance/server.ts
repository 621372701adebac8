// The gateway with the fixture in its toolbox: `server.ts http` says where it listens in its first
// line and runs until a signal; `server.ts stdio` serves one conversation.
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { defaultConfig } from "../../src/config/config.ts";
import { serveStdio } from "../../src/app/door/serve-stdio.ts";
import { AppContext } from "../../src/config/app-context.ts";
import { openHttpServer } from "../../src/app/serve/http-server.ts";
import { untilSignal } from "../../src/base/process/long-running.ts";
import { Connection } from "../../src/protocol/mcp/serve/connection.ts";
import { McpDoor } from "../../src/protocol/mcp/serve/door.ts";
import { gatewaySources } from "../support/gateway-sources.ts";
import { fixtureOffer } from "./fixture/offer.ts";

using data = mkdtempDisposableSync(join(tmpdir(), "trunkline-fixture-"));
const config = defaultConfig(data.path);
const app = new AppContext({ ...config, serve: { ...config.serve, port: 0 } });

if (process.argv[2] === "stdio") {
  const door = new McpDoor({ offer: fixtureOffer() });
  using connection = new Connection();
  await serveStdio(app, connection, door.optionsFor(connection));
} else {
  const signalled = untilSignal();
  // The suite has no tokens to show, and is not about access. Connections end before their answers, as the
  // suite wants to see them, by more than a second: machines are busy.
  const mcp = { limits: { keepAlive: 100, longestConnection: 3_000 } };
  const server = await openHttpServer(app, {
    sources: gatewaySources(fixtureOffer()),
    mcp,
    noAuth: true,
  });
  process.stdout.write(`${JSON.stringify({ url: server.origin })}\n`);
  await signalled;
  await server.close(500);
  data.remove();
  // As the program ends: a task that a test has left behind would keep the process for minutes.
  process.exit();
}
