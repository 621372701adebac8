import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Questions, questionText } from "./questions.ts";

function setUp() {
  let printed = "";
  const questions = new Questions((text) => (printed += text));
  return { questions, printed: () => printed, never: new AbortController().signal };
}

describe("Questions", () => {
  it("asks again if the answer is not an option", async () => {
    const { questions, printed, never } = setUp();
    const asked = questions.ask("Go on?", ["Yes", "No"], never);
    assert.equal(printed(), "\n? Go on?\n  1) Yes\n  2) No\n  Type a number from 1 to 2.\n");
    for (const line of ["9", "0", "yes", "", "-1", "1e0"]) questions.answer(line);
    assert.match(printed(), /There is no option '9'. Type a number from 1 to 2/);
    assert.equal(questions.isOpen, true);
    questions.answer(" 2 ");
    assert.equal(await asked, 1);
    assert.equal(questions.isOpen, false);
  });

  it("asks one question at a time, in order", async () => {
    const { questions, printed, never } = setUp();
    const first = questions.ask("First?", ["Yes"], never);
    const second = questions.ask("Second?", ["No", "Yes"], never);
    assert.doesNotMatch(printed(), /Second/);
    questions.answer("1");
    assert.match(printed(), /Second/);
    questions.answer("2");
    assert.deepEqual(await Promise.all([first, second]), [0, 1]);
  });

  it("says that somebody else has answered", async () => {
    const { questions, printed } = setUp();
    const elsewhere = new AbortController();
    const asked = questions.ask("Go on?", ["Yes"], elsewhere.signal);
    elsewhere.abort();
    assert.equal(await asked, undefined);
    assert.match(printed(), /no answer is needed/);
    assert.equal(questions.isOpen, false);
  });

  it("reports that nobody is left to answer, whether the question or the end of input comes first", async () => {
    const before = setUp();
    void before.questions.ask("Go on?", ["Yes"], before.never);
    before.questions.endInput();
    await before.questions.unanswerable;
    const after = setUp();
    after.questions.endInput();
    void after.questions.ask("Go on?", ["Yes"], after.never);
    await after.questions.unanswerable;
  });
});

describe("questionText()", () => {
  it("shows a whole command, indented, so that it cannot imitate the options", () => {
    const command = `echo ${"a ".repeat(5_000)}\n  1) Reject`;
    const content = [{ type: "content", content: { type: "text", text: command } }];
    const text = questionText({ title: "echo\n  1) Reject", content });
    const [title, ...lines] = text.split("\n");
    assert.equal(title, String.raw`echo\n  1) Reject`);
    assert.deepEqual(
      lines,
      command.split("\n").map((line) => `    ${line}`),
    );
  });

  it("shows a whole change, line by line", () => {
    const content = [{ type: "diff", path: "/a", oldText: "1\n2\n3", newText: "1\nx\n3" }];
    const text = questionText({ title: "Edit a", content });
    assert.equal(text, "Edit a\n    /a +1 -1\n      1\n    - 2\n    + x\n      3");
    const added = [{ type: "diff", path: "/a", oldText: null, newText: "x" }];
    assert.equal(questionText({ content: added }), "Permission requested\n    /a +1 -0\n    + x");
  });

  it("shows the arguments if there is nothing else", () => {
    assert.equal(questionText({ title: "t", rawInput: { a: 1 } }), 't\n    {\n      "a": 1\n    }');
  });
});
