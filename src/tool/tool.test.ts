import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Policy } from "./policy.ts";
import {
  type Arguments,
  type Project,
  type RepositoryFolders,
  type RepositoryOf,
  resolveProject,
  textResult,
  type ToolContext,
  type ToolResult,
} from "./tool.ts";
import { SampleContext, sampleTool } from "../../test/samples/sample-context.ts";
import { Toolbox, type ToolboxOptions } from "./toolbox.ts";

/** Folders to be in: `one` and `two` are repositories, `link` leads to `one`. */
class Folders implements Disposable {
  readonly top = realpathSync(mkdtempSync(join(tmpdir(), "trunkline-project-")));
  readonly one = this.#make("one");
  readonly deep = this.#make("one/deep");
  readonly two = this.#make("two");
  readonly plain = this.#make("plain");
  readonly other = this.#make("other");
  readonly link = join(this.top, "link");

  constructor() {
    symlinkSync(this.one, this.link);
  }

  readonly repositoryOf = (folder: string): RepositoryFolders | undefined => {
    const top = [this.one, this.two].find(
      (each) => folder === each || folder.startsWith(`${each}/`),
    );
    return top === undefined ? undefined : { top, gitFolders: [join(top, ".git")] };
  };

  resolve(
    where: { folder?: string; roots?: readonly string[] },
    args: Arguments = {},
    isAbout = true,
  ): Promise<Project> {
    const use = isAbout ? { argument: "repoPath" } : undefined;
    return resolveProject(use, args, new SampleContext(where), this.repositoryOf);
  }

  #make(name: string): string {
    const path = join(this.top, name);
    mkdirSync(path);
    return path;
  }

  [Symbol.dispose](): void {
    rmSync(this.top, { recursive: true });
  }
}

