import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { it } from "node:test";

import { ReviewHome } from "../e2e/review-server.ts";
import { Packages } from "../support/packages.ts";
import { until } from "../support/until.ts";
import { unpackDebianPackages } from "./quic-go/debian-packages.ts";

/** Of vscode-languageserver-protocol, as far as it is used here. */
interface Protocol {
  readonly createProtocolConnection: (reader: object, writer: object) => Connection;
  StreamMessageReader: new (stream: object) => object;
  StreamMessageWriter: new (stream: object) => object;
}

interface Connection {
  onNotification(method: string, handler: (params: Published) => void): void;
  onRequest(method: string, handler: () => object): void;
  listen(): void;
  dispose(): void;
  sendRequest<T>(method: string, params?: object): Promise<T>;
  sendNotification(method: string, params?: object): Promise<void>;
}

interface Published {
  readonly uri: string;
  readonly version?: number;
  readonly diagnostics: readonly {
    readonly message: string;
    readonly severity: number;
    readonly range: { readonly start: { readonly line: number } };
  }[];
}

const ROOT = join(import.meta.dirname, "../..");
const PROGRAM = join(ROOT, "dist/trunkline.js");
const NEOVIM = join(ROOT, ".cache/neovim");

/** Neovim of Debian 12, and the libraries that it needs. */
const PACKAGES = [
  ...["neovim", "neovim-runtime", "libluajit-5.1-2", "libluajit-5.1-common", "libmsgpackc2"],
  ...["libtermkey1", "libunibilium4", "libvterm0", "lua-luv", "libtree-sitter0", "libuv1"],
];

async function whatIsMissing(): Promise<string | undefined> {
  if (existsSync(join(NEOVIM, "usr/bin/nvim"))) return undefined;
  try {
    await unpackDebianPackages("bookworm", PACKAGES, NEOVIM);
    return undefined;
  } catch (error) {
    return `Neovim is missing: ${(error as Error).message}`;
  }
}

/** Runs Lua in Neovim with a file open, after what `trunkline setup neovim` prints for reviews. */
async function inNeovim(home: ReviewHome, script: string): Promise<string> {
  const { out } = await home.run(["setup", "neovim"]);
  const setup = join(home.path, "setup.lua");
  writeFileSync(setup, out.slice(0, out.indexOf("-- codecompanion")));
  const test = join(home.path, "test.lua");
  writeFileSync(test, `${LUA}\n${script}`);
  const libraries = readdirSync(join(NEOVIM, "usr/lib")).find((name) => name.includes("linux"));
  const env = {
    ...home.env,
    VIMRUNTIME: join(NEOVIM, "usr/share/nvim/runtime"),
    LD_LIBRARY_PATH: join(NEOVIM, "usr/lib", libraries ?? ""),
  };
  const args = ["--headless", "--clean", "-c", `luafile ${setup}`, "-c", "edit main.go"];
  const running = promisify(execFile)(
    join(NEOVIM, "usr/bin/nvim"),
    [...args, "-c", `luafile ${test}`, "-c", "qa!"],
    { cwd: home.repository, env, timeout: 600_000 },
  );
  running.child.stdin?.end();
  const { stdout, stderr } = await running;
  return stdout + stderr;
}

/** What a person does: looks at diagnostics, edits, chooses an action, writes and saves. */
const LUA = `
function expect(what, so)
  if not vim.wait(120000, so, 20) then
    error("waited in vain: " .. what .. " " .. vim.inspect(vim.diagnostic.get(0)))
  end
end
function choose(title)
  vim.ui.select = function(items, options, on_choice)
    for n, item in ipairs(items) do
      if options.format_item(item):find(title, 1, true) then return on_choice(item, n) end
    end
    error("there is no action " .. title)
  end
  vim.lsp.buf.code_action()
end
function line() local d = vim.diagnostic.get(0)[1] return d and d.lnum + 1 end
`;

