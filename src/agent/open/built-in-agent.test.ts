import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { openBuiltInAgent, reviewComments } from "./built-in-agent.ts";
import { JUGGLER_TOOLS } from "../../identity/tools/definitions.ts";
import { ReviewCommands } from "../../review/review-commands.ts";
import { REVIEW_TOOLS } from "../../review/tool-definitions.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { textResult } from "../../tool/tool.ts";
import { AgentRig, KEY } from "../../../test/agent/agent-rig.ts";
import { FakeLlm } from "../../../test/agent/fake-llm.ts";
import { REJECT } from "../../../test/agent/sample-turn.ts";
import { SampleHome } from "../../../test/samples/sample-home.ts";
import { AppContext } from "../../config/app-context.ts";

const SOURCE = { by: "ada", source: "test" };

describe("/fix-comments, with real reviews", () => {
  it("applies a suggestion whose lines have moved, and tells the reviewer", async () => {
    await using home = new AgentRig();
    const reviews = reviewComments(home.data);
    await using rig = new AgentRig({ reviews, files: { "a.ts": "one\ntwo\nthree\n" } });
    rig.commitAll();
    using commands = await ReviewCommands.open(home.data, rig.cwd);
    const fits = await commands.add({
      ...SOURCE,
      file: "a.ts",
      line: 2,
      comment: "a digit",
      suggestion: "2",
    });
    const vague = await commands.add({ ...SOURCE, file: "a.ts", line: 1, comment: "why?" });
    const gone = await commands.add({
      ...SOURCE,
      file: "a.ts",
      line: 3,
      comment: "short",
      suggestion: "3",
    });
    rig.write("a.ts", "zero\none\ntwo\nchanged\n");

    const { turn: refused } = await rig.turn({ prompt: "/fix-comments", decide: () => REJECT });
    assert.match(refused.text, /Applied 0 of 3/);
    assert.equal(rig.read("a.ts"), "zero\none\ntwo\nchanged\n");

    const { turn } = await rig.turn("/fix-comments");
    assert.equal(rig.read("a.ts"), "zero\none\n2\nchanged\n");
    assert.match(turn.text, /Applied 1 of 3/);
    assert.equal((await commands.show(fits.id)).state, "proposed");
    assert.equal((await commands.show(vague.id)).state, "open");
    assert.equal((await commands.show(gone.id)).state, "open");
    assert.match((await rig.turn("/review")).turn.text, /Open review comments:\n.*why\?/);
  });
});

describe("the file tools of the built-in agent", () => {
  it("do not reach the user's configuration and Trunkline's data in the workspace", async () => {
    await using home = await SampleHome.create();
    const { project } = home;
    const [file, data] = [join(project, "mine.jsonc"), join(project, "data")];
    const text = '{ "models": { "local": false } } // s3cret';
    await home.write(file, text);
    await home.write(join(data, "tokens.json"), "s3cret");
    await home.write(join(project, "token.key"), "s3cret");
    await home.write(join(project, "trunkline/compile/x"), "s3cret");
    await home.write(join(project, "a.txt"), "a s3cret of the project");
    const own = ["mine.jsonc", "data/tokens.json", "token.key", "trunkline/compile/x"];
    const toolCalls = [
      { name: "list_files", arguments: {} },
      { name: "search_files", arguments: { pattern: "s3cret" } },
      ...own.map((path) => ({ name: "read_file", arguments: { path } })),
      ...own.map((path) => ({ name: "write_file", arguments: { path, content: "{}" } })),
    ];
    await using llm = await FakeLlm.start([{ toolCalls }, { content: "Done." }]);
    const { config, files } = await home.load({ flags: { config: file, data } });
    const paths = files.map(({ path }) => path);
    const app = new AppContext(config, { files: paths, load: async () => config });
    const models = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${llm.url}/v1` };
    const env = { HOME: home.path, XDG_CACHE_HOME: project, ...models };
    const agent = openBuiltInAgent(app, {
      offer: async () => new Offer(),
      audit: { record: () => {} },
      env,
    });
    await using rig = new AgentRig({ agent });
    await rig.turnOf(await rig.open({ cwd: project }), "go");
    const said = (llm.requests[1]?.messages ?? []).filter(({ role }) => role === "tool");
    const [listed, found, ...refused] = said.map(({ content }) => String(content));
    assert.equal(listed, ".git/\na.txt");
    assert.equal(found, "a.txt:1: a s3cret of the project");
    assert.equal(refused.length, 2 * own.length);
    for (const each of refused) assert.match(each, /it belongs to Trunkline itself/);
    assert.equal(await readFile(file, "utf8"), text);
  });
});

describe("the tools that the model of the built-in agent is sent", () => {
  const offer = new Offer();
  for (const definition of [...JUGGLER_TOOLS, ...REVIEW_TOOLS]) {
    offer.tools.add({ definition, call: () => textResult("Called.") });
  }
  const sizes = (llm: FakeLlm): number[] => {
    return llm.requests.map(({ tools }) => JSON.stringify(tools).length);
  };

  it("are few until it asks for more of them", async () => {
    await using llm = await FakeLlm.start([
      { content: "Hi." },
      { toolCalls: [{ name: "more_tools", arguments: { groups: ["identities", "reviews"] } }] },
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm, offer: async () => offer });
    const session = await rig.open();
    await rig.turnOf(session, "rename this function");
    assert.ok(
      !llm.tools.some((name) => /^(?:juggler|review|check)_/.test(name)),
      llm.tools.join(" "),
    );
    await rig.turnOf(session, "go on");
    assert.deepEqual(
      [...JUGGLER_TOOLS, ...REVIEW_TOOLS].map(({ name }) => name).toSorted(),
      llm.tools.filter((name) => /^(?:juggler|review|check)_/.test(name)).toSorted(),
    );
    const [few = 0, , all = 0] = sizes(llm);
    assert.ok(few < all / 2, `${few} of ${all} bytes`);
  });

  it("include those for reviews if there are open comments, and those that a prompt is about", async () => {
    await using llm = await FakeLlm.start([{ content: "Hi." }]);
    await using home = new AgentRig();
    const reviews = reviewComments(home.data);
    const parts = { llm, reviews, offer: async () => offer };
    await using rig = new AgentRig({ ...parts, files: { "a.ts": "one\n" } });
    rig.commitAll();
    await rig.turn("Which identity commits here?");
    assert.ok(llm.tools.includes("juggler_status") && !llm.tools.includes("review_list"));
    using commands = await ReviewCommands.open(home.data, rig.cwd);
    await commands.add({ ...SOURCE, file: "a.ts", line: 1, comment: "why?" });
    await rig.turn("go");
    assert.ok(!llm.tools.includes("juggler_status") && llm.tools.includes("review_list"));
  });
});
