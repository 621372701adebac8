import assert from "node:assert/strict";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../test/samples/sample-command-line.ts";
import { selfCommand } from "../base/process/self-command.ts";
import { AccessTokens } from "../store/access/access-tokens.ts";
import { valueAt } from "./format/format.ts";
import { placesOf, type SetupTarget, TARGETS } from "./targets.ts";
import { setup } from "../cli/setup/setup-command.ts";

/** Without other people's programs: what is installed here decides nothing. */
async function commandLine(): Promise<SampleCommandLine> {
  const line = await SampleCommandLine.create();
  line.env.PATH = "/usr/bin:/bin";
  return line;
}

/** A file of each format as people have it, with a server of their own. */
function ownText({ entries, name }: SetupTarget): string {
  const [{ path } = { path: ["mcpServers"] as const }] = entries;
  if (name === "codex") return '# mine\nmodel = "gpt-5"\n\n[mcp_servers.a]\ncommand = "a"\n';
  if (name === "goose") return "# mine\nextensions:\n  a:\n    type: stdio\n    cmd: a\n";
  if (name === "continue") return "# mine\nname: x\nmcpServers:\n  - name: a\n    command: a\n";
  return `{\n  // mine\n  "${path[0]}": {\n    "a": { "command": "a" }\n  }\n}\n`;
}

