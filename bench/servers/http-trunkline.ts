// The gateway's HTTP server with one tool and its own data folder. It reports its port and the token
// that it requires.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { loadConfig } from "../../src/gateway/config/load.ts";
import { House } from "../../src/gateway/house.ts";
import { HttpServer } from "../../src/gateway/http/http-server.ts";
import { echoOffer } from "./echo-offer.ts";

const data = mkdtempSync(join(tmpdir(), "trunkline-bench-"));
process.on("exit", () => rmSync(data, { recursive: true, force: true }));
const { config } = await loadConfig({ cwd: "/", env: {}, flags: { port: 0, data } });
const server = await HttpServer.open(new House(config), { offer: echoOffer() });
const token = readFileSync(server.tokenFile, "utf8");
process.send?.({ port: Number(new URL(server.origin).port), token });
process.on("disconnect", () => process.exit());
