// Long: real shells complete words.
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { PROGRAM } from "../commands.ts";
import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";
import { SessionLog } from "../../store/session/session-log.ts";
import { SCRIPTS } from "./completion.ts";
import { allPaths, callOf, endOf, offeredBy } from "../shell/command.ts";

const execute = promisify(execFile);

/** What is typed when Tab is pressed, and the words that are then offered. */
const OFFERED: Readonly<Record<string, readonly string[]>> = {
  "trunkline ": ["draw", "help", "serve", "store"],
  "trunkline s": ["serve", "store"],
  "trunkline store item ": ["add", "remove"],
  "trunkline --verbose store --data docs item r": ["remove"],
  "trunkline serve --p": ["--port"],
  "trunkline serve -p store --j": ["--json"],
  "trunkline serve --verb": ["--verbose"],
  "trunkline draw circle --style ": ["plain", "pretty"],
  "trunkline draw --style=pr": ["pretty"],
  "trunkline draw ": ["circle", "square"],
  "trunkline draw circle n": ["notes.jsonc"],
  "trunkline draw --tag circle circle notes.jsonc n": ["notes.jsonc"],
  "trunkline --config n": ["notes.jsonc"],
  "trunkline --config=n": ["notes.jsonc"],
  "trunkline --config=notes.jsonc se": ["serve"],
  "trunkline draw --config n": [],
  "trunkline serve --data d": ["docs"],
  "trunkline store item remove d": ["docs"],
  "trunkline --data serve se": ["serve"],
  "trunkline --mode ": ["draw", "serve"],
  "trunkline help store ": ["item"],
  "trunkline help serve s": [],
  "trunkline serve s": [],
  "trunkline nonsense s": [],
};

/** Between what a shell offers for one line and for the next. */
const END = "\x01";

interface Shell {
  /** Starts a shell that reads the script, and prints what it offers for each line. */
  readonly offer: (lines: readonly string[]) => readonly [program: string, ...args: string[]];
}

const bash: Shell = {
  offer: (lines) => {
    const ask = `
      source "$SCRIPT"
      while (($# > 0)); do
        COMP_LINE=$2 COMP_POINT=\${#2}
        COMP_WORDS=("\${@:3:$1}") COMP_CWORD=$(($1 - 1)) COMPREPLY=()
        shift $(($1 + 2))
        _trunkline
        printf '%s\\n' "\${COMPREPLY[@]}" "$END"
      done`;
    const counted = lines.flatMap((line) => {
      const words = bashWords(line);
      return [String(words.length), line, ...words];
    });
    return ["bash", "--norc", "-u", "-c", ask, "bash", ...counted];
  },
};

/** As readline splits a line: "=" is a word of its own. */
function bashWords(line: string): string[] {
  const words = line.match(/=|[^\s=]+/g) ?? [];
  return line.endsWith(" ") ? [...words, ""] : words;
}

/**
 * An interactive shell on a pseudo-terminal, since zsh completes nowhere else. It says NUL when it
 * is ready, when it begins to complete, and when it has done so; in between, it prints its offers.
 * Ctrl-U then removes the line.
 */
const zsh: Shell = {
  offer: (lines) => {
    const ask = String.raw`
      export INSIDE='
        PROMPT= RPROMPT=
        unsetopt beep prompt_cr prompt_sp auto_list
        fpath=("$HOME" $fpath)
        autoload -Uz compinit && compinit -u -d "$HOME/.zcompdump"
        # Both ways to install it: found in fpath by its name, and sourced.
        if [[ $SCRIPT != */_trunkline ]]; then source "$SCRIPT"; fi
        bindkey "^I" complete-word
        bindkey "^U" kill-whole-line
        zstyle ":completion:*" insert-tab false
        # They are called once, unless they are set again.
        mark() { compprefuncs=(mark) comppostfuncs=(mark); print -n "\0" }
        compadd() {
          if [[ $@[1,(i)(-|--)] != *-(O|A|D)\ * ]]; then
            local -a hits
            builtin compadd -A hits "$@"
            if (($#hits)); then print -rl -- $hits; fi
          fi
          builtin compadd "$@"
        }
        mark'
      zmodload zsh/zpty
      zpty shell 'zsh -f -i'
      zpty -w shell 'eval "$INSIDE"'
      zpty -r shell ignored $'*\0'
      for line; do
        zpty -n -w shell "$line"$'\t'
        zpty -r shell ignored $'*\0'
        zpty -r shell offered $'*\0'
        print -rl -- "$offered" "$END"
        zpty -n -w shell $'\x15'
      done
      zpty -d shell`;
    return ["zsh", "-f", "-c", ask, "zsh", ...lines];
  },
};

const fish: Shell = {
  offer: (lines) => {
    const ask = `source "$SCRIPT"
      for line in $argv
        complete -C "$line"
        echo "$END"
      end`;
    return ["fish", "--no-config", "-c", ask, ...lines];
  },
};

