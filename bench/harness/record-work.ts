// Records a step in a work tree, or without one records all the time, as turns do, and writes notes.
import { type WorkStep, WorkHistory } from "../../src/authorship/work-history.ts";
import { writeNotes } from "../../src/authorship/write-notes.ts";

const [, , data = "", root = "", step] = process.argv;
const history = WorkHistory.of(data, root);
if (history === undefined) throw new Error(`There is no repository in ${root}`);
if (step === undefined) {
  using _turn = await history.enter("s1");
  await history.record({ by: "person" });
  console.log("begun");
  for (;;) {
    await history.record({ by: "person" });
    await writeNotes(history);
  }
}
history.notesSince = 1_600_000_000_000;
await history.record(JSON.parse(step) as WorkStep);
