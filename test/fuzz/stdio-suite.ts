import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { fuzzCount, fuzzTimeout, seeded } from "./fuzz-run.ts";
import { StdioFuzzer } from "./fuzz-stdio.ts";
import { measuredProgram } from "./measured-program.ts";
import { acpVocabulary, FUZZ_CONFIG } from "./vocabulary-acp.ts";
import { mcpVocabulary } from "./vocabulary-mcp.ts";

/** The program under so many lines on each of its standard streams. */
export function fuzzStdio(usual: number): void {
  const count = fuzzCount(usual);

  describe("hostile lines on stdio", { timeout: fuzzTimeout(count) }, () => {
    it(`MCP: ${count} lines, each request answered, no stall, no growth`, async (t) => {
      const random = seeded(t, 1);
      const program = measuredProgram(["mcp"]);
      const fuzzer = new StdioFuzzer(program, {
        random,
        count,
        vocabulary: mcpVocabulary(),
        // It is asked again and again to speak another revision, and only one has batches.
        ledger: { batches: "perhaps", silences: "notifications/cancelled" },
        probe: { method: "ping", params: {} },
      });
      t.diagnostic(await fuzzer.run());
    });

    it(`ACP: ${count} lines, each request answered, no stall, no growth`, async (t) => {
      const random = seeded(t, 2);
      const program = measuredProgram(["acp", "--config", "config.jsonc"]);
      writeFileSync(join(program.home, "config.jsonc"), JSON.stringify(FUZZ_CONFIG));
      const begin = { cwd: program.home, mcpServers: [] };
      program.write(
        { jsonrpc: "2.0", id: 0, method: "initialize", params: { protocolVersion: 1 } },
        { jsonrpc: "2.0", id: 1, method: "session/new", params: begin },
        { jsonrpc: "2.0", id: 2, method: "session/new", params: begin },
      );
      const sessions: string[] = [];
      await program.until(({ lines }) => {
        for (const line of lines.splice(0)) {
          const { result } = JSON.parse(line) as { result?: { sessionId?: string } };
          if (result?.sessionId !== undefined) sessions.push(result.sessionId);
        }
        return sessions.length === 2;
      });
      const fuzzer = new StdioFuzzer(program, {
        random,
        count,
        vocabulary: acpVocabulary({ cwd: program.home, sessions }),
        ledger: { nullIdIsNotification: true },
        probe: { method: "session/list", params: { cursor: "none" } },
      });
      t.diagnostic(await fuzzer.run());
    });
  });
}
