import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { before, describe, it } from "node:test";
import { promisify } from "node:util";

import { Packages } from "../support/packages.ts";
import { Program } from "../support/program.ts";
import { opencode } from "./other-agents.ts";

const BUILT = join(import.meta.dirname, "../../dist/trunkline.js");
const packages = new Packages("test/interop/setup");

/** A program that reads its configuration back, and starts the servers that it lists. */
interface Reader {
  readonly name: string;
  /** The words that start it. */
  words(): Promise<readonly string[]>;
  /** What lists its servers, and what it says of ours. */
  readonly list: readonly string[];
  readonly says: RegExp;
  readonly saysHttp: RegExp;
  /** A file that it has already, with a server that has to stay. */
  readonly file: string;
  readonly own: string;
}

const READERS: readonly Reader[] = [
  {
    name: "claude-code",
    words: async () => [packages.path("@anthropic-ai/claude-code-linux-x64/claude")],
    list: ["mcp", "list"],
    says: /trunkline: .*trunkline\.js mcp - ✔ Connected/,
    saysHttp: /trunkline: http:\/\/127\.0\.0\.1:\d+\/mcp \(HTTP\) - ✔ Connected/,
    file: ".claude.json",
    own: '{\n  "mcpServers": { "mine": { "type": "stdio", "command": "true", "args": [] } }\n}\n',
  },
  {
    name: "codex",
    words: async () => [packages.path("@openai/codex/vendor/x86_64-unknown-linux-musl/bin/codex")],
    list: ["mcp", "list"],
    says: /trunkline .*trunkline\.js mcp/,
    saysHttp: /trunkline +http:\/\/127\.0\.0\.1:\d+\/mcp/,
    file: ".codex/config.toml",
    own: '# mine\nmodel = "gpt-5"\n\n[mcp_servers.mine]\ncommand = "true"\n',
  },
  {
    name: "gemini",
    words: async () => [process.execPath, packages.path("@google/gemini-cli/bundle/gemini.js")],
    list: ["mcp", "list"],
    says: /trunkline: .*trunkline\.js mcp \(stdio\) - /,
    saysHttp: /trunkline: http:\/\/127\.0\.0\.1:\d+\/mcp \(http\) - /,
    file: ".gemini/settings.json",
    own: '{\n  // mine\n  "mcpServers": { "mine": { "command": "true" } }\n}\n',
  },
  {
    name: "opencode",
    words: async () => [(await opencode.install()) ?? assert.fail("opencode is not installed")],
    list: ["mcp", "list"],
    says: /trunkline.*connected/,
    saysHttp: /trunkline.*connected/,
    file: ".config/opencode/opencode.jsonc",
    own: '{\n  // mine\n  "mcp": { "mine": { "type": "local", "command": ["true"] } }\n}\n',
  },
];

const isLinux = process.platform === "linux" && process.arch === "x64";
const skip = isLinux ? false : "the packages in test/interop/setup are for Linux on x64";

describe("what `trunkline setup` writes", { skip, timeout: 600_000 }, () => {
  before(() => packages.install());

  for (const reader of READERS) {
    it(`is read by ${reader.name}`, async () => {
      using home = mkdtempDisposableSync(join(tmpdir(), "setup-read-back-"));
      const [command = "", ...first] = await reader.words();
      assert.ok(existsSync(command), `${command} is not installed`);
      const file = join(home.path, reader.file);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, reader.own);
      const env = {
        HOME: home.path,
        PATH: `${dirname(command)}:/usr/bin:/bin`,
        GEMINI_CLI_TRUST_WORKSPACE: "true",
        OPENCODE_DISABLE_AUTOUPDATE: "1",
      };
      const run = async (program: string, ...args: string[]): Promise<string> => {
        const options = { env, cwd: home.path, timeout: 120_000 };
        const running = promisify(execFile)(program, args, options);
        running.child.stdin?.end();
        const { stdout, stderr } = await running;
        // Colours of a list for people.
        // oxlint-disable-next-line no-control-regex
        return `${stdout}${stderr}`.replaceAll(/\u001b\[[\d;]*m/g, "");
      };
      const setUp = (...args: string[]): Promise<string> =>
        run(process.execPath, BUILT, "setup", reader.name, ...args);
      const listed = (): Promise<string> => run(command, ...first, ...reader.list);

      assert.match(await setUp(), /^Wrote '/);
      assert.match(await listed(), reader.says);
      assert.match(await setUp(), /^Nothing to change/);
      await using gateway = new Program(["serve", "--port", "0", "--json"], { env });
      await gateway.answers(1);
      assert.match(await setUp("--http"), /^Wrote '/);
      assert.match(await listed(), reader.saysHttp);
      gateway.child.kill("SIGINT");
      await gateway.exit;
      assert.match(readFileSync(file, "utf8"), /mine/);
      assert.match(await setUp("--remove"), /^Removed '/);
      const without = await listed();
      assert.doesNotMatch(without, /trunkline/);
      assert.match(without, /mine/);
    });
  }
});
