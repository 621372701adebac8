// Installs real MCP servers of npm, asks each for its tools, and writes them to `catalogue.json`.
//   node bench/tool-search/collect.ts [FOLDER]
// Only what a search goes by is kept of each tool. The checked-in file was made by this script.
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

import {
  type CatalogueServer,
  FRESH_SERVERS,
  HELD_OUT_SERVERS,
  TUNING_SERVERS,
} from "./servers.ts";

const [, , folder = join(tmpdir(), "trunkline-tool-search")] = process.argv;
const PATIENCE = 60_000;

interface Listed {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: unknown;
}

interface Package {
  readonly version: string;
  readonly bin?: string | Readonly<Record<string, string>>;
}

/** Starts a server, and asks it for its tools. */
async function toolsOf(server: CatalogueServer, home: string): Promise<readonly Listed[]> {
  const root = join(home, "node_modules", server.package);
  const { bin = {} } = readPackage(root);
  const program = typeof bin === "string" ? bin : Object.values(bin)[0];
  if (program === undefined) throw new Error("it has no program");
  const child = spawn(process.execPath, [join(root, program), ...(server.args ?? [])], {
    cwd: home,
    env: { PATH: process.env.PATH ?? "", HOME: home, ...server.env },
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
  });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said = `${said}${chunk.toString()}`.slice(-300)));
  const send = (message: object): void => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  };
  child.stdin.on("error", () => {});
  child.on("error", (error) => (said = error.message));
  const lines = createInterface({ input: child.stdout });
  const timer = setTimeout(() => lines.close(), PATIENCE);
  child.once("close", () => lines.close());
  const tools: Listed[] = [];
  try {
    send({
      id: 0,
      method: "initialize",
      params: {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "trunkline-bench", version: "1" },
      },
    });
    for await (const line of lines) {
      if (!line.startsWith("{")) continue;
      const { id, result, error } = JSON.parse(line) as {
        id?: number;
        result?: { tools?: Listed[]; nextCursor?: string };
        error?: unknown;
      };
      if (error !== undefined) throw new Error(JSON.stringify(error));
      if (id === 0) {
        send({ method: "notifications/initialized" });
        send({ id: 1, method: "tools/list", params: {} });
      } else if (id !== undefined && result?.tools !== undefined) {
        tools.push(...result.tools);
        if (result.nextCursor === undefined) return tools;
        send({ id: id + 1, method: "tools/list", params: { cursor: result.nextCursor } });
      }
    }
    throw new Error(`it ended, after saying: ${said}`);
  } finally {
    clearTimeout(timer);
    try {
      process.kill(-(child.pid ?? 0), "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }
}

function readPackage(root: string): Package {
  return JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Package;
}

/** The texts of a tool that a search goes by; long ones are cut, so that the file stays small. */
function trimmed({ name, description = "", inputSchema }: Listed): object {
  const { properties = {} } = (inputSchema ?? {}) as {
    properties?: Record<string, { description?: unknown }>;
  };
  const parameters = Object.entries(properties).map(([parameter, schema]) => {
    const text = typeof schema?.description === "string" ? schema.description : "";
    return [parameter, text.slice(0, 60)];
  });
  return {
    name,
    description: description.slice(0, 300),
    parameters: Object.fromEntries(parameters.slice(0, 12)) as object,
  };
}

const install = promisify(execFile);
const gathered: object[] = [];
const sets = { tuning: TUNING_SERVERS, "held-out": HELD_OUT_SERVERS, fresh: FRESH_SERVERS };
for (const [set, servers] of Object.entries(sets)) {
  for (const server of servers) {
    const home = join(folder, server.name);
    mkdirSync(home, { recursive: true });
    try {
      if (!existsSync(join(home, "node_modules", server.package))) {
        const args = ["install", "--prefix", home, "--no-audit", "--no-fund", "--ignore-scripts"];
        await install("npm", [...args, server.package], { timeout: 300_000 });
      }
      const tools = await toolsOf(server, home);
      const { version } = readPackage(join(home, "node_modules", server.package));
      console.log(`${server.name}: ${tools.length} tools of ${server.package}@${version}`);
      gathered.push({
        set,
        server: server.name,
        package: `${server.package}@${version}`,
        tools: tools.map(trimmed),
      });
      writeFileSync(join(import.meta.dirname, "catalogue.json"), `${JSON.stringify(gathered)}\n`);
    } catch (error) {
      console.error(`${server.name}: ${(error as Error).message.slice(0, 300)}`);
    }
  }
}
