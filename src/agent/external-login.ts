import { SessionError } from "../session/session-error.ts";

interface Agent {
  readonly name: string;
  readonly commandLine: string;
}

/** Says how to log in to an agent that wants that: only the person can, with its own program. */
export function explainLogin(
  error: unknown,
  { name, commandLine }: Agent,
  methods: readonly Readonly<Record<string, unknown>>[],
): unknown {
  if (!(error instanceof SessionError) || error.problem !== "auth-required") return error;
  const ways = methods.map(({ name: way, id, type, args }) => {
    const run = type === "terminal" && Array.isArray(args) ? [commandLine, ...args].join(" ") : "";
    return `${String(way ?? id)}${run === "" ? "" : ` (run: ${run})`}`;
  });
  const offers = ways.length === 0 ? "" : ` It offers: ${ways.join(", ")}.`;
  const says = `Agent '${name}' wants you to log in.${offers} Do that with its own program, or give it the key that it reads (\`agents.${name}.env\`); then try again.`;
  return new SessionError("auth-required", says, error.data, { cause: error });
}
