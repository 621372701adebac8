// The gateway's HTTP server with one tool and its own data folder: with `record` on record, with `hop`
// also on a server behind it. It reports its port and the token that it requires.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Log } from "../../src/base/log.ts";
import { loadConfig } from "../../src/config/load.ts";
import { AppContext } from "../../src/config/app-context.ts";
import { HttpServer } from "../../src/app/serve/http-server.ts";
import { AuditLog } from "../../src/store/audit/audit-log.ts";
import { Offer } from "../../src/tool/offer/offer.ts";
import { Upstreams } from "../../src/upstream/upstreams.ts";
import { echoOffer } from "./echo-offer.ts";

const [way] = process.argv.slice(2);
const data = mkdtempSync(join(tmpdir(), "trunkline-bench-"));
process.on("exit", () => rmSync(data, { recursive: true, force: true }));
const { config } = await loadConfig({ cwd: "/", env: {}, flags: { port: 0, data } });
const audit = way === undefined ? {} : { audit: new AuditLog(data) };
const offer = way === "hop" ? new Offer(audit) : echoOffer(audit);
if (way === "hop") {
  const upstreams = new Upstreams({ offer, folder: data, log: new Log("error") });
  const args = [join(import.meta.dirname, "mcp-upstream.mjs")];
  await upstreams.configure({ echo: { command: process.execPath, args } });
  await upstreams.known();
}
const server = await HttpServer.open(new AppContext(config), { offer });
const token = readFileSync(server.tokenFile, "utf8");
process.send?.({ port: Number(new URL(server.origin).port), token });
process.on("disconnect", () => process.exit());
