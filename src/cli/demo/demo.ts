import { background } from "../../base/background.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import type { Invocation } from "../shell/command.ts";
import { paint } from "../shell/style.ts";
import { ACTS, prepare, SCRIPT } from "./acts.ts";
import { ScriptedModel } from "./scripted-model.ts";
import { Stage } from "./stage.ts";

interface DemoValues {
  readonly [name: string]: string | boolean | readonly string[] | undefined;
  readonly keep?: boolean;
  readonly json?: boolean;
}

interface Played {
  readonly title: string;
  readonly seconds: number;
  readonly error?: string;
}

/** `trunkline demo`: each act by itself, so that one that fails does not hide the others. */
export async function run(invocation: Invocation<DemoValues>): Promise<number> {
  const { values, out, data, color, width } = invocation;
  const show = values.json === true ? () => {} : out;
  const stop = new AbortController();
  background(
    untilSignal().then(() => stop.abort(new Error("It was stopped"))),
    "Stopping the demo",
  );
  const begun = performance.now();
  await using ending = new AsyncDisposableStack();
  const model = ending.use(await ScriptedModel.start(SCRIPT));
  const stage = await Stage.set({
    show: (line) => show(`${paint("dim", line, color)}\n`),
    width,
    signal: stop.signal,
  });
  ending.defer(() => (values.keep === true ? stage.end() : stage[Symbol.asyncDispose]()));
  show(`In ${stage.folder}, with a scripted model instead of a language model.\n`);
  const played: Played[] = [];
  const play = async (title: string, work: () => Promise<void>): Promise<boolean> => {
    show(`\n${paint("bold", title, color)}\n`);
    const from = performance.now();
    const failed = await work().then(
      () => undefined,
      (error: Error) => error.message,
    );
    const seconds = Math.round((performance.now() - from) / 100) / 10;
    const error = failed === undefined ? {} : { error: failed };
    played.push({ title, seconds, ...error });
    if (failed === undefined) show(`${paint("green", "✔", color)} ${seconds} s\n`);
    else show(`${paint("red", `✖ ${failed}`, color)}\n`);
    return failed === undefined;
  };
  if (await play("A repository, a forge and a plugin", () => prepare(stage, model.url))) {
    for (const act of ACTS) {
      if (!stop.signal.aborted) await play(act.title, () => act.play(stage));
    }
  }
  await ending.disposeAsync();
  const seconds = Math.round((performance.now() - begun) / 100) / 10;
  const failures = played.filter(({ error }) => error !== undefined);
  const isGood = failures.length === 0 && !stop.signal.aborted;
  const folder = values.keep === true ? { folder: stage.folder } : {};
  if (values.json === true) {
    data(`${JSON.stringify({ ok: isGood, seconds, acts: played, ...folder })}\n`);
  } else {
    const result = isGood
      ? `Everything worked, in ${seconds} s.`
      : `${failures.length} of ${played.length} parts failed. \`trunkline doctor\` says what is missing here.`;
    const left =
      values.keep === true ? `The folder is left: ${stage.folder}` : "The folder is removed.";
    out(`\n${result} ${left}\n`);
  }
  return isGood ? 0 : 1;
}
