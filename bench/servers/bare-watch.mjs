// The smallest program that could notice a comment: it watches a folder and reports changes.
import { watch } from "node:fs";

watch(process.argv[2], () => process.stdout.write("changed\n"));
process.stdout.write("ready\n");
process.stdin.resume().on("end", () => process.exit(0));
