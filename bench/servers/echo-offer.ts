import { Offer } from "../../src/tool/offer/offer.ts";
import { textResult } from "../../src/tool/tool.ts";
import type { ToolboxOptions } from "../../src/tool/toolbox.ts";

/** An offer of one tool, which echoes its input. */
export function echoOffer(options: ToolboxOptions = {}): Offer {
  const offer = new Offer(options);
  const properties = { text: { type: "string" } };
  offer.tools.add({
    definition: {
      name: "echo",
      description: "Says the same",
      inputSchema: { type: "object", properties, required: ["text"] },
    },
    call: ({ text }) => textResult(String(text)),
  });
  return offer;
}
