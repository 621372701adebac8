// The least that could notice a comment: a process that watches a folder and says when it changes.
import { watch } from "node:fs";

watch(process.argv[2], () => process.stdout.write("changed\n"));
process.stdout.write("ready\n");
process.stdin.resume().on("end", () => process.exit(0));
