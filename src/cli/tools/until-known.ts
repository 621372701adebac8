import type { OpenedTools } from "../../gateway/tool/open-tools.ts";
import { visibleLine } from "../../base/text/visible.ts";

/**
 * Waits until all servers have said what they have, or have failed to. A person can wait longer than
 * an assistant, which gives up on a list after some seconds: whom it is waited for is told.
 */
export async function untilKnown(
  { offer }: Pick<OpenedTools, "offer">,
  tell: (line: string) => void,
): Promise<void> {
  await offer.known();
  let arrival = offer.arrival();
  if (arrival !== undefined) {
    for (const { why } of offer.missing()) tell(`Waiting: ${visibleLine(why)}.\n`);
  }
  for (; arrival !== undefined; arrival = offer.arrival()) await arrival;
}