describe("resolveProject()", () => {
  it("looks up a folder anew for each call", async () => {
    using at = new Folders();
    const folderOf = async (folder: string): Promise<unknown> =>
      (await resolveProject(undefined, {}, { folder }, () => undefined)).folder;
    assert.equal(await folderOf(at.link), at.one);
    rmSync(at.link);
    symlinkSync(at.two, at.link);
    assert.equal(await folderOf(at.link), at.two);
  });

  it("uses the argument, then the client's roots, then the caller's folder", async () => {
    using at = new Folders();
    const where = { folder: at.plain, roots: [at.two] };
    const folderOf = async (...asked: Parameters<Folders["resolve"]>): Promise<unknown> => {
      const { folder, folders, source } = await at.resolve(...asked);
      assert.deepEqual(folders, folder === undefined ? [] : [folder]);
      return [folder, source];
    };
    assert.deepEqual(await folderOf(where, { repoPath: at.one }), [at.one, "argument"]);
    assert.deepEqual(await folderOf(where), [at.two, "roots"]);
    assert.deepEqual(await folderOf({ folder: at.plain, roots: [] }), [at.plain, "folder"]);
    assert.deepEqual(await folderOf({ folder: at.plain }), [at.plain, "folder"]);
    assert.deepEqual(await folderOf({}), [undefined, undefined]);
  });

  it("asks nobody if the argument gives the project", async () => {
    using at = new Folders();
    const context = Object.assign(new SampleContext(), {
      roots: () => assert.fail("The client was asked"),
    });
    const args = { repoPath: at.one };
    const found = await resolveProject({ argument: "repoPath" }, args, context, at.repositoryOf);
    assert.equal(found.folder, at.one);
  });

  it("uses real paths", async () => {
    using at = new Folders();
    for (const where of [{ folder: at.link }, { roots: [at.link] }]) {
      assert.equal((await at.resolve(where)).folder, at.one);
    }
    const new_ = join(at.link, "new");
    assert.equal((await at.resolve({}, { repoPath: new_ })).folder, join(at.one, "new"));
    assert.equal((await at.resolve({ roots: [at.one, at.link] })).folder, at.one);
  });

  it("resolves a relative argument from the caller's folder, and from nowhere else", async () => {
    using at = new Folders();
    const args = { repoPath: "../two" };
    assert.equal((await at.resolve({ roots: [at.one] }, args)).folder, at.two);
    assert.equal((await at.resolve({ folder: at.one }, args)).folder, at.two);
    const { folder, problem } = await at.resolve({}, args);
    assert.equal(folder, undefined);
    assert.match(
      problem ?? "",
      /^'\.\.\/two' is not an absolute path, and the client does not say/,
    );
    assert.equal((await at.resolve({ roots: [at.one, at.two] }, args)).folder, undefined);
  });

  it("uses the project that the tool derives from its arguments before their text", async () => {
    using at = new Folders();
    const find = async ({ id }: Arguments): Promise<string | undefined> =>
      id === "in two" ? at.two : undefined;
    const use = { argument: "repoPath", find };
    const context = new SampleContext({ folder: at.plain });
    const resolved = async (args: Arguments): Promise<string | undefined> =>
      (await resolveProject(use, args, context, at.repositoryOf)).folder;
    assert.equal(await resolved({ id: "in two", repoPath: at.one }), at.two);
    assert.equal(await resolved({ repoPath: at.one }), at.one);
    assert.equal(await resolved({}), at.plain);
  });

  it("chooses among several roots the one that is a repository", async () => {
    using at = new Folders();
    const found = await at.resolve({ roots: [at.plain, at.one, at.other] });
    assert.deepEqual([found.folder, found.folders], [at.one, [at.one]]);
    const same = await at.resolve({ roots: [at.plain, at.deep, at.one] });
    assert.equal(same.folder, at.one, "two folders of one repository");
  });

  it("chooses none of several repositories, and lists them", async () => {
    using at = new Folders();
    const several = await at.resolve({ roots: [at.one, at.two], folder: at.plain });
    assert.equal(several.folder, undefined);
    assert.equal(several.problem, `the client has several roots: ${at.one}, ${at.two}`);
    const none = await at.resolve({ roots: [at.plain, at.other] });
    assert.equal(none.folder, undefined);
    assert.match(none.problem ?? "", /^none of the client's roots is in a git repository: /);
    assert.deepEqual(none.folders, [at.plain, at.other]);
  });
});

/** What a tool is told of where it works, and what its caller is answered. */
async function call(
  at: Folders,
  context: SampleContext,
  args: Arguments = {},
  options: ToolboxOptions & { readonly isAbout?: boolean } = {},
): Promise<{ readonly project?: string | undefined; readonly text: string }> {
  let project: string | undefined;
  const { isAbout = true, ...rest } = options;
  const tool = sampleTool(
    "act",
    (_: Arguments, { project: given }: ToolContext): ToolResult => {
      project = given?.folder;
      return textResult("done");
    },
    isAbout ? { project: { argument: "repoPath" } } : {},
  );
  const box = new Toolbox({ repositoryOf: at.repositoryOf, ...rest });
  box.add(tool);
  const { content } = await box.call("act", args, context);
  return { project, text: String(content[0]?.text) };
}

describe("a toolbox", () => {
  it("lets a tool work in the call's project, and refuses the call if there is none", async () => {
    using at = new Folders();
    const { project } = await call(at, new SampleContext({ roots: [at.two], folder: at.one }));
    assert.equal(project, at.two);
    const refused = await call(at, new SampleContext());
    assert.deepEqual(refused, {
      project: undefined,
      text:
        "Cannot tell which repository 'act' is to work on: the client does not say which folder " +
        "it works in. Give its absolute path as 'repoPath', or configure one folder as the " +
        "client's root.",
    });
    const several = await call(at, new SampleContext({ roots: [at.one, at.two] }));
    assert(several.text.includes(`several roots: ${at.one}, ${at.two}. Give its`), several.text);
    const named = await call(at, new SampleContext({ roots: [at.one, at.two] }), {
      repoPath: at.two,
    });
    assert.equal(named.project, at.two);
  });

  it("records the project of a call", async () => {
    using at = new Folders();
    const projects: unknown[] = [];
    const audit = { record: (entry: { project?: unknown }) => void projects.push(entry.project) };
    await call(at, new SampleContext({ roots: [at.link], folder: at.two }), {}, { audit });
    await call(at, new SampleContext({ folder: at.two }), {}, { audit, isAbout: false });
    await call(at, new SampleContext({ roots: [at.one, at.two] }), {}, { audit });
    assert.deepEqual(projects, [at.one, at.two, undefined]);
  });

  it("restricts a principal that is limited to folders", async () => {
    using at = new Folders();
    const principal = { id: "token 1", name: "laptop", limits: { folders: [at.link] } };
    const text = async (where: object, args: Arguments = {}): Promise<string> => {
      const context = new SampleContext({ caller: { principal }, ...where });
      return (await call(at, context, args)).text;
    };
    assert.equal(await text({ roots: [at.deep] }), "done");
    assert.equal(await text({}, { repoPath: at.one }), "done");
    const refused = new RegExp(`^'laptop' may not use the folder '${at.two}'`);
    assert.match(await text({ roots: [at.two] }), refused);
    assert.match(await text({ roots: [at.one] }, { repoPath: at.two }), refused);
    assert.match(await text({ roots: [at.one, at.two] }), refused);
    assert.match(await text({}), /^The call does not say which folder it is about/);
  });

  it("keeps a principal that is limited to folders from a repository that is not in them", async () => {
    using at = new Folders();
    const text = async (repositoryOf: RepositoryOf, folders: string[]): Promise<string> => {
      const principal = { id: "token 1", name: "laptop", limits: { folders } };
      const context = new SampleContext({ caller: { principal }, roots: [at.deep] });
      return (await call(at, context, {}, { repositoryOf })).text;
    };
    const refused = (place: string): RegExp =>
      new RegExp(`^'laptop' may not use the repository of '${at.deep}', which is in '${place}'`);
    assert.match(await text(at.repositoryOf, [at.deep]), refused(at.one));
    // As `.git` is a file that names another folder.
    const elsewhere = (): RepositoryFolders => ({ top: at.deep, gitFolders: [at.two] });
    assert.match(await text(elsewhere, [at.one]), refused(at.two));
    assert.equal(await text(elsewhere, [at.one, at.two]), "done");
  });

  it("restricts a principal that is limited to repositories", async () => {
    using at = new Folders();
    const limits = { repositories: ["https://example.org/*"] };
    const principal = { id: "token 1", name: "laptop", limits };
    const addressesOf = async (folder: string): Promise<string[]> =>
      folder === at.one ? ["https://example.org/one"] : ["https://elsewhere.org/two"];
    const text = async (roots: readonly string[]): Promise<string> => {
      const context = new SampleContext({ caller: { principal }, roots });
      return (await call(at, context, {}, { addressesOf })).text;
    };
    assert.equal(await text([at.one]), "done");
    assert.match(
      await text([at.two]),
      /^'laptop' may not use the repository in .*elsewhere\.org\/two$/,
    );
    assert.match(await text([]), /^The call does not say which folder it is about/);
  });

  it("cancels a call while the client is asked for its roots", async () => {
    using at = new Folders();
    const context = new SampleContext();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    Object.assign(context, { roots: () => promise });
    const answer = call(at, context);
    context.abort.abort(new Error("gone"));
    resolve(undefined);
    assert.deepEqual(await answer, { project: undefined, text: "'act' was cancelled" });
  });

  describe("with a policy for a project", () => {
    const policyFor = (project: string, decision: "allow" | "deny" = "deny"): Policy =>
      new Policy({
        default: decision === "deny" ? "allow" : "deny",
        rules: [{ tool: "*", project, decision }],
      });
    for (const isAbout of [true, false]) {
      const which = isAbout ? "a tool that works on it" : "a tool that knows of no projects";
      it(`applies it to ${which}, whatever gives the project of the call`, async () => {
        using at = new Folders();
        const text = async (where: object, rule: string): Promise<string> => {
          const policy = policyFor(rule);
          return (await call(at, new SampleContext(where), {}, { policy, isAbout })).text;
        };
        for (const where of [{ folder: at.one }, { roots: [at.one] }, { roots: [at.deep] }]) {
          assert.match(await text(where, at.one), /does not let tester/);
          assert.equal(await text(where, at.two), "done");
        }
      });
    }

    it("compares real paths, of the rule and of the project", async () => {
      using at = new Folders();
      for (const [root, rule] of [
        [at.one, at.link],
        [at.link, at.one],
        [join(at.link, "deep"), at.one],
      ] as const) {
        const policy = policyFor(rule);
        const { text } = await call(at, new SampleContext({ roots: [root] }), {}, { policy });
        assert.match(text, /does not let tester/, `${root} in ${rule}`);
      }
    });

    it("uses the argument before the client's roots", async () => {
      using at = new Folders();
      const context = new SampleContext({ roots: [at.two] });
      const policy = policyFor(at.one);
      const { text } = await call(at, context, { repoPath: at.link }, { policy });
      assert.match(text, /does not let tester/);
    });

    it("denies if any of several roots is in it, and allows if all are", async () => {
      using at = new Folders();
      const both = { roots: [at.one, at.two] };
      const text = async (policy: Policy): Promise<string> =>
        (await call(at, new SampleContext(both), {}, { policy, isAbout: false })).text;
      assert.match(await text(policyFor(at.one)), /does not let/);
      assert.match(await text(policyFor(at.one, "allow")), /does not let/);
      assert.equal(await text(policyFor(at.top, "allow")), "done");
    });

    it("asks the client for its roots only if that decides", async () => {
      using at = new Folders();
      const context = new SampleContext();
      let asked = 0;
      Object.assign(context, { roots: async () => [[at.one], [at.one]][asked++] });
      const rules = [
        { tool: "other", project: at.one, decision: "deny" as const },
        { tool: "act", decision: "allow" as const },
        { tool: "*", project: at.one, decision: "deny" as const },
      ];
      const policy = new Policy({ default: "deny", rules });
      assert.equal((await call(at, context, {}, { policy, isAbout: false })).text, "done");
      assert.equal(asked, 0);
    });
  });
});
