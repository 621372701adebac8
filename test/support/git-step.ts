// Runs a command of a session in a repository, in a process that a test kills.
import { SampleHome } from "../samples/sample-home.ts";
import { GitSandbox } from "./git-sandbox.ts";

const [, , home = "", repo = "", line = ""] = process.argv;
const at = await GitSandbox.in(SampleHome.at(home), repo);
const { output, notes } = await at.run(line);
process.stdout.write(JSON.stringify({ output, notes }));
await at.close();
