import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { it } from "node:test";

import { sampleLines, SampleRepository } from "../../../test/samples/sample-review-repository.ts";
import { until } from "../../../test/support/until.ts";
import { LspDoor } from "../../protocol/lsp/door.ts";
import { EditorReviews } from "../../review/editor-reviews.ts";
import { notification, request } from "../../rpc/method.ts";
import { Peer } from "../../rpc/peer.ts";
import { jugglerDialect } from "../../protocol/juggler/serve.ts";
import { route, routes } from "../../rpc/route.ts";
import { Reviews } from "../../store/review/reviews.ts";
import { memoryPair } from "../../wire/channel/memory.ts";

interface Diagnostic {
  readonly range: {
    readonly start: { readonly line: number };
    readonly end: { readonly line: number };
  };
  readonly severity: number;
  readonly code: string;
  readonly message: string;
}

interface Action {
  readonly title: string;
  readonly command: { readonly command: string; readonly arguments: unknown[] };
}

interface Edit {
  readonly edit: {
    readonly changes: Record<
      string,
      { readonly range: Diagnostic["range"]; readonly newText: string }[]
    >;
  };
}

/** An editor, as far as it matters here, over the door with real reviews. */
class Editor implements AsyncDisposable {
  readonly diagnostics = new Map<string, readonly Diagnostic[]>();
  readonly messages: string[] = [];
  readonly edits: Edit[] = [];
  readonly #door: LspDoor;
  readonly #reviews: EditorReviews;
  readonly #peers: Peer[];
  readonly #shown: string[] = [];

