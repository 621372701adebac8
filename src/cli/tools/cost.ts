import { visibleLine } from "../../base/text/visible.ts";
import { instructionsFor } from "../../app/tool/instructions.ts";
import { TERMINAL } from "./terminal-caller.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import { costOf, costOfTool, type Cost, sumOf } from "../../tool/profile/tool-cost.ts";
import { type Profile, serverOf } from "../../tool/profile/profile.ts";
import type { Invocation, Values } from "../shell/command.ts";

/** Something that costs a model tokens. */
interface Line extends Cost {
  readonly name: string;
}

/** What a client gets at its start. */
interface Costs {
  readonly tools: readonly (Line & { readonly server: string })[];
  readonly servers: readonly (Line & { readonly tools: number })[];
  readonly instructions: Cost;
  readonly total: Cost;
}

/** Prints what the lists of tools cost a model: of all, or of a profile. */
export function printCost(
  { values, out }: Invocation<Values & { readonly json?: boolean }>,
  offer: Offer,
  profile: Profile | undefined,
): number {
  const costs = costsOf(offer, profile);
  const profiles = profile === undefined ? profileLines(offer) : [];
  if (values.json === true) {
    out(`${JSON.stringify({ ...costs, profiles }, null, 2)}\n`);
    return 0;
  }
  const sections: (readonly [string, readonly Line[]])[] = [
    ["tool", costs.tools],
    ["server", costs.servers],
    [
      "in all",
      [
        { name: "instructions", ...costs.instructions },
        { name: "total", ...costs.total },
      ],
    ],
    ["with the profile", profiles],
  ];
  const shown = sections.filter(([, lines]) => lines.length > 0);
  const names = shown.flatMap(([title, lines]) => [title, ...lines.map(({ name }) => name)]);
  const width = Math.max(...names.map((name) => visibleLine(name).length));
  const row = (name: string, bytes: string, tokens: string): string =>
    `${visibleLine(name).padEnd(width)}  ${bytes.padStart(9)}  ${tokens.padStart(9)}\n`;
  const tables = shown.map(([title, lines]) => {
    const rows = lines.map(({ name, bytes, tokens }) => row(name, counted(bytes), counted(tokens)));
    return row(title, "bytes", "~tokens") + rows.join("");
  });
  out(
    `${tables.join("\n")}\nTokens are estimated: bytes of JSON / 4. A model's own count may differ by a third.\n`,
  );
  return 0;
}

function costsOf(offer: Offer, profile: Profile | undefined): Costs {
  const listed = offer.tools.listFor({ caller: TERMINAL, profile });
  const tools = listed
    .map((tool) => ({ name: tool.definition.name, server: serverOf(tool), ...costOfTool(tool) }))
    .toSorted((one, other) => other.bytes - one.bytes);
  const servers = [...Map.groupBy(tools, ({ server }) => server)]
    .map(([name, all]) => ({ name, tools: all.length, ...sumOf(all) }))
    .toSorted((one, other) => other.bytes - one.bytes);
  const instructions = costOf(instructionsFor(offer, profile));
  return { tools, servers, instructions, total: sumOf([...tools, instructions]) };
}

function profileLines(offer: Offer): Line[] {
  return (offer.profiles?.names ?? []).map((name) => {
    return { name, ...costsOf(offer, offer.profiles?.get(name)).total };
  });
}

function counted(count: number): string {
  return count.toLocaleString("en");
}
