import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { covers } from "../../../../test/support/requirement.ts";
import { type PluginsFile, readPluginsFile } from "./plugins-file.ts";

const HOME = "/home/ada";
const FOLDER = "/etc/orchestra";

/** What is read of a file with that text, as if it were in `FOLDER`. */
async function parse(text: string): Promise<PluginsFile> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-plugins-"));
  const path = join(folder.path, "plugins.yaml");
  await writeFile(path, text);
  try {
    const file = JSON.stringify(await readPluginsFile(path, { home: HOME }));
    return JSON.parse(file.replaceAll(folder.path, FOLDER)) as PluginsFile;
  } catch (error) {
    const { message } = error as Error;
    (error as Error).message = message.replaceAll(folder.path, FOLDER);
    throw error;
  }
}

/** The example of the original's documentation. */
const EXAMPLE = `# Address for the orchestrator's QUIC server.
listen_addr: "localhost:50100"
certs_dir: "~/.orchestra/certs"
plugins:
  - id: storage.markdown
    binary: ./bin/storage-markdown
    enabled: true
    provides_storage:
      - markdown
    args:
      - --workspace=.
    config:
      workspace: "."

  - id: tools.features
    binary: ./bin/tools-features
    enabled: true
    depends_on: [storage.markdown]

  - id: some.custom.plugin
    binary: /usr/local/bin/my-plugin
    enabled: false
    env:
      MY_ENV_VAR: "value"
    config:
      api_key: "abc123"
`;

async function problems(text: string): Promise<string[]> {
  try {
    await parse(text);
  } catch (error) {
    assert.equal((error as { code?: string }).code, "config");
    return (error as Error).message.replaceAll(`${FOLDER}/plugins.yaml`, "FILE").split("\n");
  }
  return assert.fail("the file was taken");
}

async function warnings(text: string): Promise<string[]> {
  const { warnings: found } = await parse(text);
  return found.map((warning) => warning.replace(`${FOLDER}/plugins.yaml`, "FILE"));
}