  constructor(reviews: Reviews, showsDocuments: boolean) {
    this.#reviews = new EditorReviews(reviews, "ada");
    this.#door = new LspDoor(this.#reviews, (error) => assert.fail(String(error)));
    const [near, far] = memoryPair();
    const server = new Peer(near, undefined, this.#door.options);
    this.#door.speakTo(server);
    const client = new Peer(far, undefined, {
      dialect: jugglerDialect,
      routes: routes(
        route(
          notification<{ uri: string; diagnostics: Diagnostic[] }>(
            "textDocument/publishDiagnostics",
          ),
          ({ uri, diagnostics }) => void this.diagnostics.set(uri, diagnostics),
        ),
        route(notification<{ message: string }>("window/showMessage"), ({ message }) => {
          this.messages.push(message);
        }),
        route(request<Edit, object>("workspace/applyEdit"), (edit) => {
          this.edits.push(edit);
          return { applied: true };
        }),
        route(request<{ uri: string }, object>("window/showDocument"), ({ uri }) => {
          this.#shown.push(fileURLToPath(uri));
          return { success: showsDocuments };
        }),
      ),
    });
    this.#peers = [client, server];
  }

  static async open(sample: SampleRepository, showsDocuments = true): Promise<Editor> {
    const editor = new Editor(await Reviews.open(sample.data), showsDocuments);
    await editor.ask("initialize", {
      rootUri: pathToFileURL(sample.root).href,
      capabilities: { window: { showDocument: { support: showsDocuments } } },
    });
    editor.tell("initialized", {});
    return editor;
  }

  ask<T>(name: string, params: object): Promise<T> {
    return (this.#peers[0] as Peer).request(request<object, T>(name), params);
  }

  tell(name: string, params: object): void {
    void this.#peers[0]?.notify(notification<object>(name), params);
  }

  async actions(uri: string, line: number): Promise<Map<string, Action>> {
    const range = { start: { line, character: 0 }, end: { line, character: 0 } };
    const params = { textDocument: { uri }, range, context: { diagnostics: [] } };
    const found = await this.ask<Action[]>("textDocument/codeAction", params);
    return new Map(found.map((action) => [action.title, action]));
  }

  async run(action: Action | undefined): Promise<void> {
    await this.ask("workspace/executeCommand", action?.command ?? {});
  }

  /** The file that it was asked to show. */
  async shown(): Promise<string> {
    await until(() => this.#shown.length > 0);
    return this.#shown.shift() ?? "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#door[Symbol.asyncDispose]();
    for (const peer of this.#peers) await peer.close();
    this.#reviews[Symbol.dispose]();
  }
}

async function sampleThread(sample: SampleRepository, suggestion?: string): Promise<string> {
  using commands = await sample.commands();
  const comment = { file: "a.txt", line: 10, comment: "Why?", severity: "must" } as const;
  return (await commands.add({ ...comment, suggestion, by: "bob", source: "test" })).id;
}

const lineOf = (diagnostics: readonly Diagnostic[] = []): number[] =>
  diagnostics.map(({ range }) => range.start.line + 1);

it("shows threads as diagnostics, which follow the text while it is typed", async () => {
  using sample = new SampleRepository();
  sample.write("a.txt", sampleLines(20));
  sample.commit();
  const id = await sampleThread(sample);
  await using editor = await Editor.open(sample);
  const uri = pathToFileURL(join(sample.root, "a.txt")).href;
  // Before any file is open.
  await until(() => editor.diagnostics.has(uri));
  const text = sampleLines(20);
  editor.tell("textDocument/didOpen", { textDocument: { uri, version: 1, text } });
  const [shown] = editor.diagnostics.get(uri) ?? [];
  assert.deepEqual([shown?.code, shown?.severity, shown?.message], [id, 1, "bob: Why?"]);
  for (const [version, text, line] of [
    [2, `one\ntwo\n${sampleLines(20)}`, 12],
    [3, sampleLines(20).replace("number 10 of", "number 10 now of"), 10],
    [4, "nothing of it\n", 1],
    [5, sampleLines(20), 10],
  ] as const) {
    const contentChanges = [{ text }];
    editor.tell("textDocument/didChange", { textDocument: { uri, version }, contentChanges });
    await until(() => lineOf(editor.diagnostics.get(uri))[0] === line);
    const isGone = version === 4;
    assert.equal(/lines are gone/.test(editor.diagnostics.get(uri)?.[0]?.message ?? ""), isGone);
  }
  using commands = await sample.commands();
  await commands.say("reply", id, { by: "agent", role: "agent", text: "Because." });
  await until(() => editor.diagnostics.get(uri)?.[0]?.message === "bob: Why?\nagent: Because.");
  await commands.say("resolve", id, { by: "bob", role: "person" });
  await until(() => editor.diagnostics.get(uri)?.length === 0);
});

it("resolves a thread, and applies a suggestion in a text that is not saved", async () => {
  using sample = new SampleRepository();
  sample.write("a.txt", sampleLines(20));
  sample.commit();
  const [id, other] = [await sampleThread(sample, "better\nlines"), await sampleThread(sample)];
  await using editor = await Editor.open(sample);
  const uri = pathToFileURL(join(sample.root, "a.txt")).href;
  const text = `one\n${sampleLines(20)}`;
  editor.tell("textDocument/didOpen", { textDocument: { uri, version: 1, text } });
  await until(() => lineOf(editor.diagnostics.get(uri)).join() === "11,11");
  const actions = await editor.actions(uri, 10);
  await editor.run(actions.get(`Apply the suggestion of ${id}`));
  const range = { start: { line: 10, character: 0 }, end: { line: 11, character: 0 } };
  assert.deepEqual(editor.edits[0]?.edit.changes, {
    [uri]: [{ range, newText: "better\nlines\n" }],
  });
  await editor.run(actions.get(`Resolve ${other}`));
  await until(() => editor.diagnostics.get(uri)?.length === 0);
  assert.equal(readFileSync(join(sample.root, "a.txt"), "utf8"), sampleLines(20));
  using commands = await sample.commands();
  assert.deepEqual(
    (await commands.list()).map(({ state }) => state),
    ["resolved", "resolved"],
  );
  await assert.rejects(
    editor.run(actions.get(`Resolve ${other}`)),
    /there is no unresolved thread/,
  );
  await assert.rejects(
    editor.ask("workspace/executeCommand", { command: "rm", arguments: [other] }),
    /no unresolved thread/,
  );
});

it("comments and replies by files that are saved, once each, on lines that are not saved", async () => {
  using sample = new SampleRepository();
  sample.write("a.txt", sampleLines(20));
  sample.commit();
  const id = await sampleThread(sample);
  await using editor = await Editor.open(sample);
  const uri = pathToFileURL(join(sample.root, "a.txt")).href;
  const text = `one\n${sampleLines(20)}`;
  editor.tell("textDocument/didOpen", { textDocument: { uri, version: 1, text } });
  await until(() => lineOf(editor.diagnostics.get(uri))[0] === 11);
  await editor.run((await editor.actions(uri, 10)).get(`Reply to ${id}`));
  const reply = await editor.shown();
  assert.match(readFileSync(reply, "utf8"), /^\n# -+ >8 -+\n(?:# .*\n)+# bob: Why\?\n$/);
  writeFileSync(reply, `Please\n${readFileSync(reply, "utf8")}`);
  await until(() => editor.messages.includes(`Replied to ${id}.`));
  writeFileSync(reply, "Please!\n");
  await until(() => editor.messages.some((message) => /was not sent/.test(message)));
  await editor.run((await editor.actions(uri, 0)).get("Comment on line 1"));
  const comment = await editor.shown();
  writeFileSync(comment, "First\n");
  await until(() => lineOf(editor.diagnostics.get(uri)).includes(1));
  using commands = await sample.commands();
  const threads = await commands.list();
  assert.deepEqual(
    threads.map((thread) => [thread.comment, thread.by, thread.quote]),
    [
      ["Why?", "bob", ["line number 10 of this file"]],
      ["First", "ada", ["one"]],
    ],
  );
  assert.deepEqual(
    (await commands.show(id)).replies?.map((said) => said.text),
    ["Please"],
  );
});

it("names the file to write in where an editor shows none", async () => {
  using sample = new SampleRepository();
  sample.write("a.txt", sampleLines(20));
  sample.commit();
  await using editor = await Editor.open(sample, false);
  const uri = pathToFileURL(join(sample.root, "a.txt")).href;
  await editor.run((await editor.actions(uri, 3)).get("Comment on line 4"));
  await until(() => /^Write it in \/.*\.md, and save the file\.$/.test(editor.messages[0] ?? ""));
});
