import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { PROGRAM } from "../commands.ts";
import { bashScript, completionStates, fishScript, type State, zshScript } from "./completion.ts";
import { allPaths, callOf, last } from "../shell/command.ts";
import { sampleProgram } from "../../../test/samples/sample-program.ts";

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
  readonly generate: (states: readonly State[]) => string;
  /** Starts a shell that reads the script, and prints what it offers for each line. */
  readonly offer: (lines: readonly string[]) => readonly [program: string, ...args: string[]];
}

const bash: Shell = {
  generate: bashScript,
  offer: (lines) => {
    const ask = `
      source "$SCRIPT"
      while (($# > 0)); do
        COMP_WORDS=("\${@:2:$1}") COMP_CWORD=$(($1 - 1)) COMPREPLY=()
        shift $(($1 + 1))
        _trunkline
        printf '%s\\n' "\${COMPREPLY[@]}" "$END"
      done`;
    const words = lines.map((line) => bashWords(line));
    const counted = words.flatMap((some) => [String(some.length), ...some]);
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
  generate: zshScript,
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
  generate: fishScript,
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
  const env = { ...process.env, SCRIPT: script, END, HOME: cwd, XDG_CONFIG_HOME: cwd };
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

for (const [name, shell] of Object.entries({ bash, zsh, fish })) {
  const { generate } = shell;
  const skip = isInstalled(name) ? false : `${name} is missing: apt-get install ${name}`;

  test(`completion in ${name} offers the words that may follow`, { skip }, async (t) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-completion-"));
    const script = join(folder.path, "_trunkline");
    await writeFile(script, generate(completionStates(sampleProgram())));
    await writeFile(join(folder.path, "notes.jsonc"), "");
    await writeFile(join(folder.path, "draft.txt"), "");
    await mkdir(join(folder.path, "docs"));
    const offered = await offers(shell, script, Object.keys(OFFERED));
    assert.equal(offered.length, Object.keys(OFFERED).length);
    for (const [at, [line, words]] of Object.entries(OFFERED).entries()) {
      await t.test(line, () => assert.deepEqual(offered[at], words));
    }
  });

  test(`completion in ${name} knows every command of Trunkline`, { skip }, async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-completion-"));
    const script = join(folder.path, ".script");
    await writeFile(script, generate(completionStates(PROGRAM)));
    const paths = allPaths([PROGRAM]).filter((path) => last(path).commands);
    const names = paths.map((path) => (last(path).commands ?? []).map((command) => command.name));
    assert.deepEqual(
      await offers(
        shell,
        script,
        paths.map((path) => `${callOf(path)} `),
      ),
      names.map((some) => some.toSorted()),
    );
  });

  test(`completion for ${name} names every command and option`, () => {
    const script = generate(completionStates(sampleProgram()));
    for (const word of ["remove", "circle", "pretty", "port", "verbose", "config"]) {
      assert.match(script, new RegExp(String.raw`\b${word}\b`));
    }
  });
}

test("only `help` is completed with the commands of the program", () => {
  const commands = new Set(allPaths([PROGRAM]).map(callOf));
  const others = completionStates(PROGRAM).filter(({ path }) => !commands.has(path));
  for (const { path } of others) assert.match(path, /^trunkline help /);
});

test("a plugin is completed as a file", () => {
  const state = completionStates(PROGRAM).find(({ path }) => path === "trunkline plugin add");
  assert.equal(state?.args[0]?.value.kind, "files");
});
