import { appendFileSync, chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { SampleRepository } from "./sample-repository.ts";

/** Every hook that commands of git may run on this side (githooks(5)). */
const HOOKS = [
  ...["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-index-change"],
  ...["reference-transaction", "post-checkout", "post-merge", "post-rewrite", "pre-auto-gc"],
];

/** The ways to a promisor remote, each with a program of its own. */
const REMOTES = {
  ext: "ext::CANARY",
  ssh: "ssh://git@localhost:1/none.git",
  uploadpack: "file:///nonexistent.git",
} as const;

/**
 * A repository as a stranger might have packed it: whatever git can be configured to run leaves a
 * file behind when it runs.
 */
export class HostileRepository extends SampleRepository {
  readonly #canaries = join(this.home, "canaries");
  /** A bare repository among the files. */
  readonly embedded = join(this.path, "vendor/lib.git");
  /** A repository among the files that they do not know of. */
  readonly nested = join(this.path, "nested");
  readonly submodule = join(this.path, "sub");

  constructor() {
    super();
    mkdirSync(this.#canaries);
    this.write("app/a.txt", "one\n");
    this.write("app/b.bin", "one\n");
    this.write("app/c.odd", "one\n");
    this.write("app/d.empty", "one\n");
    this.run("add", "-A");
    this.commit();
    this.#addSubmodule();
    this.#sign(this.path);
    this.#addEmbedded();
    this.#addNested();
    this.#configure();
    this.#addAttributes();
    this.#change();
  }

  /** What was run since it was last asked. */
  fired(): string[] {
    const names = readdirSync(this.#canaries).toSorted();
    for (const name of names) rmSync(join(this.#canaries, name));
    return names;
  }

  /** Changes every file and not its size, so that git has to look into it. */
  #change(): void {
    for (const name of ["a.txt", "b.bin", "c.odd", "d.empty"]) {
      this.write(`app/${name}`, "two\n");
    }
    this.write("app/sub/s.txt", "2\n");
  }

  /** Takes an object away that git would fetch from a remote of the stranger's. */
  lose(path: string, way: keyof typeof REMOTES): void {
    const id = this.run("rev-parse", `HEAD:${path}`);
    rmSync(join(this.path, ".git/objects", id.slice(0, 2), id.slice(2)), { force: true });
    this.run("config", "core.repositoryFormatVersion", "1");
    this.#append(join(this.path, ".git/config"), {
      extensions: ["partialClone = far"],
      'remote "far"': [
        "promisor = true",
        `url = ${REMOTES[way].replace("CANARY", this.#canary("ext"))}`,
        `uploadpack = ${this.#canary("uploadpack")}`,
      ],
      'protocol "ext"': ["allow = always"],
    });
    this.fired();
  }

  /** A program that leaves a file of its name, and does for the rest what is expected of it. */
  #canary(name: string): string {
    const isFilter = /clean|smudge|process/.test(name);
    const work = isFilter ? "cat" : name.endsWith("textconv") ? 'cat "$1"' : "exit 0";
    const script = `#!/bin/sh\ntouch '${join(this.#canaries, name)}'\n${work}\n`;
    const path = this.write(`programs/${name}`, script);
    chmodSync(path, 0o755);
    return path;
  }

  /** At once: git would take a process for each value. */
  #configure(): void {
    const canary = (name: string): string => this.#canary(name);
    const commands = ["status", "diff", "log", "show", "rev-parse", "cat-file", "ls-files", "st"];
    this.#append(join(this.path, ".git/config"), {
      core: [
        ...["fsmonitor", "pager", "editor", "askPass"].map((key) => `${key} = ${canary(key)}`),
        `sshCommand = ${canary("ssh")}`,
        `hooksPath = ${this.#addHooks()}`,
      ],
      pager: [`status = ${canary("pager-status")}`, `diff = ${canary("pager-diff")}`],
      alias: commands.map((name) => `${name} = !${canary(`alias-${name}`)}`),
      credential: [`helper = !${canary("credential")}`],
      gpg: [`program = ${canary("gpg")}`],
      log: ["showSignature = true"],
      'filter "plain"': [
        `clean = ${canary("clean")}`,
        `smudge = ${canary("smudge")}`,
        "required = true",
      ],
      'filter "long"': [`process = ${canary("process")}`],
      'filter "a=b.c"': [`clean = ${canary("clean-odd")}`],
      'filter ""': [`clean = ${canary("clean-empty")}`],
      diff: [`external = ${canary("diff-external")}`, "submodule = diff"],
      'diff "shown"': [`textconv = ${canary("textconv")}`],
      'diff "driven"': [`command = ${canary("diff-command")}`],
      'submodule "sub"': ["ignore = none"],
      submodule: ["recurse = true"],
      status: ["submoduleSummary = true"],
    });
  }

  #append(file: string, sections: Readonly<Record<string, readonly string[]>>): void {
    const text = Object.entries(sections).map(
      ([name, lines]) => `[${name}]\n${lines.join("\n")}\n`,
    );
    appendFileSync(file, text.join(""));
  }

  #addAttributes(): void {
    const lines = [
      "*.txt filter=plain diff=shown",
      "*.bin filter=long",
      "*.odd filter=a=b.c diff=driven",
    ];
    this.write("app/.git/info/attributes", `${lines.join("\n")}\n`);
    this.write("app/.gitattributes", "*.empty filter=\n");
  }

  /** Returns the folder that they are in. */
  #addHooks(): string {
    const folder = join(this.home, "hooks");
    mkdirSync(folder);
    for (const name of HOOKS) {
      const script = `#!/bin/sh\n'${this.#canary(`hook-${name}`)}' </dev/null\nexit 0\n`;
      writeFileSync(join(folder, name), script, { mode: 0o755 });
    }
    return folder;
  }

  /** One that is at another commit than is recorded, and changed besides. */
  #addSubmodule(): void {
    const origin = join(this.home, "origin");
    this.runIn(this.home, "init", "-q", "-b", "main", origin);
    writeFileSync(join(origin, "s.txt"), "one\n");
    this.runIn(origin, "add", "-A");
    this.commit(origin);
    const local = ["-c", "protocol.file.allow=always"];
    this.run(...local, "submodule", "--quiet", "add", origin, "sub");
    this.commit();
    writeFileSync(join(this.submodule, "s.txt"), "1\n");
    this.runIn(this.submodule, "add", "-A");
    this.commit(this.submodule);
    this.#sign(this.submodule);
    const gitDir = join(this.path, ".git/modules/sub");
    writeFileSync(join(gitDir, "info/attributes"), "* filter=inner diff=inner\n");
    const sections = {
      core: [`fsmonitor = ${this.#canary("sub-fsmonitor")}`],
      gpg: [`program = ${this.#canary("sub-gpg")}`],
      log: ["showSignature = true"],
      'filter "inner"': [`clean = ${this.#canary("sub-clean")}`],
      'diff "inner"': [`textconv = ${this.#canary("sub-textconv")}`],
    };
    this.#append(join(gitDir, "config"), sections);
  }

  /** Has the last commit say that it is signed. */
  #sign(folder: string): void {
    const text = this.runIn(folder, "cat-file", "commit", "HEAD");
    const signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----";
    const file = this.write("commit", text.replace("\n\n", `\n${signature}\n\n`));
    const id = this.runIn(folder, "hash-object", "-t", "commit", "-w", file);
    this.runIn(folder, "update-ref", "HEAD", id);
  }

  #addEmbedded(): void {
    this.runIn(this.path, "init", "-q", "--bare", this.embedded);
    const set = (key: string, value: string): string =>
      this.runIn(this.embedded, "config", "--file", join(this.embedded, "config"), key, value);
    set("core.bare", "false");
    set("core.worktree", this.embedded);
    set("core.fsmonitor", this.#canary("embedded"));
  }

  #addNested(): void {
    this.runIn(this.path, "init", "-q", this.nested);
    this.write("app/nested/n.txt", "one\n");
    this.runIn(this.nested, "add", "-A");
    this.commit(this.nested);
    this.runIn(this.nested, "config", "core.fsmonitor", this.#canary("nested"));
  }
}
