import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { PROGRAM } from "../commands.ts";
import { bashScript } from "./bash.ts";
import { fishScript } from "./fish.ts";
import { completionStates, type State } from "./completion.ts";
import { zshScript } from "./zsh.ts";
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

type Offer = (script: string, line: string, folder: string) => Promise<string[]>;

interface Shell {
  readonly generate: (states: readonly State[]) => string;
  /** The words that the shell offers for the line once it has read the script. */
  readonly offer: Offer;
}

const bash: Shell = {
  generate: bashScript,
  offer: (script, line, folder) => {
    const ask = `
      source "$SCRIPT"
      COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
      _trunkline
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    return output("bash", ["--norc", "-u", "-c", ask, "bash", ...bashWords(line)], script, folder);
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
 */
const zsh: Shell = {
  generate: zshScript,
  offer: (script, line, folder) => {
    const ask = String.raw`
      export INSIDE='
        PROMPT= RPROMPT=
        unsetopt beep prompt_cr prompt_sp
        fpath=("$HOME" $fpath)
        autoload -Uz compinit && compinit -u -d "$HOME/.zcompdump"
        # Both ways to install it: found in fpath by its name, and sourced.
        if [[ $SCRIPT != */_trunkline ]]; then source "$SCRIPT"; fi
        bindkey "^I" complete-word
        zstyle ":completion:*" insert-tab false
        mark() { print -n "\0" }
        compprefuncs=(mark) comppostfuncs=(mark exit)
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
      zpty -n -w shell "$1"$'\t'
      zpty -r shell ignored $'*\0'
      zpty -r shell offered $'*\0'
      print -rn -- "$offered"
      zpty -d shell`;
    return output("zsh", ["-f", "-c", ask, "zsh", line], script, folder);
  },
};

const fish: Shell = {
  generate: fishScript,
  offer: (script, line, folder) => {
    const ask = 'source "$SCRIPT"; complete -C "$argv[1]"';
    return output("fish", ["--no-config", "-c", ask, line], script, folder);
  },
};

/** The first column of what a shell prints: fish describes its offers in a second. */
async function output(shell: string, args: string[], script: string, folder: string) {
  const env = { ...process.env, SCRIPT: script, HOME: folder, XDG_CONFIG_HOME: folder };
  const { stdout } = await execute(shell, args, { cwd: folder, env, timeout: 30_000 });
  const lines = stdout.replaceAll("\0", "").split(/\r?\n/);
  const words = lines.map((line) => line.replace(/\t.*/, "").replace(/^--[a-z]+=|\/$/g, ""));
  return [...new Set(words.filter((word) => word !== ""))].toSorted();
}

async function isInstalled(shell: string): Promise<boolean> {
  return execute(shell, ["--version"]).then(
    () => true,
    () => false,
  );
}

for (const [name, { generate, offer }] of Object.entries({ bash, zsh, fish })) {
  const skip = (await isInstalled(name)) ? false : `${name} is missing: apt-get install ${name}`;

  test(`completion in ${name} offers the words that may follow`, { skip }, async (t) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-completion-"));
    const script = join(folder.path, "_trunkline");
    await writeFile(script, generate(completionStates(sampleProgram())));
    await writeFile(join(folder.path, "notes.jsonc"), "");
    await writeFile(join(folder.path, "draft.txt"), "");
    await mkdir(join(folder.path, "docs"));
    for (const [line, words] of Object.entries(OFFERED)) {
      await t.test(line, async () => {
        assert.deepEqual(await offer(script, line, folder.path), words);
      });
    }
  });

  test(`completion in ${name} knows every command of Trunkline`, { skip }, async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-completion-"));
    const script = join(folder.path, ".script");
    await writeFile(script, generate(completionStates(PROGRAM)));
    for (const path of allPaths([PROGRAM]).filter((path) => last(path).commands)) {
      const names = (last(path).commands ?? []).map((command) => command.name);
      assert.deepEqual(await offer(script, `${callOf(path)} `, folder.path), names.toSorted());
    }
  });

  test(`completion for ${name} names every command and option`, () => {
    const script = generate(completionStates(sampleProgram()));
    for (const word of ["remove", "circle", "pretty", "port", "verbose", "config"]) {
      assert.match(script, new RegExp(String.raw`\b${word}\b`));
    }
  });
}