describe("the content of a plugins.yaml", () => {
  it("is read as the original reads it, relative to the file and to home", async () => {
    covers("bus.plugins-file");
    const file = await parse(EXAMPLE);
    const none = {
      args: [],
      env: {},
      config: {},
      providesStorage: [],
      providesAi: [],
      dependsOn: [],
    };
    assert.deepEqual(file, {
      listenAddr: "localhost:50100",
      certsDir: "/home/ada/.orchestra/certs",
      plugins: [
        {
          ...none,
          id: "storage.markdown",
          binary: "/etc/orchestra/bin/storage-markdown",
          args: ["--workspace=/etc/orchestra"],
          config: { workspace: "." },
          enabled: true,
          providesStorage: ["markdown"],
        },
        {
          ...none,
          id: "tools.features",
          binary: "/etc/orchestra/bin/tools-features",
          enabled: true,
          dependsOn: ["storage.markdown"],
        },
        {
          ...none,
          id: "some.custom.plugin",
          binary: "/usr/local/bin/my-plugin",
          enabled: false,
          env: { MY_ENV_VAR: "value" },
          config: { api_key: "abc123" },
        },
      ],
      warnings: [],
    });
  });

  it("may set nothing", async () => {
    for (const text of ["", "# nothing\n", "plugins:\n", "plugins: []\ncerts_dir:\n"]) {
      assert.deepEqual(await parse(text), { plugins: [], warnings: [] });
    }
  });

  it("keeps settings as the texts that they are written as", async () => {
    const text = `plugins:
  - {id: a, binary: /a, enabled: yes, config: {port: 0080, on: true, e: 1e3, none: null, q: "null"}}`;
    const { config } = (await parse(text)).plugins[0] ?? {};
    assert.deepEqual(config, { port: "0080", on: "true", e: "1e3", none: "", q: "null" });
  });

  it("may use anchors and merges", async () => {
    const text = `
defaults: &defaults {enabled: true, env: {A: "1"}}
plugins:
  - <<: *defaults
    id: a
    binary: /a
  - {<<: [*defaults, {binary: /b, env: {}}], id: b, enabled: false}
`;
    const { plugins } = await parse(text);
    assert.deepEqual(
      plugins.map(({ binary, enabled, env }) => ({ binary, enabled, env })),
      [
        { binary: "/a", enabled: true, env: { A: "1" } },
        { binary: "/b", enabled: false, env: { A: "1" } },
      ],
    );
  });

  it("keeps variables unexpanded, as the original does", async () => {
    const text = "plugins: [{id: a, binary: $HOME/a, enabled: true, args: ['${X}']}]";
    const [plugin] = (await parse(text)).plugins;
    assert.deepEqual(plugin?.args, ["${X}"]);
    assert.equal(plugin?.binary, "/etc/orchestra/$HOME/a");
  });

  it("is refused with every mistake and its position", async () => {
    const text = `listen_addr: nowhere
tcp_addr: localhost:99999
plugins:
  - binary: /a
    enabled: perhaps
  - id: ../b
    enabled: true
    args: --verbose
    env: {"": x, A=B: y}
  - id: c
    binary: [/c]
    enabled: true
  - just a text
  - {id: c, binary: /c, enabled: false, depends_on: {a: 1}}
`;
    assert.deepEqual(await problems(text), [
      "FILE:1:14: 'listen_addr' is 'nowhere', but must be HOST:PORT, such as 'localhost:50100'",
      "FILE:2:11: 'tcp_addr' is 'localhost:99999', but must be HOST:PORT, such as 'localhost:50100'",
      "FILE:4:5: 'plugins[0]' needs an id, such as 'tools.notes'",
      "FILE:5:14: 'plugins[0].enabled' must be true or false",
      "FILE:6:5: 'plugins[1]' needs a binary, the program to start",
      "FILE:6:9: 'plugins[1].id' is '../b', but must be of letters, digits, '.', '_' and '-', at most 128, and begin with a letter or digit",
      "FILE:8:11: 'plugins[1].args' must be a list",
      "FILE:9:15: 'plugins[1].env[\"\"]' cannot be the name of a variable",
      "FILE:9:23: 'plugins[1].env[\"A=B\"]' cannot be the name of a variable",
      "FILE:11:13: 'plugins[2].binary' must be a text",
      "FILE:13:5: 'plugins[3]' must be an object",
      "FILE:14:5: 'plugins[4]' has the id 'c', which another plugin has, too",
      "FILE:14:53: 'plugins[4].depends_on' must be a list",
    ]);
  });

  it("is refused if it is not YAML, or not such a file", async () => {
    assert.match((await problems("plugins: [\n  {id: a\n")).join("\n"), /^FILE:\d+:\d+: /);
    assert.match((await problems("a: 1\na: 2\n")).join("\n"), /^FILE:2:1: Map keys must be unique/);
    assert.deepEqual(await problems("- a\n- b\n"), ["FILE:1:1: the file must be an object"]);
    assert.match((await problems("plugins: *nobody\n")).join("\n"), /^FILE:1:10: .*nobody/);
  });

  it("may have addresses of every kind", async () => {
    for (const address of ["localhost:0", "[::1]:50100", "10.0.0.1:1", ":50100"]) {
      assert.equal((await parse(`listen_addr: "${address}"`)).listenAddr, address);
    }
  });

  it("leads to a warning for ignored settings", async () => {
    const text = `colour: blue
plugins:
  - {id: a, binary: /a, depend_on: [b]}
  - {id: b, binary: /b, enabled: true, depends_on: [a, c]}
`;
    assert.deepEqual(await warnings(text), [
      "FILE:1:9: 'colour' is not a known key",
      "FILE:3:36: 'plugins[0].depend_on' is not a known key; did you mean 'depends_on'?",
      "FILE:3:5: 'plugins[0]' does not say 'enabled: true', so it is not started",
      "FILE:4:5: 'plugins[1]' depends on 'a', which is not enabled: it is started without",
      "FILE:4:5: 'plugins[1]' depends on 'c', which is not in the file: it is started without",
    ]);
  });

  it("cannot cause harm by hostile YAML", async () => {
    const proto = "plugins: [{id: a, binary: /a, enabled: true, env: {__proto__: x}}]";
    const [plugin] = (await parse(proto)).plugins;
    assert.deepEqual(Object.entries(plugin?.env ?? {}), [["__proto__", "x"]]);
    assert.match((await problems("plugins:\n  - &a {<<: *a}\n")).join("\n"), /^Cannot read 'FILE'/);
    const laughs = Array.from(
      { length: 20 },
      (_, n) => `x${n + 1}: &x${n + 1} {<<: [${Array(10).fill(`*x${n}`).join(", ")}]}`,
    );
    const text = ["x0: &x0 {k: v}", ...laughs, "plugins: [*x20]"].join("\n");
    assert.match((await problems(text)).join("\n"), /Excessive alias count/);
    assert.match((await problems("[".repeat(20_000))).join("\n"), /FILE/);
    assert.match((await problems(" ".repeat(1_000_001))).join("\n"), /longer than/);
  });
});

describe("readPluginsFile()", () => {
  it("finds a program beside the file, and otherwise in PATH", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-plugins-"));
    const path = join(folder.path, "plugins.yaml");
    await writeFile(join(folder.path, "beside"), "");
    const entry = (id: string) => `  - {id: ${id}, binary: ${id}, enabled: true}\n`;
    await writeFile(path, `plugins:\n${entry("beside")}${entry("node")}`);
    const { plugins } = await readPluginsFile(path, { home: HOME });
    assert.deepEqual(
      plugins.map(({ binary }) => binary),
      [join(folder.path, "beside"), "node"],
    );
  });

  it("names a missing file", async () => {
    await assert.rejects(readPluginsFile("/nowhere/plugins.yaml", { home: HOME }), {
      code: "config",
      message: "Cannot read '/nowhere/plugins.yaml': no such file",
    });
  });
});
