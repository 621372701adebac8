import type { Command, Runner } from "../../src/cli/shell/command.ts";

/**
 * A small program for tests, with everything the table can say: groups in groups, every kind of
 * option and argument, and a global option taken over.
 */
export function sampleProgram(runner: Runner = { run: async () => 0 }): Command {
  const load = async (): Promise<Runner> => runner;
  return {
    name: "trunkline",
    summary: "A sample",
    examples: example("trunkline serve"),
    options: {
      mode: {
        type: "string",
        value: "MODE",
        describe: "The command",
        choices: ["serve", "draw"],
        namesCommand: true,
      },
      version: { type: "boolean", short: "V", describe: "Print the version" },
      json: { type: "boolean", describe: "As JSON" },
    },
    commands: [
      {
        name: "serve",
        summary: "Run it",
        options: {
          port: { type: "string", short: "p", value: "PORT", describe: "Where", default: "4180" },
          json: { type: "boolean", describe: "As JSON" },
        },
        examples: example("trunkline serve --port 0"),
        load,
      },
      {
        name: "draw",
        summary: "Draw shapes, it's fun: [really]",
        args: [
          { name: "SHAPE", describe: "What to draw", choices: ["circle", "square"] },
          { name: "FILE", describe: "Where to draw it", optional: true, variadic: true },
        ],
        options: {
          style: { type: "string", value: "STYLE", describe: "How", choices: ["plain", "pretty"] },
          tag: { type: "string", value: "TAG", describe: "Labels", multiple: true, default: ["x"] },
          config: { type: "string", value: "NAME", describe: "Not a file here" },
        },
        examples: example("trunkline draw circle a.svg b.svg --style plain"),
        load,
      },
      {
        name: "store",
        summary: "Keep things",
        examples: example("trunkline store item add"),
        commands: [
          {
            name: "item",
            summary: "Single things",
            examples: example("trunkline store item add"),
            commands: [
              {
                name: "add",
                summary: "Add one",
                examples: example("trunkline store item add"),
                load,
              },
              {
                name: "remove",
                summary: "Remove one",
                args: [{ name: "DIR", describe: "Where it is" }],
                examples: example("trunkline store item remove ."),
                load,
              },
            ],
          },
        ],
      },
      {
        name: "help",
        summary: "Explain",
        args: [{ name: "COMMAND", describe: "Which", optional: true, variadic: true }],
        examples: example("trunkline help"),
        load,
      },
      {
        name: "wrap",
        formerly: ["cover"],
        summary: "Run something",
        isForPrograms: true,
        args: [
          { name: "NAME", describe: "Its name" },
          { name: "COMMAND", describe: "What to run", variadic: true },
        ],
        options: { json: { type: "boolean", describe: "As JSON" } },
        examples: example("trunkline wrap a -- b -c"),
        load,
      },
    ],
  };
}

function example(run: string): Command["examples"] {
  return { [run]: "Do it." };
}
