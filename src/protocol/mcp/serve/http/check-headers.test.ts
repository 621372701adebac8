import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Toolbox } from "../../../../tool/toolbox.ts";
import { textResult } from "../../../../tool/tool.ts";
import {
  headerProblem,
  paramHeaderProblem,
  saysTheSame,
  versionMismatch,
} from "./modern-requests.ts";
import { accepts } from "./reply.ts";
import { covers } from "../../../../../test/support/requirement.ts";

const MISMATCH = -32020;

describe("accepts()", () => {
  it("accepts a media type by its name, its group or any", () => {
    const yes = ["text/event-stream", "a/b, TEXT/Event-Stream;q=0.1", "text/*", "*/*;q=0.8"];
    for (const header of yes) assert.ok(accepts(header, "text/event-stream"), header);
    const no = [undefined, "", "application/json", "text/event-streams", "application/*"];
    for (const header of no) assert.ok(!accepts(header, "text/event-stream"), header ?? "none");
  });
});

describe("headerProblem()", () => {
  /** Whether `Mcp-Name` is taken for the name of a tool. */
  const isTaken = (header: string | undefined, name: string): boolean => {
    const headers = {
      "mcp-method": "tools/call",
      ...(header === undefined ? {} : { "mcp-name": header }),
    };
    const problem = headerProblem(headers, "tools/call", { name });
    if (problem !== undefined) assert.equal(problem.code, MISMATCH);
    return problem === undefined;
  };

  it("requires the method to be repeated", () => {
    assert.equal(headerProblem({}, "tools/list", {})?.code, MISMATCH);
    const other = headerProblem({ "mcp-method": "tools/call" }, "tools/list", {});
    assert.match(other?.message ?? "", /Mcp-Method header 'tools\/call' does not match/);
    assert.equal(headerProblem({ "mcp-method": "tools/list" }, "tools/list", {}), undefined);
  });

  it("requires the name to be repeated, for methods that have one", () => {
    assert.ok(isTaken("echo", "echo"));
    assert.ok(!isTaken(undefined, "echo"));
    assert.ok(!isTaken("Echo", "echo"));
    const read = { "mcp-method": "resources/read" };
    assert.equal(headerProblem(read, "resources/read", { uri: "a:b" })?.code, MISMATCH);
    // Its parameters are refused later, for what they lack.
    assert.equal(headerProblem(read, "resources/read", {}), undefined);
  });

  it("takes a value literally unless it is wrapped on both sides", () => {
    const plain = ["Hello", "SGVsbG8=", "=?base64?SGVsbG8=", "SGVsbG8=?=", "=?BASE64?YQ==?="];
    for (const value of plain) assert.ok(isTaken(value, value), value);
  });

  it("decodes a wrapped value", () => {
    covers("mcp.modern-http.encoding");
    for (const text of ["", "Hello", "Zürich", " padded ", "日本", "=?base64?x?="]) {
      const wrapped = `=?base64?${Buffer.from(text).toString("base64")}?=`;
      assert.ok(isTaken(wrapped, text), text);
    }
  });

  it("refuses base64 that is not canonical, or not UTF-8", () => {
    for (const inner of ["SGVsbG8", "SGVs!!!bG8=", "SGVsbG8-", "a", "/w=="]) {
      const header = `=?base64?${inner}?=`;
      assert.ok(!isTaken(header, "Hello") && !isTaken(header, header), inner);
    }
  });
});

describe("paramHeaderProblem()", () => {
  const tools = new Toolbox();
  const marked = (type: string, header: string) => ({ type, "x-mcp-header": header });
  tools.add({
    definition: {
      name: "query",
      inputSchema: {
        type: "object",
        properties: { region: marked("string", "Region"), limit: marked("number", "Limit") },
      },
    },
    call: () => textResult(""),
  });
  const problem = (headers: Record<string, string>, args: object): number | undefined =>
    paramHeaderProblem(headers, tools, { name: "query", arguments: args })?.code;

  it("requires arguments to be repeated that the tool's schema marks", () => {
    assert.equal(problem({ "mcp-param-region": "eu" }, { region: "eu" }), undefined);
    assert.equal(problem({ "mcp-param-region": "us" }, { region: "eu" }), MISMATCH);
    assert.equal(problem({}, { region: "eu" }), MISMATCH);
  });

  it("compares numbers by their value, and requires nothing for missing arguments", () => {
    assert.equal(problem({ "mcp-param-limit": "1e1" }, { limit: 10 }), undefined);
    assert.equal(problem({ "mcp-param-limit": "" }, { limit: 0 }), MISMATCH);
    assert.equal(problem({}, { region: null }), undefined);
  });

  it("leaves an unknown tool to the handler of the call", () => {
    assert.equal(paramHeaderProblem({}, tools, { name: "none", arguments: {} }), undefined);
  });
});

describe("saysTheSame()", () => {
  it("compares texts exactly, numbers by value, booleans by name", () => {
    assert.ok(saysTheSame("a", "a") && !saysTheSame("A", "a"));
    assert.ok(saysTheSame("42.0", 42) && !saysTheSame("43", 42) && !saysTheSame("", 0));
    assert.ok(saysTheSame("true", true) && !saysTheSame("True", true));
  });
});

it("versionMismatch() gives the values of the header and the body", () => {
  assert.match(versionMismatch(undefined, "2026-07-28").message, /is missing.*'2026-07-28'/);
  assert.match(versionMismatch("2030-01-01", "2026-07-28").message, /'2030-01-01' does not match/);
});
