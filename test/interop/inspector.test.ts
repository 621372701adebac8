import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, it } from "node:test";

import {
  FixtureServer,
  programBeforeFixture,
  STDIO_SERVER,
} from "../conformance/fixture-server.ts";
import { Packages } from "../support/packages.ts";
import { until } from "../support/until.ts";

const packages = new Packages("test/interop/inspector");

interface Printed {
  readonly tools?: readonly { readonly name: string }[];
  readonly content?: readonly { readonly text: string }[];
  readonly contents?: readonly { readonly text: string }[];
  readonly messages?: readonly { readonly content: { readonly text: string } }[];
}

/** What the Inspector's command line prints. */
async function inspect(args: readonly string[]): Promise<Printed> {
  using home = mkdtempDisposableSync(join(tmpdir(), "trunkline-inspector-"));
  const script = packages.path("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
  const { PATH = "" } = process.env;
  const child = spawn(process.execPath, [script, "--cli", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH, HOME: home.path },
  });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const [code] = (await once(child, "close")) as [number | null];
  assert.equal(code, 0, `${args.join(" ")}: ${output}${errors}`);
  return JSON.parse(output) as Printed;
}

/** Lists, calls and reads what the fixture has. */
async function lookAround(target: readonly string[]): Promise<void> {
  const run = (...args: string[]) => inspect([...target, "--method", ...args]);
  // On a busy machine a server behind the program may need longer than a list waits.
  let listed: Printed = {};
  await until(async () => (listed = await run("tools/list")).tools?.length !== 0);
  assert.equal(listed.tools?.[0]?.name, "test_simple_text");
  const called = await run("tools/call", "--tool-name", "greet", "--tool-arg", "name=Ada");
  assert.equal(called.content?.[0]?.text, "Hello, Ada!");
  const read = await run("resources/read", "--uri", "test://static-text");
  assert.match(read.contents?.[0]?.text ?? "", /static text resource/);
  const prompt = await run("prompts/get", "--prompt-name", "test_simple_prompt");
  assert.match(prompt.messages?.[0]?.content.text ?? "", /simple prompt/);
}

describe("the MCP Inspector", () => {
  before(() => packages.install());

  const eras = ["legacy", "auto", "modern"];
  const reach: Record<string, (server: FixtureServer) => string[]> = {
    ...Object.fromEntries(
      eras.map((era) => [
        `HTTP, ${era}`,
        ({ mcp }: FixtureServer) => [mcp, "--transport", "http", "--protocol-era", era],
      ]),
    ),
    ...Object.fromEntries(
      eras.map((era) => [
        `stdio, ${era}`,
        () => [STDIO_SERVER.command, ...STDIO_SERVER.args, "--protocol-era", era],
      ]),
    ),
    "HTTP of 2024-11-05": ({ url }) => [`${url}/sse`, "--transport", "sse"],
  };
  for (const [name, target] of Object.entries(reach)) {
    it(`lists, calls and reads over ${name}`, async () => {
      await using server = await FixtureServer.start();
      await lookAround(target(server));
    });
  }

  for (const era of eras) {
    it(`lists, calls and reads what a server behind the program has, ${era}`, async () => {
      using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-inspector-"));
      // Named by a file, as people paste it: the Inspector takes options of a command for its own.
      const file = join(folder.path, "inspector.json");
      const mcpServers = { trunkline: programBeforeFixture(folder.path) };
      writeFileSync(file, JSON.stringify({ mcpServers }));
      await lookAround(["--config", file, "--server", "trunkline", "--protocol-era", era]);
    });
  }

  it("runs a tool that requires a task until its end", async () => {
    await using server = await FixtureServer.start();
    const target = [server.mcp, "--transport", "http", "--protocol-era", "modern"];
    const call = ["--method", "tools/call", "--tool-name", "slow_compute"];
    const { content } = await inspect([...target, ...call, "--tool-arg", "label=L"]);
    assert.equal(content?.[0]?.text, "computed L");
  });
});
