import { setValue, unsetValue } from "../../config/edit/set-value.ts";
import type { Invocation } from "../shell/command.ts";
import { type EditValues, kindOf, inputOf, tellEdited } from "./edit-entry.ts";

/** `trunkline config set KEY VALUE` */
export async function set(invocation: Invocation<EditValues>): Promise<number> {
  const [key = "", value = ""] = invocation.positionals;
  const edited = await setValue(inputOf(invocation), kindOf(invocation), key, value);
  return tellEdited(invocation, edited, `Set '${key}' in`);
}

/** `trunkline config unset KEY` */
export async function unset(invocation: Invocation<EditValues>): Promise<number> {
  const [key = ""] = invocation.positionals;
  const edited = await unsetValue(inputOf(invocation), kindOf(invocation), key);
  return tellEdited(invocation, edited, `Removed '${key}' from`);
}
