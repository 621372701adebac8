import type { Invocation } from "../shell/command.ts";
import { PROGRAM } from "../commands.ts";
import { completionStates, type State } from "./states.ts";

type Shell = "bash" | "zsh" | "fish";
type Generate = (states: readonly State[]) => string;

const GENERATORS: Record<Shell, () => Promise<Generate>> = {
  bash: async () => (await import("./bash.ts")).bashScript,
  zsh: async () => (await import("./zsh.ts")).zshScript,
  fish: async () => (await import("./fish.ts")).fishScript,
};

export async function run({ positionals, data }: Invocation): Promise<number> {
  // The table lets no other word through.
  const generate = await GENERATORS[positionals[0] as Shell]();
  data(generate(completionStates(PROGRAM)));
  return 0;
}
