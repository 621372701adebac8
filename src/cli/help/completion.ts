import type { Command, Invocation } from "../shell/command.ts";
import { bashScript } from "./bash.ts";
import { completionStates } from "./completion-states.ts";
import { fishScript } from "./fish.ts";
import { zshScript } from "./zsh.ts";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** `trunkline completion SHELL` */
export async function run({ positionals, data }: Invocation, program: Command): Promise<number> {
  // `choices` of the argument let no other word through.
  const script = SCRIPTS[positionals[0] as keyof typeof SCRIPTS];
  data(script(completionStates(program)));
  return 0;
}