/** The words that a shell offers for each line. */
async function offers(shell: Shell, script: string, lines: readonly string[]): Promise<string[][]> {
  const cwd = dirname(script);
  const [program, ...args] = shell.offer(lines);
  const path = `${cwd}:${process.env.PATH}`;
  const env = { ...process.env, PATH: path, SCRIPT: script, END, HOME: cwd, XDG_CONFIG_HOME: cwd };
  const { stdout } = await execute(program, args, { cwd, env, timeout: 120_000 });
  const offered = stdout.split(`${END}\n`);
  assert.equal(offered.pop(), "");
  return offered.map((text) => wordsOf(text));
}

/** The first column of what a shell prints: fish describes its offers in a second. */
function wordsOf(text: string): string[] {
  const lines = text.replaceAll("\0", "").split(/\r?\n/);
  const words = lines.map((line) => line.replace(/\t.*/, "").replace(/^--[a-z]+=|\/$/g, ""));
  return [...new Set(words.filter((word) => word !== ""))].toSorted();
}

const isInstalled = (shell: string): boolean => spawnSync(shell, ["--version"]).status === 0;

/** The program that the scripts call, with the sample's commands. */
const SAMPLE = `#!${process.execPath}
import { run } from ${JSON.stringify(import.meta.resolve("./completion.ts"))};
import { sampleProgram } from ${JSON.stringify(import.meta.resolve("../../../test/samples/sample-program.ts"))};
const [, shell, , ...words] = process.argv.slice(2);
await run({ positionals: [shell, ...words], data: (text) => process.stdout.write(text) }, sampleProgram());
`;

for (const [name, shell] of Object.entries({ bash, zsh, fish })) {
  const skip = isInstalled(name) ? false : `${name} is missing: apt-get install ${name}`;

  // Both ways to install zsh's: found in fpath by its name, and sourced.
  for (const file of name === "zsh" ? ["_trunkline", ".script"] : [".script"]) {
    test(
      `completion in ${name} by ${file} offers the words that may follow`,
      { skip },
      async (t) => {
        await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-completion-"));
        const script = join(folder.path, file);
        await writeFile(script, SCRIPTS[name as keyof typeof SCRIPTS]);
        await writeFile(join(folder.path, "trunkline"), SAMPLE, { mode: 0o755 });
        await writeFile(join(folder.path, "notes.jsonc"), "");
        await writeFile(join(folder.path, "draft.txt"), "");
        await mkdir(join(folder.path, "docs"));
        const offered = await offers(shell, script, Object.keys(OFFERED));
        assert.equal(offered.length, Object.keys(OFFERED).length);
        for (const [at, [line, words]] of Object.entries(OFFERED).entries()) {
          await t.test(line, () => assert.deepEqual(offered[at], words));
        }
      },
    );
  }
}

/** What the program offers after these words. */
async function offeredAfter(line: SampleCommandLine, ...words: string[]): Promise<string[]> {
  const { code, out, err } = await line.run("completion", "bash", "--", ...words);
  assert.equal(code, 0, err);
  return out.split("\n").filter((each) => each !== "");
}

test("completion knows every command and option of Trunkline", async () => {
  await using line = await SampleCommandLine.create();
  for (const path of allPaths([PROGRAM])) {
    const words = path.slice(1).map(({ name }) => name);
    const { commands, options = {} } = endOf(path);
    if (commands !== undefined) {
      assert.deepEqual(
        await offeredAfter(line, ...words, ""),
        offeredBy(endOf(path)).map(({ name }) => name),
      );
    }
    const flags = await offeredAfter(line, ...words, "--");
    for (const name of [...Object.keys(options), "config", "help"]) {
      assert.ok(flags.includes(`--${name}`), `${callOf(path)} --${name}`);
    }
  }
});

test("a plugin is completed as a file", async () => {
  await using line = await SampleCommandLine.create();
  assert.deepEqual(await offeredAfter(line, "plugin", "add", ""), [":files"]);
});

test("names of the person's things are completed, but none that a shell would run", async () => {
  const program = { command: "true" };
  await using line = await SampleCommandLine.create({
    mcpServers: { files: program, "$(touch owned)": program, "-x": program, "a b": program },
    agents: { claude: program },
    profiles: { reading: {} },
  });
  await using log = await SessionLog.open(line.home.data);
  await log.create({ id: "s1", cwd: "/", agent: "trunkline", title: "Do it", notes: {} });
  const cases: [string[], string[]][] = [
    [["server", "test", ""], ["files"]],
    [["tool", "approve", "--server", ""], ["files"]],
    [
      ["chat", "--agent", "c"],
      ["trunkline", "claude"],
    ],
    [["tool", "list", "--profile="], ["reading"]],
    [["session", "show", ""], ["s1"]],
    [["identity", "switch", ""], []],
  ];
  for (const [words, offered] of cases) {
    assert.deepEqual(await offeredAfter(line, ...words), offered, words.join(" "));
  }
});