for (const target of TARGETS) {
  const { name, format, entries } = target;

  describe(`trunkline setup ${name}`, () => {
    it("adds its entries to a file, once, and removes them to the byte", async () => {
      await using line = await commandLine();
      const file = target.file(placesOf(line.env));
      const own = ownText(target);
      await line.home.write(file, own);
      chmodSync(file, 0o644);
      assert.match((await line.run("setup", name)).out, /^Wrote '/);
      const text = readFileSync(file, "utf8");
      assert.equal(statSync(file).mode & 0o777, 0o644);
      assert.equal(readFileSync(`${file}.trunkline-backup`, "utf8"), own);
      assert.match(text, /mine/);
      for (const { path, role } of entries) {
        const entry = JSON.stringify(valueAt(format.read(text), path));
        const words = [...selfCommand(), role];
        for (const word of words) assert.ok(entry.includes(JSON.stringify(word)), entry);
      }
      assert.match((await line.run("setup", name)).out, /^Nothing to change: '/);
      const { code } = await line.run("setup", name, "--remove");
      assert.equal(code, 0);
      assert.equal(readFileSync(file, "utf8"), own);
      assert.equal(existsSync(`${file}.trunkline-backup`), false);
    });

    it("keeps all comments, and overwrites no backup", async () => {
      await using line = await commandLine();
      const file = target.file(placesOf(line.env));
      const own = ownText(target);
      await line.home.write(file, own);
      const mark = own.startsWith("{") ? "//" : "#";
      for (const round of [1, 2, 3]) {
        await line.run("setup", name);
        // Around each line of ours that a comment can stand beside.
        const lines = readFileSync(file, "utf8").split("\n");
        const ours = lines.findIndex((each) => /trunkline/i.test(each));
        lines.splice(ours, 0, `${/^\s*/.exec(lines[ours] ?? "")?.[0] ?? ""}${mark} round ${round}`);
        await line.home.write(file, lines.join("\n"));
        await line.run("setup", name, "--remove");
        const text = readFileSync(file, "utf8");
        for (let each = 1; each <= round; each++) assert.match(text, new RegExp(`round ${each}`));
        assert.match(text, /mine/);
        assert.equal(readFileSync(`${file}.trunkline-backup`, "utf8"), own, "the first one stays");
      }
    });

    it("creates its file for its owner alone, and removes it again", async () => {
      await using line = await commandLine();
      const file = target.file(placesOf(line.env));
      await line.run("setup", name);
      assert.equal(statSync(file).mode & 0o777, 0o600);
      if (target.noHttp === undefined) await line.run("setup", name, "--http");
      await line.run("setup", name, "--remove");
      assert.equal(existsSync(file), false);
    });

    it("keeps what was added to the file since", async () => {
      await using line = await commandLine();
      const file = target.file(placesOf(line.env));
      await line.run("setup", name);
      await line.home.write(
        file,
        format.set(readFileSync(file, "utf8"), ["later"], name === "codex" ? { a: "b" } : "b"),
      );
      await line.run("setup", name, "--remove");
      const { later, ...rest } = format.read(readFileSync(file, "utf8")) as Record<string, unknown>;
      assert.ok(later !== undefined);
      const start = target.start === undefined ? {} : (format.read(target.start) as object);
      assert.deepEqual(rest, start);
    });

    it("prints and shows what it would write, and writes nothing", async () => {
      await using line = await commandLine();
      const file = target.file(placesOf(line.env));
      const printed = await line.run("setup", name, "--print");
      assert.equal(printed.err, `In ${file}:\n`);
      for (const { path } of entries) assert.ok(valueAt(format.read(printed.out), path));
      assert.match((await line.run("setup", name, "--dry-run")).out, /\n\+ .*trunkline/i);
      assert.equal(existsSync(file), false);
    });

    it(
      target.noHttp === undefined ? "can use the gateway over HTTP" : "refuses --http",
      async () => {
        await using line = await commandLine();
        const file = target.file(placesOf(line.env));
        const ran = await line.run("setup", name, "--http");
        if (target.noHttp !== undefined) {
          assert.equal(ran.code, 2);
          assert.ok(ran.err.includes(target.noHttp), ran.err);
          return;
        }
        const text = readFileSync(file, "utf8");
        assert.match(text, /http:\/\/127\.0\.0\.1:4180\/mcp/);
        assert.equal(statSync(file).mode & 0o777, 0o600);
        const [token = ""] = /tlk_[\w-]{43}/.exec(text) ?? [];
        assert.doesNotMatch(ran.out + ran.err, /tlk_/);
        const tokens = new AccessTokens(line.home.data);
        assert.deepEqual(
          tokens.list().map(({ name: of, scopes }) => [of, scopes]),
          [[`setup-${name}`, ["tools", "review"]]],
        );
        assert.ok(token !== "");
        assert.match((await line.run("setup", name, "--http")).out, /^Nothing to change/);
        await line.run("setup", name, "--remove");
        assert.deepEqual(tokens.list(), []);
      },
    );
  });
}

describe("trunkline setup", () => {
  const codex = (line: SampleCommandLine): string => join(line.home.path, ".codex/config.toml");

  it("lists what is here, and exits with 1 while something is not set up", async () => {
    await using line = await commandLine();
    assert.deepEqual((await line.run("setup")).code, 0);
    mkdirSync(join(line.home.path, ".codex"));
    mkdirSync(join(line.home.path, ".cursor"));
    const before = await line.run("setup");
    assert.equal(before.code, 1);
    assert.match(
      before.out,
      /^PROGRAM +SET UP +FOUND\ncursor +no +.*\.cursor\ncodex +no +.*\.codex\n$/,
    );
    await line.run("setup", "codex");
    await line.run("setup", "cursor", "--http");
    const after = await line.run("setup");
    assert.deepEqual([after.code, after.err], [0, ""]);
    assert.match(after.out, /cursor +yes, over HTTP .*\ncodex +yes /);
    await line.home.write(codex(line), '[mcp_servers.trunkline]\ncommand = "/gone/trunkline"\n');
    assert.match((await line.run("setup")).out, /codex +yes, with another command: run it again/);
    await line.home.write(codex(line), "[broken\n");
    const { programs } = JSON.parse((await line.run("setup", "--json")).out) as {
      programs: { name: string; state: string; problem?: string }[];
    };
    const found = programs.find(({ name }) => name === "codex");
    assert.equal(found?.state, "unknown");
    assert.match(found?.problem ?? "", /it is not TOML \(line 1: illegal character in key\)/);
  });

  it("writes the configuration and data folder that it was given", async () => {
    await using line = await commandLine();
    line.env.TRUNKLINE_DATA = "/var/lib/trunkline";
    await line.run("setup", "cursor", "--config", line.home.userFile);
    const text = readFileSync(join(line.home.path, ".cursor/mcp.json"), "utf8");
    const { args } = (JSON.parse(text) as { mcpServers: { trunkline: { args: string[] } } })
      .mcpServers.trunkline;
    assert.deepEqual(args.slice(1), [
      "mcp",
      "--config",
      line.home.userFile,
      "--data",
      "/var/lib/trunkline",
    ]);
  });

  it("knows the programs that its help names", () => {
    const [{ choices = [] } = {}] = setup.args ?? [];
    const known = [...TARGETS.map(({ name }) => name), "neovim", "helix", "emacs", "lazygit"];
    assert.deepEqual(choices, known);
  });

  it("prints what to add to Helix and Emacs", async () => {
    await using line = await commandLine();
    const words = [...selfCommand(), "lsp"].map((word) => JSON.stringify(word));
    const helix = await line.run("setup", "helix");
    assert.ok(helix.out.includes(`command = ${words[0]}\nargs = [${words.slice(1).join(", ")}]`));
    const emacs = await line.run("setup", "emacs");
    assert.ok(emacs.out.includes(`(lsp-stdio-connection '(${words.join(" ")}))`), emacs.out);
  });

  it("prints Lua for Neovim", async () => {
    await using line = await commandLine();
    const { code, out, err } = await line.run("setup", "neovim");
    assert.equal(code, 0);
    assert.match(err, /Neovim has no file for this/);
    const [node, program] = selfCommand();
    assert.ok(
      out.includes(
        `acp_providers = {\n    trunkline = { command = "${node}", args = { "${program}", "acp" } }`,
      ),
      out,
    );
  });

  const refusals: readonly (readonly [
    what: string,
    says: RegExp,
    prepare: (file: string) => void,
  ])[] = [
    ["is read-only", /it is read-only\. Make it writable/, (file) => chmodSync(file, 0o400)],
    [
      "is a link that leads nowhere",
      /it is a link that leads nowhere/,
      (file) => replaceByLink(file, "/nowhere/config.toml"),
    ],
  ];
  for (const [what, says, prepare] of refusals) {
    it(`leaves a file alone that ${what}`, async () => {
      await using line = await commandLine();
      const file = codex(line);
      await line.home.write(file, "a = 1\n");
      prepare(file);
      const { code, err } = await line.run("setup", "codex", "--http");
      assert.equal(code, 1);
      assert.match(err, says);
      assert.deepEqual(new AccessTokens(line.home.data).list(), [], "no token is left behind");
    });
  }

  const isRoot = process.getuid?.() === 0;
  const why = isRoot ? false : "only root can give a file to somebody else: run it as root";
  it("leaves a file alone that belongs to another user", { skip: why }, async () => {
    await using line = await commandLine();
    await line.home.write(codex(line), "a = 1\n");
    chownSync(codex(line), 65_534, 65_534);
    const { code, err } = await line.run("setup", "codex");
    assert.equal(code, 1);
    assert.match(
      err,
      /it belongs to another user\. Add the entry where that file is made; --print/,
    );
    assert.equal(readFileSync(codex(line), "utf8"), "a = 1\n");
  });

  it("prints an entry although the file is broken", async () => {
    await using line = await commandLine();
    await line.home.write(codex(line), "[broken\n");
    const { code, out } = await line.run("setup", "codex", "--print");
    assert.deepEqual([code, out.startsWith("[mcp_servers.trunkline]\n")], [0, true]);
  });

  it("leaves bytes alone that are not text", async () => {
    await using line = await commandLine();
    await line.home.write(codex(line), "");
    const bytes = Buffer.from([0x61, 0x20, 0x3d, 0x20, 0x22, 0xff, 0x22, 0x0a]);
    writeFileSync(codex(line), bytes);
    assert.match((await line.run("setup", "codex")).err, /it is not UTF-8/);
    assert.deepEqual(readFileSync(codex(line)), bytes);
  });

  it("keeps a byte order mark", async () => {
    await using line = await commandLine();
    const file = join(line.home.path, ".cursor/mcp.json");
    await line.home.write(file, '\ufeff{\r\n  "mcpServers": {}\r\n}\r\n');
    await line.run("setup", "cursor");
    assert.match(
      readFileSync(file, "utf8"),
      /^\ufeff\{\r\n {2}"mcpServers": \{\r\n {4}"trunkline"/,
    );
  });

  for (const words of [
    ["cursor", "--user"],
    ["cursor", "--remote", "wss://x/acp"],
    ["cursor", "--print", "--dry-run"],
    ["cursor", "--print", "--remove"],
    ["--http"],
    ["jetbrains", "--name", "x"],
    ["lazygit", "--http"],
    ["neovim", "--remove"],
    ["cursor", "--yes"],
  ]) {
    it(`refuses '${words.join(" ")}' as wrong usage`, async () => {
      await using line = await commandLine();
      const { code, err } = await line.run("setup", ...words);
      assert.deepEqual([code, /^trunkline(?: setup)?: Cannot use /.test(err)], [2, true], err);
    });
  }
});

function replaceByLink(file: string, to: string): void {
  rmSync(file);
  mkdirSync(dirname(file), { recursive: true });
  symlinkSync(to, file);
}
