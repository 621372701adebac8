// The gateway's HTTP server with one tool.
import { loadConfig } from "../../src/gateway/config/load.ts";
import { House } from "../../src/gateway/house.ts";
import { HttpServer } from "../../src/gateway/http-server.ts";
import { echoOffer } from "./echo-offer.ts";

const { config } = await loadConfig({ cwd: "/", env: {}, flags: { port: 0 } });
const server = await HttpServer.open(new House(config), { offer: echoOffer() });
process.send?.(Number(new URL(server.origin).port));
process.on("disconnect", () => process.exit());
