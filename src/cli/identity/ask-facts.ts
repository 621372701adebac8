import { TrunklineError } from "../../base/errors.ts";
import type { Invocation } from "../shell/command.ts";
import type { FactValues } from "./edit.ts";

const QUESTIONS = [
  { key: "provider", says: "Provider (github, gitlab, bitbucket, other)" },
  { key: "user", says: "User name there" },
  { key: "email", says: "Address for commits" },
  { key: "ssh-key", says: "Private ssh key (empty: none)" },
] as const;

/** Asks for what a command line left out, where a person is there to answer. */
export async function askMissing(invocation: Invocation<FactValues>): Promise<FactValues> {
  const { values } = invocation;
  const missing = QUESTIONS.filter(({ key }) => values[key] === undefined);
  const isNeeded = missing.some(({ key }) => key !== "ssh-key");
  if (!isNeeded || values.json || !process.stdin.isTTY || !process.stderr.isTTY) return values;
  const { createInterface } = await import("node:readline");
  // What is printed on stdout is for whoever reads it; a person reads stderr too.
  using lines = createInterface({ input: process.stdin, output: process.stderr });
  // Asking line by line would lose what is typed ahead.
  const typed = lines[Symbol.asyncIterator]();
  const answers: Record<string, string> = {};
  for (const { key, says } of missing) {
    lines.setPrompt(`${says}: `);
    lines.prompt();
    const line = await typed.next();
    if (line.done) throw new TrunklineError("cancelled", "Nothing was added: the answers ended");
    const answer = line.value.trim();
    if (key === "provider" && !/^(?:github|gitlab|bitbucket|other)$/.test(answer)) {
      throw new TrunklineError("usage", `'${answer}' is none of github, gitlab, bitbucket, other`);
    }
    if (answer !== "") answers[key] = answer;
  }
  return { ...values, ...answers };
}
