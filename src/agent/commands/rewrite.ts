import { walk } from "../files/walk.ts";
import { changeFile } from "../tools/change-file.ts";
import type { ToolWork } from "../tools/agent-tool.ts";
import {
  type AstGrep,
  FILE_ENDS,
  howToGet,
  languageOf,
  loadAstGrep,
  rewriteText,
} from "./ast-grep.ts";
import { fencedBlock } from "../tools/shown-content.ts";
import type { CommandContext, SlashCommand } from "./slash-command.ts";

const USAGE =
  "Say what to rewrite: `/rewrite PATTERN => REPLACEMENT [--in GLOB]`, such as " +
  "`/rewrite console.log($A) => logger.info($A) --in src/**/*.ts`. `$A` stands for one piece of " +
  "code, `$$$ARGS` for several.\n";
const MOST_FILES = 5_000;

interface Rule {
  readonly pattern: string;
  readonly replacement: string;
  readonly glob: string | undefined;
}

export const rewrite: SlashCommand = {
  name: "rewrite",
  description: "Rewrite code by its structure (JavaScript, TypeScript, CSS, HTML)",
  hint: "PATTERN => REPLACEMENT [--in GLOB]",
  run: async (input, context) => {
    const { speaker, data } = context;
    const rule = ruleOf(input);
    if (rule === undefined) {
      await speaker.text(USAGE);
      return;
    }
    const astGrep = await loadAstGrep(data);
    if (astGrep === undefined) {
      await speaker.text(
        `This needs ast-grep, which is not installed. To get it:\n\n${fencedBlock(howToGet(data))}`,
      );
      return;
    }
    await speaker.text(`${await rewriteAll(astGrep, rule, context)}\n`);
  },
};

function ruleOf(input: string): Rule | undefined {
  const [, body = "", glob] = /^([\s\S]*?)(?:\s+--in\s+(\S+))?$/.exec(input) ?? [];
  const [, pattern, replacement] = /^([\s\S]+?)\s+=>(?:\s+([\s\S]*))?$/.exec(body) ?? [];
  if (pattern === undefined) return undefined;
  return { pattern: unquoted(pattern), replacement: unquoted(replacement ?? ""), glob };
}

function unquoted(text: string): string {
  const [, inner] = /^(['"`])([\s\S]*)\1$/.exec(text.trim())?.slice(1) ?? [];
  return inner ?? text.trim();
}

async function rewriteAll(astGrep: AstGrep, rule: Rule, context: CommandContext): Promise<string> {
  const { files, turn } = context;
  const pattern = rule.glob ?? `*.{${FILE_ENDS.join(",")}}`;
  const { names } = await walk(files.workspace.cwd, {
    depth: 20,
    most: MOST_FILES,
    pattern,
    stop: turn.stop,
  });
  const lines: string[] = [];
  let count = 0;
  for (const name of names) {
    const language = languageOf(name);
    if (language === undefined) continue;
    const found = await rewritten(astGrep, language, name, rule, context);
    if (found === undefined) continue;
    const answer = await context.perform({
      title: `Rewrite ${name}`,
      kind: "edit",
      need: "write",
      call: (work) => write(work, name, found),
    });
    if (answer.isError !== true) count += found.count;
    lines.push(`- ${name}: ${answer.isError === true ? answer.text : `${found.count} places`}`);
  }
  if (lines.length === 0) return `Nothing matches \`${rule.pattern}\` in ${names.length} files.`;
  return [`Rewrote ${count} places.`, "", ...lines].join("\n");
}

async function rewritten(
  astGrep: AstGrep,
  language: string,
  name: string,
  rule: Rule,
  { files }: CommandContext,
): Promise<{ old: string; text: string; count: number } | undefined> {
  try {
    const old = await files.read(await files.workspace.find(name));
    const { text, count } = rewriteText(astGrep, language, old, rule);
    return count === 0 || text === old ? undefined : { old, text, count };
  } catch {
    // Not a text file, or not valid code.
    return undefined;
  }
}

async function write(
  work: ToolWork,
  name: string,
  { old, text }: { readonly old: string; readonly text: string },
): ReturnType<typeof changeFile> {
  const target = await work.files.workspace.findToWrite(name);
  return changeFile(work, target, { old, text });
}