it("shows, follows, answers, applies and resolves threads in Neovim", async (context) => {
  const missing = await whatIsMissing();
  if (missing !== undefined) return context.skip(missing);
  using home = new ReviewHome();
  const add = ["review", "add", "--file", "main.go", "--line", "10", "--severity", "must"];
  await home.runInProcess([...add, "--comment", "Why?"]);
  writeFileSync(join(home.path, "better.txt"), "a better line\n");
  const suggest = ["--comment", "So", "--suggest", join(home.path, "better.txt")];
  await home.runInProcess(["review", "add", "--file", "main.go", "--line", "40", ...suggest]);
  const out = await inNeovim(
    home,
    `
expect("diagnostics", function() return #vim.diagnostic.get(0) == 2 end)
local first = vim.diagnostic.get(0)[1]
print(first.source, first.code, first.severity, first.message)
vim.api.nvim_buf_set_lines(0, 0, 0, false, { "new", "lines" })
expect("the diagnostic to follow", function() return line() == 12 end)
vim.api.nvim_win_set_cursor(0, { 42, 0 })
choose("Apply the suggestion")
expect("the suggestion", function() return vim.fn.getline(42) == "a better line" end)
expect("one thread", function() return #vim.diagnostic.get(0) == 1 end)
local code = vim.api.nvim_get_current_buf()
vim.api.nvim_win_set_cursor(0, { 12, 0 })
choose("Reply to")
expect("the draft", function() return vim.api.nvim_get_current_buf() ~= code end)
vim.api.nvim_buf_set_lines(0, 0, 0, false, { "Because of Neovim" })
vim.cmd("write")
vim.cmd("buffer " .. code)
expect("the reply", function()
  local thread = vim.diagnostic.get(0)[1]
  return thread and thread.message:find("ada: Because of Neovim", 1, true)
end)
vim.api.nvim_win_set_cursor(0, { 12, 0 })
choose("Resolve")
expect("no thread", function() return #vim.diagnostic.get(0) == 0 end)
choose("Comment on line 12")
expect("the draft", function() return vim.api.nvim_get_current_buf() ~= code end)
vim.api.nvim_buf_set_lines(0, 0, 0, false, { "From Neovim" })
vim.cmd("write")
vim.cmd("buffer " .. code)
expect("the comment", function() return #vim.diagnostic.get(0) == 1 end)
print("done")
`,
  );
  assert.match(out, /trunkline\s+\w{6}\s+1\s+ada: Why\?/);
  assert.match(out, /done/);
  const { out: text } = await home.runInProcess(["review", "list", "--all", "--json"]);
  const { threads } = JSON.parse(text) as {
    threads: { comment: string; state: string; quote: string[] }[];
  };
  assert.deepEqual(
    threads.map(({ comment, state }) => [comment, state]),
    [
      ["Why?", "resolved"],
      ["So", "resolved"],
      ["From Neovim", "open"],
    ],
  );
  assert.deepEqual(threads[2]?.quote, ["line 10"]);
});

it("serves the client of vscode-languageserver-protocol, and ends with exit", async () => {
  const packages = new Packages("test/interop/lsp-client");
  await packages.install();
  const { createProtocolConnection, StreamMessageReader, StreamMessageWriter } =
    await packages.import<Protocol>("vscode-languageserver-protocol", "node.js");
  using home = new ReviewHome();
  const add = ["review", "add", "--file", "main.go", "--line", "10", "--severity", "nit"];
  await home.runInProcess([...add, "--comment", "Ünïcode"]);
  const child = spawn(process.execPath, [PROGRAM, "lsp"], {
    cwd: home.repository,
    env: home.env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exit = once(child, "exit");
  const connection = createProtocolConnection(
    new StreamMessageReader(child.stdout),
    new StreamMessageWriter(child.stdin),
  );
  const published: Published[] = [];
  connection.onNotification("textDocument/publishDiagnostics", (params) => {
    published.push(params);
  });
  connection.onRequest("workspace/applyEdit", () => ({ applied: true }));
  connection.listen();
  const rootUri = pathToFileURL(home.repository).href;
  const { capabilities } = await connection.sendRequest<{
    readonly capabilities: { readonly textDocumentSync: { readonly change: number } };
  }>("initialize", { processId: null, rootUri, capabilities: {} });
  assert.equal(capabilities.textDocumentSync.change, 1);
  await connection.sendNotification("initialized", {});
  await until(() => published.length === 1);
  const uri = `${rootUri}/main.go`;
  assert.deepEqual(
    [
      published[0]?.uri,
      published[0]?.diagnostics[0]?.message,
      published[0]?.diagnostics[0]?.severity,
    ],
    [uri, "ada: Ünïcode", 3],
  );
  const text = `${"é".repeat(100_000)}\n${readFileSync(join(home.repository, "main.go"), "utf8")}`;
  const textDocument = { uri, languageId: "go", version: 7, text };
  await connection.sendNotification("textDocument/didOpen", { textDocument });
  await until(() => published.at(-1)?.diagnostics[0]?.range.start.line === 10);
  assert.equal(published.at(-1)?.version, 7);
  const range = { start: { line: 10, character: 0 }, end: { line: 10, character: 4 } };
  const only = { diagnostics: [], only: ["quickfix"] };
  const actions = await connection.sendRequest<{ title: string; command: object }[]>(
    "textDocument/codeAction",
    { textDocument: { uri }, range, context: only },
  );
  const resolve = actions.find(({ title }) => title.startsWith("Resolve "));
  await connection.sendRequest("workspace/executeCommand", resolve?.command ?? {});
  await until(() => published.at(-1)?.diagnostics.length === 0);
  await assert.rejects(connection.sendRequest("textDocument/hover", {}), /no method/);
  await connection.sendRequest("shutdown");
  await connection.sendNotification("exit");
  assert.deepEqual((await exit)[0], 0);
  connection.dispose();
});
