import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";

import { type ReviewSettings, ReviewTools } from "../../src/review/review-tools.ts";
import type { ThreadView } from "../../src/review/thread-view.ts";
import type { Arguments, Project, ToolResult } from "../../src/tool/tool.ts";
import { SampleContext } from "./sample-context.ts";
import { sampleLines, SampleRepository } from "./sample-review-repository.ts";

const SETTINGS: ReviewSettings = { batch: 10, first: "newest", lease: 900 };

/** A repository with an agent's tools for it. */
export class Reviewing implements AsyncDisposable {
  readonly sample: SampleRepository;
  readonly tools: ReviewTools;

  private constructor(sample: SampleRepository, tools: ReviewTools) {
    this.sample = sample;
    this.tools = tools;
  }

  static async begin(
    sample = new SampleRepository(),
    settings: Partial<ReviewSettings> = {},
    folder = sample.root,
  ): Promise<Reviewing> {
    sample.write("a.txt", sampleLines(20));
    const report = (error: unknown): void => assert.fail(error as Error);
    return new Reviewing(
      sample,
      new ReviewTools(await sample.commands(folder), { ...SETTINGS, ...settings }, report),
    );
  }

  async add(comment: string, line = 5): Promise<string> {
    using commands = await this.sample.commands();
    return (await commands.add({ file: "a.txt", line, comment, by: "ada", source: "test" })).id;
  }

  async call(
    name: string,
    args: Arguments = {},
    context = new SampleContext(),
  ): Promise<ToolResult> {
    context.project ??= inFolder(this.sample.root);
    const result = await this.tools.call(name, args, context);
    // The answer leaves at the end of the turn.
    for (let n = 0; n < 4; n++) await turn();
    return result;
  }

  async text(name: string, args: Arguments = {}, context = new SampleContext()): Promise<string> {
    return String((await this.call(name, args, context)).content[0]?.text);
  }

  async threads(name: string, args: Arguments = {}, by = "tester"): Promise<ThreadView[]> {
    const { structuredContent } = await this.call(
      name,
      args,
      new SampleContext({ caller: { name: by } }),
    );
    return (structuredContent as { threads: ThreadView[] }).threads;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tools[Symbol.asyncDispose]();
    this.sample[Symbol.dispose]();
  }
}

/** The project of a client that works in a folder. */
export function inFolder(folder: string, source: Project["source"] = "roots"): Project {
  return { folder, folders: [folder], ...(source === undefined ? {} : { source }) };
}

/** The comments in an answer of `check_lazygit_messages`. */
export function commentsIn(text: string): string[] {
  return [...text.matchAll(/^Comment: (.*)$/gm)].map(([, comment = ""]) => comment);
}
